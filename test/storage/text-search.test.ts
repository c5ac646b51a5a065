import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import type { FieldRef, TextQuery } from '../../src/model/plan.ts'
import { matchesText, readTextQuery, relevanceOf, searchable, textsIn } from '../../src/model/text-query.ts'
import { postgresDialect } from '../../src/storage/postgres/dialect.ts'
import * as postgres from '../../src/storage/postgres/text-search.ts'
import { sqliteDialect } from '../../src/storage/sqlite/dialect.ts'
import { queryFunctions } from '../../src/storage/sqlite/functions.ts'
import type { Cell } from '../../src/storage/tables/cells.ts'
import { compileCondition } from '../../src/storage/tables/conditions.ts'
import type { Dialect } from '../../src/storage/tables/dialect.ts'
import { highlightRows } from '../../src/storage/tables/plan-shape.ts'
import { arbitraryText } from '../support/data/arbitrary-texts.ts'
import { runs } from '../support/scale.ts'
import { closeDatabases, serverUrl } from '../support/service/databases.ts'

/** A record with two fields of text and one of JSON. */
interface Row {
  readonly one: string | null
  readonly two: string | null
  readonly json: unknown
}

const { isWellFormed } = String.prototype
/** Texts that both engines can store. */
const storable = arbitraryText.filter(text => isWellFormed.call(text) && !text.includes('\0'))
const words = ['sea', 'side', 'SEA', 'Straße', 'é', '東', '京', '한', 'a', 'b']
const sentence = fc
  .array(fc.oneof(fc.constantFrom(...words), storable), { maxLength: 6 })
  .chain(parts => fc.constantFrom(' ', ' ', ', ', '', "'").map(between => parts.join(between)))
const nullable = fc.option(sentence, { freq: 5 })
const row: fc.Arbitrary<Row> = fc.record({
  one: nullable,
  two: nullable,
  json: fc.option(
    fc.oneof(
      sentence,
      fc.array(sentence, { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom('k', 'sea'),
        fc.oneof(sentence, fc.integer(), fc.constant([1, 'sea', null])),
      ),
    ),
    { freq: 5 },
  ),
})
/** Returns a search for words that are mostly in the row. */
const search = (of: Row) => {
  const known = [of.one ?? '', of.two ?? '', ...textsIn(of.json)]
    .flatMap(text => text.split(/(?=[\s,"'])/u))
    .filter(word => word !== '')
  const unknown = fc.oneof(fc.constantFrom(...words), sentence)
  const word =
    known.length > 0
      ? fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: unknown })
      : unknown
  const plain = fc.tuple(word, fc.constantFrom('', '', '*')).map(parts => parts.join(''))
  const inRow = fc
    .tuple(word, word, fc.constantFrom('', '*'))
    .map(([first, second, star]) => `"${first} ${second}${star}"`)
  return fc
    .array(fc.oneof({ weight: 5, arbitrary: plain }, { weight: 1, arbitrary: inRow }), {
      minLength: 1,
      maxLength: 2,
    })
    .map(parts => parts.join(' '))
    .map(readTextQuery)
    .filter(query => query.length > 0)
}
const cases = row.chain(one => fc.tuple(fc.constant(one), search(one)))

const fieldsOf = ({ one, two, json }: Row) =>
  [one === null ? [] : [[one]], two === null ? [] : [[two]], json === null ? [] : [textsIn(json)]]
    .flat()
    .map(searchable)

interface Answers {
  readonly found: boolean
  readonly missing: boolean
  readonly relevance: number
}

/** Returns the results of the functions in JavaScript. */
function expected(of: Row, query: TextQuery): Answers {
  const fields = fieldsOf(of)
  const found = matchesText(fields, query)
  return { found, missing: fields.length > 0 && !found, relevance: relevanceOf(fields, query) }
}

const fields = [
  { name: 'one', path: [], type: 'text' },
  { name: 'two', path: [], type: 'text' },
  { name: 'json', path: [], type: 'json' },
] as const

function statement(dialect: Dialect, words: TextQuery) {
  const cell = ({ name, type }: Pick<FieldRef, 'name' | 'type'>): Cell => ({
    kind: type === 'json' ? 'json' : 'text',
    sql: `t.${name}`,
    nullable: true,
  })
  const scope: Parameters<typeof compileCondition>[1] = {
    dialect,
    cell,
    parsed: field => dialect.parsed(cell(field).sql, sql => sql),
    inner: () => assert.fail(),
  }
  const [found, missing] = [false, true].map(negated =>
    compileCondition({ kind: 'text', fields, words, negated }, scope),
  )
  const relevance = dialect.relevance(fields.map(cell), words)
  return `SELECT ${found} AS found, ${missing} AS missing, ${relevance} AS relevance`
}

async function connect(t: TestContext): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: await serverUrl() })
  await client.connect()
  t.after(async () => {
    await client.end()
    await closeDatabases()
  })
  return client
}

