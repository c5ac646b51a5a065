import assert from 'node:assert/strict'
import type { Client } from '../../src/lib/fair-queue.ts'
import type { Aggregate, Condition, Constant, FieldRef, Plan, Rows } from '../../src/model/plan.ts'
import { importText, ndjson } from '../support/data/imports.ts'
import { field, type PlainRecord, planOn, run, textOf } from '../support/data/plans.ts'
import { test } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

const text = (value: string): Constant => ({ kind: 'text', text: value })
const number = (value: number | string): Constant => ({ kind: 'number', text: String(value) })

const compare = (
  of: FieldRef,
  operator: Extract<Condition, { kind: 'compare' }>['operator'],
  value: Constant,
  negated = false,
): Condition => ({ kind: 'compare', field: of, operator, value, negated })

const among = (of: FieldRef, values: readonly Constant[], negated = false): Condition => ({
  kind: 'in',
  field: of,
  values,
  negated,
})

const aggregate = (name: Aggregate['name'], of: FieldRef | null = null) =>
  ({ kind: 'aggregate', name, field: of }) as const

const rowsWith = (columns: readonly (readonly [string, Rows['columns'][number]['value']])[]): Rows => ({
  kind: 'rows',
  columns: columns.map(([name, value]) => ({
    name,
    value,
    type: value.kind === 'field' ? value.field.type : 'number',
  })),
  groups: null,
  having: null,
  distinct: false,
  order: [],
})

const ids = (rows: readonly PlainRecord[]) => rows.map(({ id }) => id)

/** Records so numerous that their values are not read at once, and too large for a small cache. */
const many = Array.from({ length: 6_000 }, (_, n) => ({
  id: 3 * n,
  code: `C${((n * 7_919) % 6_000).toString().padStart(5, '0')}`,
  shade: ['red', 'green', null][n % 3] ?? null,
  note: 'x'.repeat(150),
}))

const everySize = ['1', '128'] as const

for (const size of everySize)
  test(`Q20 values among thousands are found with a cache of ${size} MB`, async t => {
    const service = await startService(t, { env: { CARREL_CACHE_SIZE: size } })
    await service.addRecords('many', 'id', many)
    const [id, code, shade] = [field('id', 'integer'), field('code', 'text'), field('shade', 'text')]
    const expect = async (where: Condition, wanted: (one: (typeof many)[number]) => boolean) => {
      const expected = many.filter(wanted)
      for (const limit of [5, null]) {
        const { total, rows } = await run(service, await planOn(service, 'many', where, { limit }))
        assert.equal(total, expected.length, JSON.stringify(where))
        assert.deepEqual(ids(rows), ids(expected.slice(0, limit ?? undefined)), JSON.stringify(where))
      }
    }
    for (const n of [-1, 0, 1, 2, 3, 9_000, 17_997, 17_998, 20_000]) {
      await expect(compare(id, '=', number(n)), one => one.id === n)
      await expect(compare(id, '<=', number(n)), one => one.id <= n)
      await expect(compare(id, '>', number(n), true), one => !(one.id > n))
    }
    for (const value of ['', 'C00000', 'C00001x', 'C03000', 'C05999', 'D'])
      for (const operator of ['=', '<', '>='] as const) {
        const wanted = { '=': value, '<': '', '>=': '' }[operator]
        await expect(compare(code, operator, text(value)), one =>
          operator === '=' ? one.code === wanted : operator === '<' ? one.code < value : one.code >= value,
        )
      }
    const some = ['C00007', 'C05998', 'nothing', 'C01234']
    await expect(among(code, some.map(text)), one => some.includes(one.code))
    await expect(
      {
        kind: 'and',
        of: [
          { kind: 'or', of: [among(code, some.map(text)), compare(id, '<', number(300))] },
          compare(shade, '=', text('red'), true),
        ],
      },
      one => (some.includes(one.code) || one.id < 300) && one.shade === 'green',
    )
    await expect(
      {
        kind: 'and',
        of: [{ kind: 'null', field: shade, negated: false }, compare(code, '<', text('C0010'))],
      },
      one => one.shade === null && one.code < 'C0010',
    )
  })

test('Q20 text with a collation compares in its order, and equals only itself', async t => {
  const service = await startService(t)
  const names = ['zebra', 'Ärger', 'arm', 'Arm', 'Öl', 'O\u0308l', 'ol', 'a', 'Z', 'aerger']
  const records = names.map((name, id) => ({ id, name }))
  const collations = new Map([['name', 'de']])
  await importText(service, ndjson(records), { entity: 'names', key: 'id', collations })
  const german = new Intl.Collator('de')
  // Texts that are equal in the collation are sorted by code points.
  const inOrder = (one: string, other: string) => german.compare(one, other) || (one < other ? -1 : 1)
  const name = field('name', 'text')
  for (const value of [...names, 'b', ''])
    for (const operator of ['=', '<', '<=', '>', '>='] as const) {
      const { rows } = await run(
        service,
        await planOn(service, 'names', compare(name, operator, text(value))),
      )
      const holds = (one: string) => {
        if (one === value) return operator.endsWith('=')
        const order = inOrder(one, value)
        return operator !== '=' && (operator.startsWith('<') ? order < 0 : order > 0)
      }
      assert.deepEqual(ids(rows), ids(records.filter(one => holds(one.name))), `${operator} ${value}`)
    }
  const plan = await planOn(service, 'names', null)
  const group = { kind: 'field', field: name } as const
  const shape = { ...rowsWith([['name', group]]), groups: [group] }
  assert.deepEqual(
    (await run(service, { ...plan, shape })).rows.map(row => row.name),
    names.toSorted(inOrder),
  )
})

