import type { Group } from '../../model/accounts.ts'
import { emailKey } from '../../model/accounts.ts'
import type { AllowedSessions } from '../../model/sessions.ts'
import type { Accounts } from '../accounts.ts'
import { configuredGroupEvent } from '../statements/account-rules.ts'
import { type EpersonRow, epersonColumns, toEperson } from '../statements/people-rows.ts'
import { countFailures } from '../statements/repeated-failures.ts'
import { findEpersons } from './account-searches.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'
import { withParents } from './group-tree.ts'
import type { ReaderThreads } from './reader-threads.ts'
import { readSession } from './rows.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'

interface Parts {
  readonly db: Database
  readonly snapshot: SharedSnapshot
  readonly write: Write
  /** The database, for reader threads. */
  readonly file: string
  readonly readerThreads: ReaderThreads
}

/** How many stamps are kept at most. */
const maxStamps = 10_000

/** Accounts in the embedded store: reads are synchronous on the caller's thread, writes go through the single writer. */
export function sqliteAccounts({
  db,
  snapshot,
  write,
  ...searches
}: Parts): Accounts & { close(): Promise<void> } {
  const failures = countFailures(event => write('recordEvent', event))
  const stamp = db.prepare('SELECT stamp FROM eperson WHERE uuid = ? AND enabled = 1')
  const stamps = new Map<string, number | undefined>()
  /** Of the store, when they were read. */
  let stampsState = -1
  const allowedSessions = db.prepare('SELECT allow_sessions FROM alert WHERE active = 1')
  let allowed: AllowedSessions = 'all'
  let allowedState = -1
  function refreshAllowed(state: number): void {
    if (state === allowedState) return
    allowed = (allowedSessions.get()?.[0] as AllowedSessions | undefined) ?? 'all'
    allowedState = state
  }

  return {
    stampOf: uuid => {
      if (snapshot.state() === stampsState && stamps.has(uuid)) return stamps.get(uuid)
      const state = snapshot.enter()
      if (state !== stampsState || stamps.size >= maxStamps) stamps.clear()
      stampsState = state
      refreshAllowed(state)
      const found = stamp.get(uuid)?.[0] as number | undefined
      stamps.set(uuid, found)
      return found
    },
    session: uuid => {
      refreshAllowed(snapshot.enter())
      return readSession(db, uuid)
    },
    allowedSessions: () => allowed,
    eperson: uuid => {
      const row = db.get<EpersonRow>(`SELECT ${epersonColumns} FROM eperson WHERE uuid = ?`, uuid)
      return row && toEperson(row)
    },
    credentials: email => {
      const row = db.get<{
        uuid: string
        enabled: number
        password_hash: string | null
        password_stamp: number
      }>(
        'SELECT uuid, enabled, password_hash, password_stamp FROM eperson WHERE email_key = ?',
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
    groupsByUuid: uuids =>
      withParents(
        db,
        uuids.flatMap(
          uuid =>
            db.get<Group & Record<string, unknown>>(
              'SELECT uuid, name FROM epersongroup WHERE uuid = ?',
              uuid,
            ) ?? [],
        ),
      ),
    groupsByName: names => {
      const one = 'SELECT uuid, name FROM epersongroup WHERE name = ?'
      return names.flatMap(name => db.get<Group & Record<string, unknown>>(one, name) ?? [])
    },
    ensureGroups: names => write('ensureGroups', names, configuredGroupEvent),

    recordLogin: (login, event) => write('recordLogin', login, event),
    logout: (uuid, event) => write('logout', uuid, event),
    logoutAll: (event, now) => write('logoutAll', event, now),
    recordEvent: failures.record,
    close: failures.close,
    addEperson: (eperson, event) => write('addEperson', eperson, event),
    setEnabled: (email, enabled, event) => write('setEnabled', email, enabled, event),
    setPassword: (email, hash, event, checked) => write('setPassword', email, hash, event, checked),
    deleteEperson: (email, event) => write('deleteEperson', email, event),
    addGroup: (name, event) => write('addGroup', name, event),
    deleteGroup: (name, event) => write('deleteGroup', name, event),
    join: (group, email, event) => write('join', group, email, event),
    leave: (group, email, event) => write('leave', group, email, event),

    findEpersons: (search, window, client) => findEpersons(searches, search, window, client),
    listEpersons: () =>
      db
        .all<EpersonRow & { groups: string }>(
          `SELECT ${epersonColumns}, (SELECT groups FROM epersons WHERE epersons.uuid = eperson.uuid) groups
           FROM eperson ORDER BY email_key`,
        )
        .map(row => ({ ...toEperson(row), groups: JSON.parse(row.groups) as string[] })),
    listGroups: () =>
      db
        .all<Group & { members: number } & Record<string, unknown>>(
          'SELECT uuid, name, members FROM groups ORDER BY name',
        )
        .map(row => ({ ...row })),
    groupMembers: name => {
      const group = 'SELECT uuid FROM epersongroup WHERE name = ?'
      const known = db.get<{ uuid: string }>(group, name)
      if (!known) return undefined
      const members = `SELECT ${epersonColumns} FROM membership JOIN eperson ON uuid = eperson
        WHERE epersongroup = ? ORDER BY email_key`
      return db.all<EpersonRow>(members, known.uuid).map(toEperson)
    },
  }
}