/** Characters from every block that contains letters. */
const characters = Array.from({ length: 0x3_3480 - 1 }, (_, at) => at + 1)
  .filter(code => code < 0xd800 || code > 0xdfff)
  .map(code => String.fromCodePoint(code))

/**
 * @returns characters that only one of PostgreSQL and Node knows, because its version of Unicode is newer
 * (Q27)
 */
async function knownToOne(client: pg.Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ text: string }>(
    'SELECT text FROM unnest($1::text[], $2::bool[]) AS t (text, known) WHERE unicode_assigned(text) <> known',
    [characters, characters.map(text => !/\p{Cn}/u.test(text))],
  )
  return new Set(rows.map(({ text }) => text))
}

test('Q27 PostgreSQL finds what JavaScript finds', async t => {
  const client = await connect(t)
  const newer = await knownToOne(client)
  let found = 0
  const all = fc
    .sample(cases, runs(500, 40_000))
    .filter(([one]) => Array.from(JSON.stringify(one)).every(text => !newer.has(text)))
  for (const [one, query] of all) {
    const bound: (string | null)[] = [one.one, one.two, one.json === null ? null : JSON.stringify(one.json)]
    const sql = statement(
      postgresDialect(text => `$${bound.push(String(text))}`),
      query,
    )
    const { rows } = await client.query<{ found: boolean; missing: boolean; relevance: string }>(
      `${sql} FROM (SELECT CAST($1 AS TEXT) AS one, CAST($2 AS TEXT) AS two, CAST($3 AS TEXT) AS json) AS t`,
      bound,
    )
    const [answer] = rows
    assert.deepEqual(
      { ...answer, relevance: Number(answer?.relevance) },
      expected(one, query),
      JSON.stringify([one, query]),
    )
    found += Number(answer?.found)
  }
  assert.ok(found > all.length / 4 && found < all.length * 0.9, `${found} were found`)
})

test('Q27 PostgreSQL reads every character as JavaScript does', async t => {
  const client = await connect(t)
  const newer = await knownToOne(client)
  const texts = characters.filter(text => !newer.has(text))
  const differing: string[] = []
  const words = postgres.searchable({ sql: 't.text', isJson: false }, '$3')
  for (let at = 0; at < texts.length; at += 20_000) {
    const some = texts.slice(at, at + 20_000)
    // A phrase that appears nowhere else, so that the relevance counts the words, and each text must contain
    // itself.
    const { rows } = await client.query<{ text: string; found: boolean }>(
      `SELECT t.text, t.pattern = '  ' OR strpos(${words}, t.pattern) = 1 AND length(t.pattern) = length(${words}) AS found
       FROM unnest($1::text[], $2::text[]) AS t (text, pattern)`,
      [some, some.map(text => searchable([text])), postgres.betweenWords()],
    )
    differing.push(...rows.filter(({ found }) => !found).map(({ text }) => text))
  }
  assert.deepEqual(
    differing.map(text => text.codePointAt(0)?.toString(16)),
    [],
  )
})

test('Q27 SQLite finds what JavaScript finds', () => {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const db = new DatabaseSync(':memory:')
  for (const [name, call] of Object.entries(queryFunctions.functions))
    db.function(name, { varargs: true }, call)
  for (const [one, query] of fc.sample(cases, runs(500, 40_000))) {
    const bound: (string | null)[] = [one.one, one.two, one.json === null ? null : JSON.stringify(one.json)]
    const sql = statement(
      sqliteDialect(text => `?${bound.push(String(text))}`),
      query,
    )
    const answer = db.prepare(`${sql} FROM (SELECT ?1 AS one, ?2 AS two, ?3 AS json) AS t`).get(...bound)
    const { found, missing, relevance } = expected(one, query)
    assert.deepEqual(
      { ...answer },
      { found: Number(found), missing: Number(missing), relevance },
      JSON.stringify([one, query]),
    )
  }
  db.close()
})

test('Q27 rows are marked where a column asks for it, and numbers stay as they are', () => {
  const rows = '{"a":"the sea","b":"the sea","c":123456789012345678901234567890},{"a":null,"b":"x","c":1.5}'
  assert.equal(
    highlightRows(rows, [{ name: 'a', words: readTextQuery('sea') }]),
    '{"a":"the \\u0002sea\\u0003","b":"the sea","c":123456789012345678901234567890},{"a":null,"b":"x","c":1.5}',
  )
  assert.equal(highlightRows(rows, []), rows)
})