test('Q20 Q22 numbers of any size are compared and added to the last digit', async t => {
  const service = await startService(t)
  const lines = ['9007199254740993', '9007199254740992', '12345678901234567890', '-5', '1']
  await importText(service, lines.map((size, id) => `{"id":${id},"size":${size},"mix":${size}}\n`).join(''), {
    entity: 'sizes',
    key: 'id',
  })
  const size = field('size', 'integer')
  const found = async (where: Condition) =>
    ids((await run(service, await planOn(service, 'sizes', where))).rows)
  assert.deepEqual(await found(compare(size, '=', number('9007199254740993'))), [0])
  assert.deepEqual(await found(compare(size, '>', number('9007199254740992'))), [0, 2])
  assert.deepEqual(await found(among(size, [number('9007199254740992'), number('1.0')])), [1, 4])
  const plan = await planOn(service, 'sizes', null)
  const shape = rowsWith([
    ['sum', aggregate('sum', size)],
    ['avg', aggregate('avg', size)],
    ['max', aggregate('max', size)],
    ['n', aggregate('count')],
  ])
  const { text: row } = await textOf(service, { ...plan, shape }, 'json')
  const sum = lines.reduce((before, line) => before + BigInt(line), 0n)
  assert.equal(row, `{"sum":${sum},"avg":${Number(sum) / 5},"max":12345678901234567890,"n":5}`)
  const none = { ...plan, shape, where: { kind: 'none' } as const }
  assert.equal((await textOf(service, none, 'json')).text, '{"sum":null,"avg":null,"max":null,"n":0}')
})

test('Q22 rows come in every format, in pieces, and as texts by a mask', async t => {
  const service = await startService(t)
  const records = Array.from({ length: 3_000 }, (_, id) => ({
    id,
    at: new Date(Date.UTC(2020, id % 12, 1 + (id % 28), 12)).toISOString(),
    note: id % 2 === 0 ? null : `a "note", ${id}`,
  }))
  await service.addRecords('notes', 'id', records)
  const month = {
    kind: 'field',
    field: { ...field('at', 'text'), computed: { kind: 'to_string', mask: 'YYYY-MM' } },
  } as const
  const note = { kind: 'field', field: field('note', 'text') } as const
  const plan = await planOn(service, 'notes', compare(field('id', 'integer'), '>=', number(10)))
  const shape: Rows = rowsWith([
    ['month', month],
    ['note', note],
  ])
  const expected = records.slice(10).map(({ at, note }) => ({ month: at.slice(0, 7), note }))
  const lines = async (wanted: Plan, format: 'json' | 'ndjson' | 'csv') =>
    (await textOf(service, wanted, format)).text
  assert.deepEqual((await run(service, { ...plan, shape })).rows, expected)
  assert.equal(await lines({ ...plan, shape }, 'ndjson'), expected.map(row => JSON.stringify(row)).join('\n'))
  const cell = (value: string | null) => (value === null ? '' : `"${value.replaceAll('"', '""')}"`)
  assert.equal(
    await lines({ ...plan, shape }, 'csv'),
    expected.map(row => `${row.month},${cell(row.note)}`).join('\r\n'),
  )
  const grouped = { ...shape, columns: shape.columns.slice(0, 1), groups: [month] }
  assert.equal(
    await lines({ ...plan, shape: grouped }, 'csv'),
    Array.from({ length: 12 }, (_, n) => `2020-${String(n + 1).padStart(2, '0')}`).join('\r\n'),
  )
  const ordered = { ...shape, order: [{ by: month, descending: true }] }
  const { rows } = await run(service, { ...plan, shape: ordered })
  assert.deepEqual(
    rows.map(row => row.month),
    expected.map(row => row.month).sort((one, other) => (one > other ? -1 : one < other ? 1 : 0)),
  )
})

test('Q21 a table and imported records take each other’s rows', async t => {
  const service = await startService(t)
  for (const email of ['ann@example.edu', 'bob@example.edu', 'cyd@example.edu'])
    await service.addEperson(email)
  await service.addRecords('loans', 'id', [
    { id: 1, by: 'ann@example.edu' },
    { id: 2, by: 'nobody@example.edu' },
    { id: 3, by: 'cyd@example.edu' },
    { id: 4, by: null },
  ])
  const epersons = await planOn(service, 'epersons', compare(field('email', 'text'), '>', text('b')))
  const inner = {
    ...epersons,
    shape: rowsWith([['email', { kind: 'field', field: field('email', 'text') }]]),
  }
  const where = (negated: boolean): Condition => ({
    kind: 'in plan',
    fields: [field('by', 'text')],
    plan: inner,
    negated,
  })
  assert.deepEqual(ids((await run(service, await planOn(service, 'loans', where(false)))).rows), [3])
  assert.deepEqual(ids((await run(service, await planOn(service, 'loans', where(true)))).rows), [1, 2])
})

test('Q10 Q18 a query whose client has gone is not run, and keeps nothing from others', async t => {
  const service = await startService(t)
  await service.addRecords('many', 'id', many)
  const where = {
    kind: 'matches',
    field: field('code', 'text'),
    expression: '7.*9$',
    negated: false,
  } as const
  const [gone, here] = [new AbortController(), new AbortController()]
  const client = ({ signal }: AbortController): Client => ({ network: 'one', signal: () => signal })
  const plan = await planOn(service, 'many', where)
  const asked = run(service, plan, client(gone))
  const same = run(service, plan, client(here))
  gone.abort(new Error('gone'))
  await assert.rejects(asked, /gone/)
  const expected = many.filter(({ code }) => /7.*9$/.test(code))
  assert.deepEqual(ids((await same).rows), ids(expected))
})
