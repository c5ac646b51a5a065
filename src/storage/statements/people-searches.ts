import type { Eperson, GroupDetails } from '../../model/accounts.ts'
import type { EpersonSearch } from '../accounts.ts'
import type { GroupSearch } from '../people.ts'
import type { Part, Window } from '../window.ts'
import { type EpersonRow, epersonColumns, toEperson } from './people-rows.ts'
import { type Read, row, rows, type Value } from './statements.ts'

/**
 * Pages of epersons and groups, in the order of an index. A search for a text passes an index that has all that it looks in
 * (docs/decisions/0048).
 */

/** Of a group with at most so many members, members are looked up and sorted; of a larger one, everybody is passed in order. */
const few = 5_000

export function* findEpersons(
  { text, membership }: EpersonSearch,
  { offset, limit }: Window,
): Read<Part<Eperson>> {
  if (text === '' && membership === null) return yield* everybody(offset, limit)
  const members = membership ? yield* count('membership WHERE epersongroup = $1', membership.group) : 0
  const values: Value[] = []
  const place = (value: Value) => `$${values.push(value)}`
  const conditions: string[] = []
  if (membership) {
    const group = `epersongroup = ${place(membership.group)}`
    conditions.push(
      membership.is && members <= few
        ? `uuid IN (SELECT eperson FROM membership WHERE ${group})`
        : `${membership.is ? '' : 'NOT '}EXISTS (SELECT 1 FROM membership WHERE membership.eperson = uuid AND ${group})`,
    )
  }
  if (text !== '') {
    const wanted = place(text)
    conditions.push(
      `(uuid = ${wanted} OR strpos(email_key, ${wanted}) > 0 OR strpos(name_key, ${wanted}) > 0)`,
    )
  }
  const from = `eperson WHERE ${conditions.join(' AND ')}`
  const found = yield* rows<EpersonRow>(
    `SELECT ${epersonColumns} FROM ${from} ORDER BY email_key LIMIT ${place(limit)} OFFSET ${place(offset)}`,
    ...values,
  )
  const total =
    text !== ''
      ? yield* count(from, ...values.slice(0, -2))
      : membership?.is
        ? members
        : (yield* count('eperson')) - members
  return { rows: found.map(toEperson), total }
}

/** Only an index is read up to the beginning of the page. */
function* everybody(offset: number, limit: number): Read<Part<Eperson>> {
  const found = yield* rows<EpersonRow>(
    `SELECT ${epersonColumns} FROM eperson
     WHERE email_key >= (SELECT email_key FROM eperson ORDER BY email_key LIMIT 1 OFFSET $1)
     ORDER BY email_key LIMIT $2`,
    offset,
    limit,
  )
  return { rows: found.map(toEperson), total: yield* count('eperson') }
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
  const total = yield* count(from, ...values)
  const found = yield* rows<GroupDetails>(
    `SELECT uuid, name, description FROM ${from} ORDER BY name LIMIT ${place(limit)} OFFSET ${place(offset)}`,
    ...values,
  )
  return { rows: found.map(one => ({ ...one })), total }
}

function* count(from: string, ...values: readonly Value[]): Read<number> {
  return (yield* row<{ count: number }>(`SELECT count(*) AS count FROM ${from}`, ...values))?.count ?? 0
}
