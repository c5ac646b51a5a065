import type { Group, Session } from '../../model/accounts.ts'
import { emailKey } from '../../model/accounts.ts'
import type { AllowedSessions } from '../../model/sessions.ts'
import type { Accounts } from '../accounts.ts'
import { configuredGroupEvent } from '../statements/account-rules.ts'
import { type EpersonRow, epersonColumns, toEperson } from '../statements/people-rows.ts'
import { countFailures } from '../statements/repeated-failures.ts'
import { addEperson, deleteEperson, logoutAll, setEnabled, setPassword } from './account-changes.ts'
import { findEpersons } from './account-searches.ts'
import type { Pool } from './driver.ts'
import { recordEvent } from './events.ts'
import { addGroup, deleteGroup, ensureGroups, joinOrLeave } from './group-changes.ts'
import { withParents } from './group-tree.ts'
import { logout, recordLogin } from './hot.ts'
import { isStorable, type SessionRow, sessionColumns, toSession } from './rows.ts'
import type { SessionLookup } from './session-lookup.ts'

/** How many sessions are cached. Each use checks the stamp, so a stale session is never used. */
const maxCachedSessions = 10_000

interface Parts {
  readonly pool: Pool
  readonly lookup: SessionLookup
  /** Opens a pool without time limits, for a change of all epersons. */
  readonly patientPool: () => Pool
}

/** Accounts in PostgreSQL. */
export function postgresAccounts({
  pool,
  lookup,
  patientPool,
}: Parts): Accounts & { close(): Promise<void> } {
  const failures = countFailures(event => recordEvent(pool, event))
  const sessions = new Map<string, Session>()

  let allowed: AllowedSessions = 'all'
  async function stampOf(uuid: string): Promise<number | undefined> {
    if (!isStorable(uuid)) return undefined
    const result = await lookup.ask(uuid)
    allowed = result.allowed ?? 'all'
    return result.stamps.get(uuid)
  }

  async function session(uuid: string): Promise<Session | undefined> {
    const stamp = await stampOf(uuid)
    if (stamp === undefined) return undefined
    const cached = sessions.get(uuid)
    if (cached?.stamp === stamp) return cached
    const [row] = await pool.rows<SessionRow>(
      `SELECT ${sessionColumns} FROM eperson WHERE uuid = $1 AND enabled = 1`,
      uuid,
    )
    if (!row) return undefined
    if (sessions.size >= maxCachedSessions) sessions.clear()
    const current = toSession(row)
    sessions.set(uuid, current)
    return current
  }

  return {
    stampOf,
    session,
    allowedSessions: () => allowed,
    eperson: async uuid => {
      if (!isStorable(uuid)) return undefined
      const sql = `SELECT ${epersonColumns} FROM eperson WHERE uuid = $1`
      const [row] = await pool.rows<EpersonRow>(sql, uuid)
      return row && toEperson(row)
    },
    credentials: async email => {
      if (!isStorable(email)) return undefined
      const [row] = await pool.rows<{
        uuid: string
        enabled: number
        password_hash: string | null
        password_stamp: number
      }>(
        'SELECT uuid, enabled, password_hash, password_stamp FROM eperson WHERE email_key = $1',
        emailKey(email),
      )
      return (
        row && {
          uuid: row.uuid,
          enabled: row.enabled === 1,
          passwordHash: row.password_hash,
          passwordStamp: row.password_stamp,
        }
      )
    },
    groupsByUuid: async uuids => {
      const groups = await pool.rows<Group & Record<string, unknown>>(
        'SELECT uuid, name FROM epersongroup WHERE uuid = ANY($1)',
        uuids.filter(isStorable),
      )
      return withParents(
        pool,
        uuids.flatMap(uuid => groups.find(group => group.uuid === uuid) ?? []),
      )
    },
    groupsByName: names =>
      pool.rows<Group & Record<string, unknown>>(
        'SELECT uuid, name FROM epersongroup WHERE name = ANY($1)',
        names.filter(isStorable),
      ),
    ensureGroups: names => ensureGroups(pool, names, configuredGroupEvent),

    recordLogin: (login, event) => recordLogin(pool, login, event),
    logout: (uuid, event) => logout(pool, uuid, event),
    logoutAll: async (event, now) => {
      const patient = patientPool()
      try {
        return await logoutAll(patient, event, now)
      } finally {
        await patient.close()
      }
    },
    recordEvent: failures.record,
    close: failures.close,
    addEperson: (eperson, event) => addEperson(pool, eperson, event),
    setEnabled: (email, enabled, event) => setEnabled(pool, email, enabled, event),
    setPassword: (email, hash, event, checked) => setPassword(pool, email, hash, event, checked),
    deleteEperson: (email, event) => deleteEperson(pool, email, event),
    addGroup: (name, event) => addGroup(pool, name, event),
    deleteGroup: (name, event) => deleteGroup(pool, name, event),
    join: (group, email, event) => joinOrLeave(pool, 'join', group, email, event),
    leave: (group, email, event) => joinOrLeave(pool, 'leave', group, email, event),

    findEpersons: (search, window) => findEpersons(pool, search, window),
    listEpersons: async () =>
      (await pool.rows<SessionRow>(`SELECT ${sessionColumns} FROM eperson ORDER BY email_key`)).map(row => ({
        ...toEperson(row),
        groups: row.groups.map(group => group.name),
      })),
    listGroups: () =>
      pool.rows<Group & { members: number } & Record<string, unknown>>(
        'SELECT uuid, name, members FROM groups ORDER BY name',
      ),
    groupMembers: async name => {
      if (!isStorable(name)) return undefined
      const group = 'SELECT uuid FROM epersongroup WHERE name = $1'
      const [known] = await pool.rows<{ uuid: string }>(group, name)
      if (!known) return undefined
      const members = `SELECT ${epersonColumns} FROM membership JOIN eperson ON uuid = eperson
        WHERE epersongroup = $1 ORDER BY email_key`
      return (await pool.rows<EpersonRow>(members, known.uuid)).map(toEperson)
    },
  }
}
