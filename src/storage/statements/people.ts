import {
  administratorGroup,
  agreementField,
  type Eperson,
  emailKey,
  type GroupDetails,
} from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Credentials, EpersonChange, EpersonSearch, GroupSearch, People } from '../people.ts'
import * as tables from '../schema/people.ts'
import type { Part, Window } from '../storage.ts'
import { endAccessTokens } from './access-tokens.ts'
import { keepList } from './entity-rows.ts'
import { closeFor } from './entity-rules.ts'
import { hasAdministrator, keepingAdministrator } from './group-tree.ts'
import { groups } from './groups.ts'
import {
  applyChange,
  changeMembership,
  type EpersonRow,
  endTokens,
  epersonColumns,
  epersonEvent,
  epersonValues,
  epersonWith,
  groupNamed,
  hasFactor,
  insertEperson,
  isSame,
  lockEperson,
  lockEpersonAt,
  standings,
  toEperson,
  withClosed,
} from './people-rows.ts'
import { dropReader } from './reader-changes.ts'
import { keepOnly } from './sessions.ts'
import type { Change, Read, SomeOf, StatementsOf, Value } from './statements.ts'
import * as db from './statements.ts'

/** Epersons: commands name them by e-mail address, requests over HTTP by uuid. */
const epersons = {
  reads: {
    eperson: epersonWith,
    *credentials(email) {
      const found = yield* db.row<Omit<Credentials, Flag> & Readonly<Record<Flag, number>>>(
        `SELECT uuid, enabled, password_hash AS "passwordHash", password_stamp AS "passwordStamp",
           session_key AS "sessionKey", ${hasFactor} AS "hasFactor" FROM eperson WHERE email_key = $1`,
        emailKey(email),
      )
      return found && { ...found, enabled: found.enabled === 1, hasFactor: found.hasFactor === 1 }
    },
    *listEpersons() {
      const found = yield* db.rows<EpersonRow & { readonly groups: string }>(
        `SELECT ${epersonColumns},
           CAST((SELECT e.groups FROM epersons e WHERE e.uuid = eperson.uuid) AS TEXT) AS groups
         FROM eperson ORDER BY email_key`,
      )
      return found.map(one => ({ ...toEperson(one), groups: JSON.parse(one.groups) as string[] }))
    },
    standings,
    *canRemoveEperson(uuid) {
      return (yield* epersonWith(uuid)) !== undefined && (yield* hasAdministrator(uuid))
    },
  },
  changes: {
    *addEperson(eperson, event) {
      yield* db.rights(event, 'own')
      const added = yield* insertEperson({ ...eperson, enabled: true, profile: {} })
      if (!added) return 'exists'
      yield* db.record({ ...event, eperson: added.uuid })
      const administrators = eperson.administrator ? yield* groupNamed(administratorGroup) : undefined
      if (administrators)
        yield* changeMembership('join', administrators, added.uuid, { ...event, event: 'group.join' })
      return added
    },
    *createEperson(person, event) {
      yield* db.rights(event, 'shared')
      const added = yield* insertEperson(person)
      if (!added) return 'exists'
      yield* db.record(epersonEvent(event, null, added))
      return added
    },
    *setEnabled(email, enabled, event) {
      yield* db.rights(event, 'own')
      const eperson = yield* lockEpersonAt(email)
      if (!eperson) return 'no-eperson'
      if (eperson.enabled === enabled) return 'unchanged'
      yield* db.update(tables.eperson, { enabled: Number(enabled) }, { uuid: eperson.uuid })
      yield* endTokens(eperson.uuid)
      if (!enabled) yield* endAccessTokens(eperson.uuid)
      yield* db.record({ ...event, eperson: eperson.uuid })
      return 'changed'
    },
    changeEperson: (uuid, change, event) =>
      keepingAdministrator(change.enabled === false, event, changeOne(uuid, change, event)),
    *setPassword(whose, hash, event, checked) {
      yield* db.rights(event, 'own')
      const eperson = yield* 'uuid' in whose ? lockEperson(whose.uuid) : lockEpersonAt(whose.email)
      if (!eperson) return 'no-eperson'
      const { uuid } = eperson
      if (checked && checked.uuid !== uuid) return 'unchanged'
      const changed = yield* db.update(
        tables.eperson,
        { password_hash: hash, password_stamp: yield* db.nextStamp() },
        { uuid, ...(checked && { password_stamp: checked.passwordStamp }) },
      )
      if (changed === 0) return 'unchanged'
      yield* keepOnly(uuid, checked?.own)
      yield* endAccessTokens(uuid)
      yield* db.record({ ...event, eperson: uuid })
      return 'changed'
    },
    *resetAgreements(event) {
      yield* db.rights(event, 'own')
      const accepted = yield* db.run(
        {
          sqlite: `UPDATE eperson SET profile = nullif(json_patch(profile, json_object($1, NULL)), '{}'), stamp = $2
            WHERE profile ->> $1 IS NOT NULL`,
          postgres: `UPDATE eperson SET profile = nullif(CAST(CAST(profile AS JSONB) - $1 AS TEXT), '{}'), stamp = $2
            WHERE CAST(profile AS JSONB) ->> $1 IS NOT NULL`,
        },
        agreementField,
        yield* db.nextStamp(),
      )
      const changes = { before: { epersons: accepted }, after: { epersons: 0 } }
      yield* db.record({ ...event, object: agreementField, changes })
      return accepted
    },
    *deleteEperson(email, event) {
      // The eperson's own writes lock the row of the store's state before their sessions (`rights`).
      yield* keepList()
      yield* db.rights(event, 'own')
      const eperson = yield* lockEpersonAt(email)
      if (!eperson) return 'no-eperson'
      const closed = yield* drop(eperson.uuid)
      yield* db.record(withClosed({ ...event, eperson: eperson.uuid }, closed))
      return 'changed'
    },
    removeEperson: (uuid, event) => keepingAdministrator(true, event, removeOne(uuid, event)),
  },
} satisfies SomeOf<People>

