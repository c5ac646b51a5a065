import { randomBytes } from 'node:crypto'
import { areaOf, networkPrefix } from '../../lib/addresses.ts'
import type { Group } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import {
  maxProviderSessions,
  type ProviderSession,
  type SessionColumns,
  toProviderSession,
} from '../../model/identities.ts'
import { type Begun, maxSessions, maxShift } from '../../model/sessions.ts'
import { familiarFor, maxFamiliar } from '../../model/throttle.ts'
import { session } from '../schema/sessions.ts'
import { columnsOf } from '../schema/table.ts'
import { mine } from '../statements/group-tree.ts'
import type { ProviderLogin } from '../statements/identities.ts'
import { type SessionRow, sessionColumns, toSession } from '../statements/people-rows.ts'
import type { Login, NewSession, Refreshed } from '../statements/sessions.ts'
import { storeTime } from '../statements/statements.ts'
import type { Pool, Value } from './driver.ts'
import {
  insertEvent,
  insertLoginEvent,
  type Named,
  named,
  namedValues,
  replaceNul,
  runRecording,
} from './events.ts'

/** The statements on the path of requests: each is one round trip, with the event that it records. */

/**
 * The look-up of every request, with the uuids of epersons as $1: the stamps of their sessions, counters that
 * show if anything else has changed, the time, and the sessions that the active alert allows.
 */
export const lookUpSessions = `SELECT s.store, s.entities, s.secrets, s.groups, s.audiences, s.mark, e.uuid, e.stamp,
  (SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM entity_writes) AS records,
  (SELECT CAST(tableoid AS bigint) FROM store_schema) AS tables, ${storeTime.postgres} AS now,
  (SELECT a.allow_sessions FROM alert a WHERE a.active = 1 LIMIT 1) AS allowed FROM state s
  LEFT JOIN eperson e ON e.uuid = ANY($1) AND e.enabled = 1`

/** The columns of a session. One statement reads them all, so they are from one snapshot. */
export const wholeSession = `${sessionColumns},
  to_json(ARRAY(${mine('eperson.uuid')} SELECT json_build_object('uuid', g.uuid, 'name', g.name) FROM mine
    JOIN epersongroup g ON g.uuid = mine.id ORDER BY g.name)) AS groups`

export type WholeSession = SessionRow & { readonly groups: readonly Group[] }

/** The values of a session that begins, apart from those that the login says. */
const computed = {
  eperson: 'uuid',
  begun: 'last_begun',
  method: "coalesce(:method, '')",
  network: ':area::text',
  used: ':begun::bigint',
  used_network: ':area::text',
  session_key: 'session_key',
}

/**
 * A login: it applies `set` to an enabled eperson if `where` holds, and begins a session. The row is locked,
 * so no two sessions of an eperson begin at the same time. A `last_begun` far ahead is from a clock that was
 * wrong, and must not lock the eperson out (docs/decisions/0024).
 */
const loginOf = (set: string, where: string, more = '') =>
  named(`WITH changed AS (
     UPDATE eperson SET last_login = :time${set},
       last_begun = CASE WHEN last_begun > :begun::bigint + ${maxShift} THEN :begun::bigint
         ELSE greatest(last_begun + 1, :begun::bigint) END
     WHERE uuid = :uuid AND ${where} AND enabled = 1 RETURNING ${wholeSession}, last_begun
   ), noted AS (${insertLoginEvent}
   ), familiar AS (
     INSERT INTO familiar_network (eperson, network, at)
     SELECT uuid, :network::text, ${storeTime.postgres} FROM changed WHERE :network::text IS NOT NULL
     ON CONFLICT (eperson, network) DO UPDATE SET at = excluded.at
   ), no_longer_familiar AS (
     DELETE FROM familiar_network WHERE eperson IN (SELECT uuid FROM changed) AND network <> :network::text AND
       (at < ${storeTime.postgres} - ${familiarFor} OR network NOT IN (SELECT network FROM familiar_network f
          WHERE f.eperson = familiar_network.eperson AND network <> :network::text
          ORDER BY at DESC LIMIT ${maxFamiliar - 1}))
   ), begun_here AS (
     INSERT INTO session (${columnsOf(session)}) SELECT ${namedValues(session, computed)}
     FROM changed
   ), no_longer_listed AS (
     DELETE FROM session WHERE eperson IN (SELECT uuid FROM changed) AND begun IN
       (SELECT begun FROM session s WHERE s.eperson = session.eperson
        ORDER BY used DESC, begun DESC OFFSET ${maxSessions - 1})
   )${more}
   SELECT * FROM noted LEFT JOIN changed ON true`)

