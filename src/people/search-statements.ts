import type { Eperson, GroupDetails } from '../model/accounts.ts'
import type { EpersonSearch, GroupSearch } from '../model/people.ts'
import { type EpersonRow, epersonColumns, toEperson } from '../storage/statements/people-rows.ts'
import type { Read, Value } from '../storage/statements/statements.ts'
import * as db from '../storage/statements/statements.ts'
import type { Part, Window } from '../storage/storage.ts'

/**
 * Pages of epersons and groups, in the order of an index. A search for a text scans an index that covers all
 * columns that it searches (docs/decisions/0048).
 */

/** Maximum number of members of a group that are read at once. In larger groups, each is looked up. */
const few = 5_000

export function* findEpersons(
  { text, membership }: EpersonSearch,
  { offset, limit }: Window,
): Read<Part<Eperson>> {
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

export function* findGroups(
  { text, inside }: GroupSearch,
  { offset, limit }: Window,
): Read<Part<GroupDetails>> {
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
