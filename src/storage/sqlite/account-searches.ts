import type { Eperson, Group } from '../../model/accounts.ts'
import type { EpersonSearch } from '../accounts.ts'
import { isCollectingCheaper } from '../shared/row-visibility.ts'
import type { Part, Window } from '../window.ts'
import type { Database } from './driver.ts'
import { type EpersonRow, epersonColumns, toEperson } from './rows.ts'

/** Pages of epersons and groups, in the order of an index. */
const found = '(uuid = ? OR instr(email_key, ?) > 0 OR instr(name_key, ?) > 0)'
const isMember = 'EXISTS (SELECT 1 FROM membership WHERE membership.eperson = uuid AND epersongroup = ?)'

export function findEpersons(db: Database, search: EpersonSearch, { offset, limit }: Window): Part<Eperson> {
  const { text, membership } = search
  const all = () => count(db, 'eperson')
  const inGroup = () => (membership ? count(db, 'membership WHERE epersongroup = ?', membership.group) : 0)
  // A small group is collected and sorted. Otherwise everybody is passed in order, up to the end of the page.
  const isSmall = membership?.is === true && isCollectingCheaper(inGroup(), all(), offset + limit)
  const conditions = [
    ...(text === '' ? [] : [found]),
    ...(isSmall ? ['uuid IN (SELECT eperson FROM membership WHERE epersongroup = ?)'] : []),
    ...(membership && !isSmall ? [`${membership.is ? '' : 'NOT '}${isMember}`] : []),
  ]
  const values = [...(text === '' ? [] : [text, text, text]), ...(membership ? [membership.group] : [])]
  const from = `eperson ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}`
  const rows = db.all<EpersonRow>(
    `SELECT ${epersonColumns} FROM ${from} ORDER BY email_key LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  )
  const total = () => {
    if (text !== '') return count(db, from, ...values)
    if (!membership) return all()
    return membership.is ? inGroup() : all() - inGroup()
  }
  return { rows: rows.map(toEperson), total: total() }
}

export function findGroups(db: Database, text: string, { offset, limit }: Window): Part<Group> {
  const [from, values] =
    text === ''
      ? ['epersongroup', []]
      : ['epersongroup WHERE uuid = ? OR instr(name_key, ?) > 0', [text, text]]
  const rows = db.all<Group & Record<string, unknown>>(
    `SELECT uuid, name FROM ${from} ORDER BY name LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  )
  return { rows: rows.map(row => ({ ...row })), total: count(db, from, ...values) }
}

const count = (db: Database, from: string, ...values: string[]): number =>
  db.get<{ count: number }>(`SELECT count(*) AS count FROM ${from}`, ...values)?.count ?? 0
