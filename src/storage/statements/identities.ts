import { type Eperson, emailKey, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import {
  decide,
  type Identity,
  type LinkedIdentity,
  type Matching,
  maxProviderSessions,
  type ProviderSession,
  type ProviderSessionFilter,
  type Recognized,
  recognitionEvents,
} from '../../model/identities.ts'
import type { Changed } from '../../model/people.ts'
import type { Begun } from '../../model/sessions.ts'
import * as tables from '../schema/sessions.ts'
import type { Part, Window } from '../storage.ts'
import { endAccessTokens } from './access-tokens.ts'
import {
  type EpersonRow,
  endTokens,
  epersonColumns,
  insertEperson,
  lockEpersonAt,
  toEperson,
} from './people-rows.ts'
import type { NewSession } from './sessions.ts'
import type { Change, Offered, Read } from './statements.ts'
import * as db from './statements.ts'

/**
 * The data of single sign-on (docs/decisions/0010): the epersons that identities belong to, the providers at
 * which sessions began, and single-use tickets. A login there begins its session in `hot.ts` of each engine.
 */
export const identities = {
  reads: {
    /** Returns what `recognize` would, without changing anything. */
    whoIs,
    /** True if there is such a session. */
    *isAtProvider(which: ProviderSessionFilter): Read<boolean> {
      return (yield* db.row(`SELECT 1 AS one ${sessionsAt} LIMIT 1`, ...filterOf(which))) !== undefined
    },
    /** @param eperson a uuid; undefined: the identities of all */
    *listIdentities(eperson?: string): Read<readonly LinkedIdentity[]> {
      return yield* db.rows<LinkedIdentity>(
        `${linked} ${eperson === undefined ? '' : 'WHERE eperson = $1'} ORDER BY email_key, provider`,
        ...(eperson === undefined ? [] : [eperson]),
      )
    },
    /** A page of the identities of all epersons, by e-mail address and provider. */
    *pageOfIdentities({ offset, limit }: Window): Read<Part<LinkedIdentity>> {
      const found = yield* db.rows<LinkedIdentity>(
        `${linked} ORDER BY email_key, provider LIMIT $1 OFFSET $2`,
        limit,
        offset,
      )
      return { rows: found, total: yield* db.count('identity') }
    },
    /** @returns its content; undefined if there is no such ticket or it has expired */
    *readTicket(id: string, now: number): Read<string | undefined> {
      const sql = 'SELECT content FROM ticket WHERE id = $1 AND expires > $2'
      return yield* db.value<string>(sql, id, now)
    },
  },
  changes: {
    /** Finds, links or creates the eperson of an identity, and updates their names from it (X3). */
    recognize,
    /** Notes a session at a provider whose login waits for its factor, so that its end there ends the login (L12). */
    *noteAtProvider(eperson: string, { provider, name, sid, detail }: ProviderSession): Change<void> {
      yield* db.run(
        `INSERT INTO provider_session (eperson, provider, name, sid, detail, begun)
         SELECT uuid, $2, $3, $4, $5, $6 FROM eperson WHERE uuid = $1`,
        ...[eperson, provider, name, sid, JSON.stringify(detail), db.now()],
      )
      yield* db.run(
        `DELETE FROM provider_session WHERE eperson = $1 AND id <=
           (SELECT id FROM provider_session WHERE eperson = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`,
        ...[eperson, maxProviderSessions],
      )
    },
    /** Ends every token of the epersons who have such a session (T4). @returns the number of these epersons */
    *endAtProvider(which: ProviderSessionFilter, event: AuditEvent): Change<number> {
      const ended = yield* db.column<string>(
        `DELETE FROM provider_session WHERE eperson IN (SELECT eperson ${sessionsAt}) RETURNING eperson`,
        ...filterOf(which),
      )
      // Epersons are locked in one order everywhere, so that two changes don't deadlock.
      const epersons = [...new Set(ended)].toSorted()
      for (const eperson of epersons) {
        yield* endTokens(eperson)
        yield* db.record({ ...event, eperson })
      }
      return epersons.length
    },
    /** Links the eperson to a subject. Each eperson has at most one at a provider, and each subject one eperson. */
    *link(email: string, { provider, subject }: SubjectOf, event: AuditEvent): Change<Linked> {
      yield* db.rights(event, 'own')
      const eperson = yield* lockEpersonAt(email)
      if (!eperson) return 'no-eperson'
      const { uuid } = eperson
      const there = yield* db.rows<{ eperson: string; subject: string }>(
        'SELECT eperson, subject FROM identity WHERE provider = $1 AND (subject = $2 OR eperson = $3)',
        provider,
        subject,
        uuid,
      )
      const owner = there.find(one => one.subject === subject)
      if (owner) return owner.eperson === uuid ? 'unchanged' : 'taken'
      if (there.length > 0) return 'other-subject'
      yield* addLink({ provider, subject }, uuid)
      yield* db.record({ ...event, eperson: uuid, changes: { before: null, after: { subject } } })
      return 'changed'
    },
    /** Unlinks the eperson from their subject, and ends their tokens, which another person may hold. */
    *unlink(email: string, provider: string, event: AuditEvent): Change<Changed> {
      yield* db.rights(event, 'own')
      const eperson = yield* lockEpersonAt(email)
      if (!eperson) return 'no-eperson'
      const { uuid } = eperson
      const subject = yield* db.value<string>(
        'DELETE FROM identity WHERE eperson = $1 AND provider = $2 RETURNING subject',
        uuid,
        provider,
      )
      if (subject === undefined) return 'unchanged'
      yield* endTokens(uuid)
      yield* endAccessTokens(uuid)
      yield* db.run('DELETE FROM provider_session WHERE eperson = $1', uuid)
      yield* db.record({ ...event, eperson: uuid, changes: { before: { subject }, after: null } })
      return 'changed'
    },
    /** Removes the sessions at providers that began by then, as their sessions here have ended (T11). */
    *forgetSessions(begunBy: Date): Change<void> {
      yield* db.run('DELETE FROM provider_session WHERE begun <= $1', begunBy.toISOString())
    },
    /**
     * Stores a ticket, and removes expired ones. All times are milliseconds since 1970.
     * @param certain a time that has certainly passed: tickets that expired by then are removed
     * @returns false if a ticket with this id exists already
     */
    *keepTicket(id: string, content: string, expires: number, certain: number): Change<boolean> {
      yield* db.run('DELETE FROM ticket WHERE expires <= $1', certain)
      return (yield* db.insert(tables.ticket, { id, content, expires }, '(id) DO NOTHING')) === 1
    },
    /** Reads and removes a ticket that has not expired. Of all callers on all nodes, only one receives it. */
    *takeTicket(id: string, now: number): Change<string | undefined> {
      const sql = 'DELETE FROM ticket WHERE id = $1 AND expires > $2 RETURNING content'
      return yield* db.value<string>(sql, id, now)
    },
    /**
     * Replaces the content of a ticket, and the time at which it expires, even if it has expired.
     * @returns false if there is no such ticket with the content `before`
     */
    *replaceTicket(id: string, before: string, content: string, expires: number): Change<boolean> {
      const sql = 'UPDATE ticket SET content = $3, expires = $4 WHERE id = $1 AND content = $2'
      return (yield* db.run(sql, id, before, content, expires)) === 1
    },
  },
}

export type Identities = Offered<typeof identities> & {
  /**
   * Begins a session that a provider vouched for.
   * @returns undefined if the eperson has been disabled, deleted or logged out since then
   */
  begin(login: ProviderLogin, event: AuditEvent): Promise<Begun | undefined>
}

export type SubjectOf = Pick<Identity, 'provider' | 'subject'>
/** `taken`: by another eperson; `other-subject`: the eperson has another one at this provider. */
type Linked = Changed | 'taken' | 'other-subject'

export interface ProviderLogin {
  readonly uuid: string
  /** The session key at the time when the provider vouched. A logout since then has replaced it. */
  readonly sessionKey: Uint8Array
  readonly session: ProviderSession
  readonly begins: NewSession
}

const linked = 'SELECT eperson, email, provider, subject, linked FROM identity JOIN eperson ON uuid = eperson'

/** The sessions that a filter selects, with the values of `filterOf`. */
const sessionsAt = `FROM provider_session
  WHERE provider = $1 AND (CAST($2 AS TEXT) IS NOT NULL OR CAST($3 AS TEXT) IS NOT NULL)
    AND ($2 IS NULL OR name = $2) AND ($3 IS NULL OR sid = $3 OR (sid IS NULL AND name = $2))`

const filterOf = ({ provider, name, sid }: ProviderSessionFilter) => [provider, name, sid] as const

/** One statement, and so one snapshot: between two, another request could link the eperson. */
function* whoIs(identity: Identity, matching: Matching): Read<Recognized> {
  const { provider, subject, email } = identity
  const found = yield* db.rows<EpersonRow & { isSubject: number; linked: number; own: number }>(
    `SELECT ${epersonColumns},
       CAST(EXISTS (SELECT 1 FROM identity WHERE provider = $1 AND subject = $2 AND eperson = uuid) AS INTEGER) AS "isSubject",
       CAST(EXISTS (SELECT 1 FROM identity WHERE provider = $1 AND eperson = uuid) AS INTEGER) AS linked,
       CAST(password_hash IS NOT NULL AS INTEGER) AS own
     FROM eperson
     WHERE email_key = $3 OR uuid IN (SELECT eperson FROM identity WHERE provider = $1 AND subject = $2)`,
    provider,
    subject,
    email === null ? null : emailKey(email),
  )
  const bySubject = found.find(one => one.isSubject === 1)
  const byEmail = found.find(one => one.isSubject === 0)
  return decide(
    {
      bySubject: bySubject && toEperson(bySubject),
      byEmail: byEmail && toEperson(byEmail),
      emailHasOtherSubject: byEmail?.linked === 1,
      emailHasPassword: byEmail?.own === 1,
    },
    identity,
    matching,
  )
}

function* recognize(identity: Identity, matching: Matching, event: AuditEvent): Change<Recognized> {
  const found = yield* whoIs(identity, matching)
  if (found.kind === 'refused') return found
  const eperson = found.eperson ?? (yield* create(identity, event))
  // Another request has created the eperson since, and this same transaction finds them.
  if (!eperson) return yield* recognize(identity, matching, event)
  if (found.kind !== 'known') yield* addLink(identity, eperson.uuid)
  if (found.kind === 'linked')
    yield* db.record({ ...event, event: recognitionEvents.linked, eperson: eperson.uuid })
  yield* rename(eperson.uuid, identity)
  return { kind: found.kind, eperson }
}

function* create({ email, firstName, lastName }: Identity, event: AuditEvent): Change<Eperson | undefined> {
  if (email === null) throw new Error('an eperson needs an e-mail address')
  const person = { email, firstName, lastName, passwordHash: null, enabled: true, profile: {} }
  const added = yield* insertEperson(person)
  if (added) yield* db.record({ ...event, event: recognitionEvents.created, eperson: added.uuid })
  return added
}

/** Fails if another request has added the same link meanwhile. PostgreSQL then runs the whole change again. */
const addLink = ({ provider, subject }: Pick<Identity, 'provider' | 'subject'>, eperson: string) =>
  db.insert(tables.identity, { provider, subject, eperson, linked: db.now() })

/** Updates an eperson's names to those from the provider. */
function* rename(uuid: string, { firstName, lastName }: Identity): Change<void> {
  const names = 'coalesce($1, first_name), coalesce($2, last_name)'
  const renamed = yield* db.row<Pick<EpersonRow, 'first_name' | 'last_name'>>(
    `UPDATE eperson SET (first_name, last_name) = (${names}) WHERE uuid = $3
     AND ((first_name, last_name) IS DISTINCT FROM (${names})) RETURNING first_name, last_name`,
    firstName,
    lastName,
    uuid,
  )
  if (!renamed) return
  const sql = 'UPDATE eperson SET name_key = $1, stamp = $2 WHERE uuid = $3'
  yield* db.run(sql, nameKey(renamed.first_name, renamed.last_name), yield* db.nextStamp(), uuid)
}
