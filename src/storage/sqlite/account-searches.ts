import type { Client } from '../../lib/fair-queue.ts'
import type { Eperson, GroupDetails } from '../../model/accounts.ts'
import type { EpersonSearch } from '../accounts.ts'
import type { GroupSearch } from '../people.ts'
import { type EpersonRow, toEperson } from '../statements/people-rows.ts'
import type { Part, Window } from '../window.ts'
import type { TablePlan } from './compile.ts'
import { readPage } from './pages.ts'
import type { ReaderThreads } from './reader-threads.ts'

/** Pages of epersons and groups, read on a reader thread. */
interface Parts {
  readonly file: string
  readonly readerThreads: ReaderThreads
}

const json = (...columns: string[]) =>
  `SELECT json_object(${columns.map(name => `'${name}', ${name}`).join(', ')}) AS json`
const eperson = json('uuid', 'email', 'first_name', 'last_name', 'enabled', 'profile')

export async function findEpersons(
  parts: Parts,
  search: EpersonSearch,
  window: Window,
  client: Client,
): Promise<Part<Eperson>> {
  const { rows, total } = await read<EpersonRow>(parts, planOf(search, window), search.text !== '', client)
  return { rows: rows.map(toEperson), total }
}

function planOf({ text, membership }: EpersonSearch, { offset, limit }: Window): TablePlan {
  const found = text === '' ? [] : ['(uuid = ? OR instr(email_key, ?) > 0 OR instr(name_key, ?) > 0)']
  const values = [...(text === '' ? [] : [text, text, text]), ...(membership ? [membership.group] : [])]
  const from = (...members: string[]) =>
    ['eperson', [...found, ...members].join(' AND ')].filter(part => part !== '').join(' WHERE ')
  const page = (rows: string) => ({
    sql: `${eperson} FROM ${rows} ORDER BY email_key LIMIT ? OFFSET ?`,
    values: [...values, limit, offset],
  })
  const isMember = 'EXISTS (SELECT 1 FROM membership WHERE membership.eperson = uuid AND epersongroup = ?)'
  // Without conditions, only an index is read up to the beginning of the page.
  const pageOfAll = {
    sql: `${eperson} FROM eperson
      WHERE email_key >= (SELECT email_key FROM eperson ORDER BY email_key LIMIT 1 OFFSET ?) ORDER BY email_key LIMIT ?`,
    values: [offset, limit],
  }
  // Everybody is passed in the order of an index, up to the end of the page.
  const inOrder = from(...(membership ? [`${membership.is ? '' : 'NOT '}${isMember}`] : []))
  const everybody = '(SELECT count(*) FROM eperson)'
  const members = '(SELECT count(*) FROM membership WHERE epersongroup = ?)'
  const others = `${everybody} - ${members}`
  const seen =
    text !== ''
      ? `(SELECT count(*) FROM ${inOrder})`
      : membership === null
        ? everybody
        : membership.is
          ? members
          : others
  return {
    counts: { sql: `SELECT ${seen} AS seen, ${everybody} AS "all"`, values },
    scan: { page: text === '' && membership === null ? pageOfAll : page(inOrder), total: null },
    collect: membership?.is
      ? { page: page(from('uuid IN (SELECT eperson FROM membership WHERE epersongroup = ?)')), total: null }
      : null,
    audiences: 0,
    end: offset + limit,
    isFiltered: false,
    highlights: [],
  }
}

export function findGroups(
  parts: Parts,
  { text, inside }: GroupSearch,
  { offset, limit }: Window,
  client: Client,
): Promise<Part<GroupDetails>> {
  const children = 'SELECT child FROM subgroup WHERE parent = ?'
  const conditions = [
    ...(text === '' ? [] : ['(uuid = ? OR instr(name_key, ?) > 0)']),
    ...(inside === null
      ? []
      : [inside.is ? `uuid IN (${children})` : `uuid <> ? AND uuid NOT IN (${children})`]),
  ]
  const values = [
    ...(text === '' ? [] : [text, text]),
    ...(inside === null ? [] : inside.is ? [inside.group] : [inside.group, inside.group]),
  ]
  const from = ['epersongroup', conditions.join(' AND ')].filter(part => part !== '').join(' WHERE ')
  const plan: TablePlan = {
    counts: { sql: `SELECT count(*) AS seen, 0 AS "all" FROM ${from}`, values },
    scan: {
      page: {
        sql: `${json('uuid', 'name', 'description')} FROM ${from} ORDER BY name LIMIT ? OFFSET ?`,
        values: [...values, limit, offset],
      },
      total: null,
    },
    collect: null,
    audiences: 0,
    end: offset + limit,
    isFiltered: false,
    highlights: [],
  }
  return read<GroupDetails>(parts, plan, text !== '', client)
}

/** @param isLong whether it passes everybody, because it looks for a part of a name */
async function read<Row>(
  { file, readerThreads }: Parts,
  plan: TablePlan,
  isLong: boolean,
  client: Client,
): Promise<Part<Row>> {
  const { total, body } = await readPage(readerThreads, { file, plan, separator: ',', isLong }, client)
  return { rows: JSON.parse(`[${Buffer.from(body).toString()}]`) as Row[], total: total ?? 0 }
}
