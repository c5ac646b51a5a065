import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { type Readers, readersText } from '../../src/model/readers.ts'

/**
 * Items with mixed policies, the same on every machine and in every store: about 500 audiences, a third of the items
 * public, the others for members of groups or under past and future embargoes. They are inserted directly into the store,
 * with the rows that the service would write.
 */
export const groups: readonly string[] = Array.from({ length: 200 }, (_, n) => `Group ${n}`)

/** A group whose members may read only three items. */
export const fewGroup = 'Few'

const day = (fromToday: number): string =>
  new Date(Date.now() + fromToday * 86_400_000).toISOString().slice(0, 10)

const audiences: readonly Readers[] = [
  [{ reader: 'anonymous' }],
  [{ reader: `group:${fewGroup}` }],
  ...Array.from({ length: 500 }, (_, n): Readers => {
    const group = `group:${groups[n % groups.length]}` as const
    const embargo = day((mixed(n) % 2_000) - 1_000)
    if (n < groups.length) return [{ reader: group }]
    if (n < 2 * groups.length) return [{ reader: group }, { reader: 'anonymous', from: embargo }]
    return [
      { reader: group, until: embargo },
      { reader: 'eperson', from: day((mixed(n) % 700) + 300) },
    ]
  }),
]

/** @returns the number of the item's audience */
function audienceOf(at: number, count: number): number {
  if (at % Math.ceil(count / 3) === 7) return 2
  return mixed(at) % 3 === 0 ? 1 : 3 + (mixed(at * 7 + 1) % (audiences.length - 2))
}

/** A deterministic number that looks random (https://en.wikipedia.org/wiki/Hash_function#Multiplicative_hashing). */
function mixed(n: number): number {
  const once = Math.imul(n + 1, 2_654_435_761) >>> 0
  return (Math.imul(once ^ (once >>> 15), 2_246_822_519) ^ (once >>> 13)) >>> 0
}

const columns =
  'uuid, identifier, title, authors, issued, type, metadata, collections, audience, fingerprint, created, modified'
type Row = readonly [string, string, string, string, string | null, string | null, ...(string | number)[]]

function rowOf(at: number, count: number): Row {
  const hex = [1, 2, 3, 4].map(n => (mixed(at * 5 + n) >>> 0).toString(16).padStart(8, '0')).join('')
  const uuid = [hex.slice(0, 8), at.toString(16).padStart(8, '0').slice(0, 4), `4${hex.slice(13, 16)}`]
    .concat(`a${hex.slice(17, 20)}`, `${hex.slice(20, 24)}${at.toString(16).padStart(8, '0')}`)
    .join('-')
  const seed = mixed(at)
  const title = `Letter ${seed % 100_000} of the series ${seed % 977}`
  const authors = [`Author ${seed % 5_003}`]
  const issued =
    seed % 13 === 0 ? null : `${1_500 + (seed % 520)}-${String((seed % 12) + 1).padStart(2, '0')}`
  const type = ['Letter', 'Photograph', 'Map', 'Article', null][seed % 5] ?? null
  const one = (value: string) => [{ value, language: 'en' }]
  const metadata = {
    'dc.title': one(title),
    'dc.contributor.author': authors.flatMap(one),
    ...(issued === null ? {} : { 'dc.date.issued': one(issued) }),
    ...(type === null ? {} : { 'dc.type': one(type) }),
    'dc.description': one('a short note that many of the items share with one another'),
  }
  const time = new Date(1_700_000_000_000 + at * 1_000).toISOString()
  return [
    ...([uuid, `bench/${at}`, title, JSON.stringify(authors), issued, type] as const),
    ...[JSON.stringify(metadata), '[]', audienceOf(at, count), '', time, time],
  ]
}

/** Drops the indexes and counting triggers while it inserts. */
export function fillEmbedded(file: string, count: number): void {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; BEGIN')
  const schema = db
    .prepare(
      "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'item' AND type IN ('index', 'trigger') AND sql IS NOT NULL",
    )
    .all() as { type: string; name: string; sql: string }[]
  for (const { type, name } of schema) db.exec(`DROP ${type} ${name}`)
  for (const readers of audiences)
    db.prepare('INSERT INTO audience (readers) VALUES (?)').run(readersText(readers))
  const insert = db.prepare(`INSERT INTO item (${columns}) VALUES (${columns.replace(/\w+/g, '?')})`)
  for (let at = 0; at < count; at++) insert.run(...rowOf(at, count))
  for (const { sql } of schema) db.exec(sql)
  db.exec(
    'UPDATE audience SET items = (SELECT count(*) FROM item WHERE audience = audience.id); COMMIT; PRAGMA wal_checkpoint(TRUNCATE)',
  )
  db.close()
}

/** Like `fillEmbedded`, with the counting triggers disabled; the counters are set at the end. */
export async function fillPostgres(url: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('ALTER TABLE carrel.item DISABLE TRIGGER USER')
  await client.query(
    'INSERT INTO carrel.audience (id, readers) SELECT n, readers FROM unnest($1::text[]) WITH ORDINALITY AS a (readers, n)',
    [audiences.map(readersText)],
  )
  await client.query('UPDATE carrel.state SET audiences = $1', [audiences.length])
  const names = columns.split(', ')
  const types = names.map(name => (name === 'audience' ? 'integer[]' : 'text[]'))
  const batch = 10_000
  for (let from = 0; from < count; from += batch) {
    const rows = Array.from({ length: Math.min(batch, count - from) }, (_, n) => rowOf(from + n, count))
    await client.query(
      `INSERT INTO carrel.item (${columns}) SELECT * FROM unnest(${types.map((type, n) => `$${n + 1}::${type}`).join()})`,
      names.map((_, n) => rows.map(row => row[n])),
    )
  }
  await client.query(
    'UPDATE carrel.audience a SET items = (SELECT count(*) FROM carrel.item WHERE audience = a.id)',
  )
  await client.query('ALTER TABLE carrel.item ENABLE TRIGGER USER')
  await client.query('VACUUM ANALYZE')
  await client.end()
}

/** Restricts all but the three items. The service must be stopped, because it caches audiences and never rereads them. */
const restrictAll = (schema: '' | 'carrel.') =>
  `UPDATE ${schema}audience SET readers = '[{"reader":"group:Closed ' || id || '"}]' WHERE id <> 2`

export function restrictEmbedded(file: string): void {
  const db = new DatabaseSync(file)
  db.exec(restrictAll(''))
  db.close()
}

export async function restrictPostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(restrictAll('carrel.'))
  await client.end()
}