const withPassword = loginOf(
  ', password_hash = coalesce(:hash, password_hash)',
  'password_stamp = :password_stamp AND session_key = coalesce(:session_key::bytea, session_key)',
)

/** @returns undefined if the eperson has changed since their password was looked up */
export const recordLogin = (pool: Pool, login: Login, event: AuditEvent): Promise<Begun | undefined> =>
  beginSession(pool, withPassword, login.begins, event, {
    uuid: login.uuid,
    hash: login.renewedHash,
    password_stamp: login.passwordStamp,
    session_key: login.sessionKey ?? null,
  })

const atProvider = loginOf(
  '',
  'session_key = :session_key',
  `, begun_there AS (
     INSERT INTO provider_session (eperson, provider, name, sid, detail, begun, session)
     SELECT uuid, :provider, :name, :sid, :detail, :time, last_begun FROM changed
   ), forgotten AS (
     DELETE FROM provider_session WHERE eperson = :uuid AND id <=
       (SELECT id FROM provider_session WHERE eperson = :uuid ORDER BY id DESC LIMIT 1 OFFSET ${maxProviderSessions - 1})
   )`,
)

export const beginAtProvider = (
  pool: Pool,
  { uuid, sessionKey, session, begins }: ProviderLogin,
  event: AuditEvent,
): Promise<Begun | undefined> =>
  beginSession(pool, atProvider, begins, event, {
    uuid,
    session_key: sessionKey,
    provider: session.provider,
    name: replaceNul(session.name),
    sid: replaceNul(session.sid),
    detail: JSON.stringify(session.detail),
  })

/** Values of a new session that a login doesn't give. */
const unsaid = Object.fromEntries(columnsOf(session, ...Object.keys(computed)).map(name => [name, null]))

/** @returns undefined if the login failed after all */
async function beginSession(
  pool: Pool,
  statement: Named,
  begins: NewSession,
  event: AuditEvent,
  values: Readonly<Record<string, Value>>,
): Promise<Begun | undefined> {
  const { clientIp } = event
  const network = clientIp === null ? null : networkPrefix(clientIp)
  const more = { ...unsaid, ...begins, area: areaOf(clientIp), network, ...values }
  const [row] = await pool.statement(db =>
    runRecording<(WholeSession & { last_begun: number }) | { uuid: null }>(db, statement, event, more),
  )
  return !row || row.uuid === null
    ? undefined
    : { session: toSession(row, row.groups), begun: row.last_begun }
}

const endSessions =
  named(`WITH ended AS (UPDATE eperson SET session_key = :key, stamp = nextval('stamp') WHERE uuid = :uuid),
     noted AS (${insertEvent}),
     there AS (DELETE FROM provider_session WHERE eperson = :uuid RETURNING id, provider, name, sid, detail),
     here AS (DELETE FROM session WHERE eperson = :uuid)
   SELECT event_hash, provider, name, sid, detail FROM noted LEFT JOIN there ON true ORDER BY id DESC LIMIT 1`)

export async function logout(
  pool: Pool,
  uuid: string,
  event: AuditEvent,
): Promise<ProviderSession | undefined> {
  const [last] = await pool.statement(db =>
    runRecording<SessionColumns | { provider: null }>(db, endSessions, event, { key: randomBytes(32), uuid }),
  )
  return last && last.provider !== null ? toProviderSession(last) : undefined
}

/**
 * The insertion adds a session that isn't listed, for example because it is older than the list. It isn't
 * listed again after its end.
 */
const refresh = named(`WITH refreshed AS (
     UPDATE session SET used = :used::bigint, used_network = :area::text, expires = :expires::bigint
     WHERE eperson = :eperson AND begun = :begun::bigint RETURNING 1
   ), added AS (
     INSERT INTO session (eperson, begun, method, used, used_network, expires, session_key)
     SELECT uuid, :begun::bigint, :method, :used::bigint, :area::text, :expires::bigint, session_key
     FROM eperson WHERE uuid = :eperson AND stamp = :stamp::bigint AND NOT EXISTS (SELECT FROM refreshed)
       AND (SELECT count(*) FROM session s WHERE s.eperson = :eperson) < ${maxSessions}
     ON CONFLICT DO NOTHING
   )
   ${insertEvent}`)

export async function refreshSession(
  pool: Pool,
  { begun, used, expires, stamp }: Refreshed,
  event: AuditEvent,
  clientIp: string | null,
): Promise<void> {
  const values = { begun, used, expires, stamp, area: areaOf(clientIp) }
  await pool.statement(db => runRecording(db, refresh, event, values))
}