/** A column that is 0 or 1. */
type Flag = 'enabled' | 'hasFactor'

function* changeOne(uuid: string, change: EpersonChange, event: AuditEvent) {
  const before = yield* lockEperson(uuid)
  if (!before) return 'no-eperson' as const
  const after = applyChange(before, change)
  if (isSame(before, after)) return before
  const taken = 'SELECT 1 AS one FROM eperson WHERE email_key = $1 AND uuid <> $2'
  if (yield* db.row(taken, emailKey(after.email), uuid)) return 'exists' as const
  // A concurrent change that takes the address causes a conflict, and the retry finds it.
  yield* db.update(tables.eperson, { ...epersonValues(after), stamp: yield* db.nextStamp() }, { uuid })
  if (before.enabled && !after.enabled) {
    yield* endTokens(uuid)
    yield* endAccessTokens(uuid)
  }
  yield* db.record(epersonEvent(event, before, after))
  return after
}

function* removeOne(uuid: string, event: AuditEvent) {
  const before = yield* lockEperson(uuid)
  if (!before) return 'no-eperson' as const
  const closed = yield* drop(uuid)
  yield* db.record(withClosed(epersonEvent(event, before, null), closed))
  return 'changed' as const
}

/** Deletes an eperson, and the rules that name them. @returns the names of the entities that had such a rule */
function* drop(uuid: string): Change<readonly string[]> {
  yield* dropReader(uuid)
  const closed = yield* closeFor(uuid)
  yield* db.run('DELETE FROM eperson WHERE uuid = $1', uuid)
  return closed
}

export const people = {
  reads: { ...epersons.reads, ...groups.reads },
  searches: { findEpersons, findGroups },
  changes: { ...epersons.changes, ...groups.changes },
} satisfies StatementsOf<People>

/**
 * Pages of epersons and groups, in the order of an index. A search for a text scans an index that covers all
 * columns that it searches (docs/decisions/0048).
 */

/** Maximum number of members of a group that are read at once. In larger groups, each is looked up. */
const few = 5_000

function* findEpersons({ text, membership }: EpersonSearch, { offset, limit }: Window): Read<Part<Eperson>> {
  if (text === '' && membership === null) return yield* everybody(offset, limit)
  const members = membership ? yield* db.count('membership WHERE epersongroup = $1', membership.group) : 0
  const values: Value[] = []
  const place = (value: Value) => `$${values.push(value)}`
  const conditions: string[] = []
  if (membership) {
    const not = membership.is ? '' : 'NOT '
    const group = `epersongroup = ${place(membership.group)}`
    conditions.push(
      members <= few
        ? `uuid ${not}IN (SELECT eperson FROM membership WHERE ${group})`
        : `${not}EXISTS (SELECT 1 FROM membership WHERE membership.eperson = uuid AND ${group})`,
    )
  }
  if (text !== '') {
    const part = place(text)
    conditions.push(`(uuid = ${part} OR strpos(email_key, ${part}) > 0 OR strpos(name_key, ${part}) > 0)`)
  }
  const from = `eperson WHERE ${conditions.join(' AND ')}`
  const asked = [...values]
  const page = `FROM ${from} ORDER BY email_key LIMIT ${place(limit)} OFFSET ${place(offset)}`
  // Without a group, SQLite finds the addresses in the index alone. With one, PostgreSQL plans by its size.
  const wanted = membership
    ? page
    : `FROM eperson WHERE email_key IN (SELECT email_key ${page}) ORDER BY email_key`
  const found = yield* db.rows<EpersonRow>(`SELECT ${epersonColumns} ${wanted}`, ...values)
  const isEnd = found.length < limit && (found.length > 0 || offset === 0)
  const total = isEnd
    ? offset + found.length
    : text !== ''
      ? yield* db.count(from, ...asked)
      : membership?.is
        ? members
        : (yield* db.count('eperson')) - members
  return { rows: found.map(toEperson), total }
}

/** All epersons. Up to the beginning of the page, only an index is read. */
function* everybody(offset: number, limit: number): Read<Part<Eperson>> {
  const found = yield* db.rows<EpersonRow>(
    `SELECT ${epersonColumns} FROM eperson
     WHERE email_key >= (SELECT email_key FROM eperson ORDER BY email_key LIMIT 1 OFFSET $1)
     ORDER BY email_key LIMIT $2`,
    offset,
    limit,
  )
  return { rows: found.map(toEperson), total: yield* db.count('eperson') }
}

function* findGroups({ text, inside }: GroupSearch, { offset, limit }: Window): Read<Part<GroupDetails>> {
  const values: Value[] = []
  const place = (value: Value) => `$${values.push(value)}`
  const conditions: string[] = []
  if (text !== '') {
    const wanted = place(text)
    conditions.push(`(uuid = ${wanted} OR strpos(name_key, ${wanted}) > 0)`)
  }
  if (inside) {
    const group = place(inside.group)
    const children = `SELECT child FROM subgroup WHERE parent = ${group}`
    conditions.push(inside.is ? `uuid IN (${children})` : `uuid <> ${group} AND uuid NOT IN (${children})`)
  }
  const from = ['epersongroup', conditions.join(' AND ')].filter(part => part !== '').join(' WHERE ')
  const total = yield* db.count(from, ...values)
  const found = yield* db.rows<GroupDetails>(
    `SELECT uuid, name, description FROM ${from} ORDER BY name LIMIT ${place(limit)} OFFSET ${place(offset)}`,
    ...values,
  )
  return { rows: found, total }
}
