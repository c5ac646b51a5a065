import type { EpersonSearch } from '../accounts.ts'
import {
  farAway,
  keptFor,
  maxChanges,
  maxNamed,
  type PeopleNames,
  passesMany,
  peopleNames,
} from '../statements/people-names.ts'
import type { Part, Window } from '../window.ts'
import type { Database } from './driver.ts'
import { type EpersonRow, epersonColumns } from './rows.ts'

/** Searches in the list of names that a reader thread keeps (docs/decisions/0048). */

interface Kept {
  /** undefined: they would be too large for a list. */
  readonly names: PeopleNames | undefined
  /** The number of the last change that is in it. */
  last: number
  readonly forget: NodeJS.Timeout
}

const lists = new WeakMap<Database, Kept>()

/**
 * In a snapshot.
 * @returns null where the page passes few, or there are too many epersons for a list
 */
export function findByName(db: Database, search: EpersonSearch, window: Window): Part<EpersonRow> | null {
  const { text, membership } = search
  if (passesMany(search, window) === 'if large' && !isLarge(db, membership?.group ?? '')) return null
  const names = namesIn(db)
  if (!names) return null
  if (membership && !names.keeps(membership.group))
    names.keep(membership.group, membersOf(db, membership.group))
  const also = db.get<{ email_key: string }>('SELECT email_key FROM eperson WHERE uuid = ?', text)?.email_key
  const { emails, total } = names.find(text, window, also, membership ?? undefined)
  const sql = `SELECT ${epersonColumns} FROM eperson WHERE email_key = ?`
  return { rows: emails.flatMap(email => db.get<EpersonRow>(sql, email) ?? []), total }
}

const isLarge = (db: Database, group: string): boolean =>
  db.get('SELECT 1 FROM membership WHERE epersongroup = ? LIMIT 1 OFFSET ?', group, farAway) !== undefined

const membersOf = (db: Database, group: string): readonly string[] =>
  db
    .all<{ email_key: string }>(
      `SELECT email_key FROM membership JOIN eperson ON uuid = membership.eperson WHERE epersongroup = ?
       ORDER BY email_key`,
      group,
    )
    .map(({ email_key }) => email_key)

/** The list as the snapshot has it. */
function namesIn(db: Database): PeopleNames | undefined {
  const last = db.get<{ last: number }>('SELECT coalesce(max(id), 0) AS last FROM eperson_renamed')?.last ?? 0
  let kept = lists.get(db)
  if (!kept || last - kept.last > maxChanges || last < kept.last) kept = load(db, last)
  else if (kept.names && last > kept.last) {
    const changed = db.all<{ email_key: string; name_key: string | null; groups: string }>(
      `SELECT DISTINCT r.email_key, name_key,
         (SELECT json_group_array(epersongroup) FROM membership
          WHERE membership.eperson = e.uuid AND epersongroup IN (SELECT value FROM json_each(?))) AS groups
       FROM eperson_renamed r LEFT JOIN eperson e ON e.email_key = r.email_key WHERE r.id > ?`,
      JSON.stringify(kept.names.groups),
      kept.last,
    )
    for (const { email_key, name_key, groups } of changed)
      kept.names.set(email_key, name_key, JSON.parse(groups) as string[])
    kept.last = last
  }
  if (!kept?.names || kept.names.isTooLarge) return undefined
  kept.forget.refresh()
  return kept.names
}

function load(db: Database, last: number): Kept | undefined {
  const many = db.get('SELECT 1 FROM eperson LIMIT 1 OFFSET ?', maxNamed)
  if (many) return undefined
  const rows = db.iterate('SELECT email_key, name_key FROM eperson ORDER BY email_key')
  const names = peopleNames()
  for (const [email, name] of rows as Iterable<readonly [email: string, name: string]>) {
    names.append(email, name)
    if (names.isTooLarge) break
  }
  clearTimeout(lists.get(db)?.forget)
  const forget = setTimeout(() => lists.delete(db), keptFor).unref()
  const kept = { names: names.isTooLarge ? undefined : names, last, forget }
  lists.set(db, kept)
  return kept
}
