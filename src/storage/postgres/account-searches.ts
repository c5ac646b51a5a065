import type { Eperson, GroupDetails } from '../../model/accounts.ts'
import type { EpersonSearch } from '../accounts.ts'
import type { GroupSearch } from '../people.ts'
import { type EpersonRow, epersonColumns, toEperson } from '../statements/people-rows.ts'
import type { Part, Window } from '../window.ts'
import type { Pool, Value } from './driver.ts'
import { isStorable } from './rows.ts'

/** Pages of epersons and groups, in the order of an index. */
const nothing = { rows: [], total: 0 }

export async function findEpersons(
  pool: Pool,
  search: EpersonSearch,
  window: Window,
): Promise<Part<Eperson>> {
  const { text, membership } = search
  const { offset, limit } = window
  if (![text, membership?.group ?? ''].every(isStorable)) return nothing
  const values: Value[] = []
  const place = (value: Value) => `$${values.push(value)}`
  const conditions: string[] = []
  if (text !== '') {
    const wanted = place(text)
    conditions.push(
      `(uuid = ${wanted} OR strpos(email_key, ${wanted}) > 0 OR strpos(name_key, ${wanted}) > 0)`,
    )
  }
  if (membership)
    conditions.push(
      `${membership.is ? '' : 'NOT '}EXISTS (SELECT 1 FROM membership m
         WHERE m.eperson = eperson.uuid AND m.epersongroup = ${place(membership.group)})`,
    )
  if (conditions.length === 0) return pageOfAll(pool, { offset, limit })
  const from = `eperson WHERE ${conditions.join(' AND ')}`
  const total = text === '' && membership ? countMembers(pool, membership) : count(pool, from, ...values)
  const rows = pool.rows<EpersonRow>(
    `SELECT ${epersonColumns} FROM ${from} ORDER BY email_key LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
    ...values,
    limit,
    offset,
  )
  return { rows: (await rows).map(toEperson), total: await total }
}

/** Only an index is read up to the beginning of the page. */
async function pageOfAll(pool: Pool, { offset, limit }: Window): Promise<Part<Eperson>> {
  const total = countEpersons(pool)
  const rows = pool.rows<EpersonRow>(
    `SELECT ${epersonColumns} FROM eperson
     WHERE email_key >= (SELECT email_key FROM eperson ORDER BY email_key LIMIT 1 OFFSET $1)
     ORDER BY email_key LIMIT $2`,
    offset,
    limit,
  )
  return { rows: (await rows).map(toEperson), total: await total }
}

export async function findGroups(
  pool: Pool,
  { text, inside }: GroupSearch,
  { offset, limit }: Window,
): Promise<Part<GroupDetails>> {
  if (![text, inside?.group ?? ''].every(isStorable)) return nothing
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
  const total = count(pool, from, ...values)
  const rows = pool.rows<GroupDetails & Record<string, unknown>>(
    `SELECT uuid, name, description FROM ${from} ORDER BY name LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
    ...values,
    limit,
    offset,
  )
  return { rows: await rows, total: await total }
}

/** Without a join. */
async function countMembers(
  pool: Pool,
  { group, is }: NonNullable<EpersonSearch['membership']>,
): Promise<number> {
  const members = await count(pool, 'membership WHERE epersongroup = $1', group)
  return is ? members : (await countEpersons(pool)) - members
}

const countEpersons = (pool: Pool): Promise<number> => count(pool, 'eperson')

const count = async (pool: Pool, from: string, ...values: Value[]): Promise<number> =>
  (await pool.rows<{ count: number }>(`SELECT count(*) AS count FROM ${from}`, ...values))[0]?.count ?? 0
