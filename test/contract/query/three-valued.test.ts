import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { list } from '../../support/clients/listings.ts'
import { importText, ndjson } from '../../support/data/imports.ts'
import { isLong } from '../../support/scale.ts'
import { engines } from '../../support/service/engines.ts'
import { exposeIn, withTables } from '../../support/service/exposed-tables.ts'
import { type Service, startService } from '../../support/service/service.ts'

/** The three values of SQL's logic: T is true, F is false, and U is unknown, because a value is null. */
const truths = ['T', 'F', 'U'] as const
type Truth = (typeof truths)[number]

/** Truth tables: rows are for the left operand, columns for the right. */
const tables = {
  and: { T: { T: 'T', F: 'F', U: 'U' }, F: { T: 'F', F: 'F', U: 'F' }, U: { T: 'U', F: 'F', U: 'U' } },
  or: { T: { T: 'T', F: 'T', U: 'T' }, F: { T: 'T', F: 'F', U: 'U' }, U: { T: 'T', F: 'U', U: 'U' } },
} as const satisfies Record<string, Record<Truth, Record<Truth, Truth>>>
const opposite = { T: 'F', F: 'T', U: 'U' } as const

/** For each type, a value for which the comparison below is true, one for which it is false, and null. */
const values = {
  text: { T: 'yes', F: 'no', U: null },
  whole: { T: 5, F: 6, U: null },
  decimal: { T: 0.5, F: 1.5, U: null },
  flag: { T: true, F: false, U: null },
  time: { T: '2020-01-01T00:00:00Z', F: '2021-01-01T00:00:00Z', U: null },
  json: { T: { a: 'x' }, F: { a: 5 }, U: { a: null } },
  list: { T: ['x', 'y'], F: ['y'], U: null },
} as const

/** For each field, conditions that are true, false and unknown for those values. */
const leaves = {
  text: [
    ['=', 'yes'],
    ['~', '^y'],
    ['>', 'o'],
    ['in', ['array', ['yes', 'maybe']]],
    ['in', ['from', 'yes', ['extract', 'word']]],
    ['in', ['extract', 'word', ['select_yes', ['=', 'word', 'yes']]]],
  ],
  whole: [
    ['=', 5],
    ['<', 6],
    ['<=', 5],
    ['in', ['array', [5, 7]]],
  ],
  decimal: [
    ['=', 0.5],
    ['<', 1],
    ['in', ['array', [0.5, 0]]],
  ],
  flag: [
    ['=', true],
    ['in', ['array', [true]]],
  ],
  time: [
    ['=', '2020'],
    ['<', '2020-06-01'],
    ['<=', '2020-01-01T01:00:00+01:00'],
    ['in', ['array', ['2020']]],
  ],
  'json.a': [
    ['=', 'x'],
    ['~', 'x'],
    ['in', ['array', ['x', 1]]],
    ['in', ['from', 'yes', ['extract', 'initial']]],
  ],
  list: [
    ['=', 'x'],
    ['~', 'x'],
    ['in', ['array', ['x']]],
    ['in', ['from', 'yes', ['extract', 'initial']]],
  ],
} as const

const fields = Object.keys(values) as (keyof typeof values)[]

/** True for operators that know that a missing value inside JSON differs from every value. */
const isUnequalToNull = (path: string, operator: string) =>
  path === 'json.a' && (operator === '=' || operator === 'in')

/** A record for each pair of truth values, named by its key. */
const records = truths.flatMap(left =>
  truths.map(right => ({
    id: `${left}${right}`,
    ...Object.fromEntries(
      fields.flatMap(name => [
        [`${name}_1`, values[name][left]],
        [`${name}_2`, values[name][right]],
      ]),
    ),
  })),
)

const words = [{ word: 'yes', initial: 'x' }]

for (const engine of engines)
  describe(`three-valued logic on ${engine}`, () => {
    test('Q20 Q21 and, or and not of imported records are those of three values', async t => {
      const service = await startService(t, { engine })
      await importAll(service)
      await everyTable(service, 'pairs')
    })
  })

test('Q20 Q21 and, or and not of exposed tables are those of three values', async t => {
  const { service } = await withTables(
    t,
    `CREATE TABLE pairs (id text PRIMARY KEY, ${fields
      .flatMap(name => [1, 2].map(n => `${name}_${n} ${columnTypes[name]}`))
      .join(', ')});
     INSERT INTO pairs SELECT * FROM json_populate_recordset(NULL::pairs, '${JSON.stringify(records)}');
     CREATE TABLE yes (word text PRIMARY KEY, initial text); INSERT INTO yes VALUES ('yes', 'x')`,
  )
  await exposeIn(service, 'pairs')
  await exposeIn(service, 'yes')
  await everyTable(service, 'pairs')
})

const columnTypes: Readonly<Record<keyof typeof values, string>> = {
  text: 'text',
  whole: 'integer',
  decimal: 'numeric',
  flag: 'boolean',
  time: 'timestamptz',
  json: 'json',
  list: 'text[]',
}

async function importAll(service: Service): Promise<void> {
  await importText(service, ndjson(records), { entity: 'pairs', key: 'id' })
  await importText(service, ndjson(words), { entity: 'yes', key: 'word' })
}

async function everyTable(service: Service, entity: string): Promise<void> {
  const client = service.client()
  const truthOf = async (query: unknown, isOne = false) => {
    const idsOf = async (one: unknown) =>
      (await list<{ id: string }>(client, entity, { query: one as never })).map(({ id }) => id)
    const [yes, no] = [await idsOf(query), await idsOf(['not', query])]
    if (isLong || isOne)
      assert.deepEqual(await idsOf(['not', ['not', query]]), yes, `not not ${JSON.stringify(query)}`)
    return Object.fromEntries(
      records.map(({ id }) => [id, yes.includes(id) ? 'T' : no.includes(id) ? 'F' : 'U']),
    )
  }
  for (const [path, conditions] of Object.entries(leaves))
    for (const [operator, value] of conditions) {
      const [one, two] = [1, 2].map(n => [operator, path.replace(/^\w+/, name => `${name}_${n}`), value])
      const what = JSON.stringify(one)
      const known = (truth: Truth): Truth => (truth === 'U' && isUnequalToNull(path, operator) ? 'F' : truth)
      assert.deepEqual(
        await truthOf(one, true),
        expected(left => known(left)),
        what,
      )
      assert.deepEqual(
        await truthOf(['and', one, two]),
        expected((left, right) => tables.and[known(left)][known(right)]),
        what,
      )
      assert.deepEqual(
        await truthOf(['or', one, two]),
        expected((left, right) => tables.or[known(left)][known(right)]),
        what,
      )
      // In CI, property/queries covers mixed conditions.
      if (!isLong) continue
      const mixed = ['or', ['not', one], ['and', two, one]]
      assert.deepEqual(
        await truthOf(mixed),
        expected((left, right) => tables.or[opposite[known(left)]][tables.and[known(right)][known(left)]]),
        what,
      )
    }
}

const expected = (truth: (left: Truth, right: Truth) => Truth) =>
  Object.fromEntries(truths.flatMap(left => truths.map(right => [`${left}${right}`, truth(left, right)])))
