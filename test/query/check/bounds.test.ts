import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../../src/query/check/check.ts'
import type { Node } from '../../../src/query/language/node.ts'
import { ask, entity, known, mayRead, mistake, things } from './known.ts'

test('Q26 a query has at most 1,000 comparisons', () => {
  const comparisons = (count: number) => [
    'or',
    ...Array.from({ length: count }, (_, at) => ['>', 'size', at]),
  ]
  assert.ok(ask(comparisons(1_000)))
  const { message, at } = mistake(() => ask(comparisons(1_001)))
  assert.match(message, /at most 1,000 comparisons/)
  assert.deepEqual(at, { pointer: '/1001' })
  const lists = ['in', ['name', 'size'], ['array', Array(501).fill(['x', 1])]]
  assert.match(mistake(() => ask(lists)).message, /at most 1,000 comparisons/)
})

test('Q26 subqueries are nested at most 10 deep', () => {
  const nested = (depth: number): unknown =>
    depth === 0 ? ['=', 'name', 'x'] : ['subquery', 'facts', nested(depth - 1)]
  assert.ok(ask(nested(10), { entity: 'facts' }))
  const { message, at } = mistake(() => ask(nested(11), { entity: 'facts' }))
  assert.match(message, /nested at most 10 deep/)
  assert.deepEqual(at, { pointer: '/2'.repeat(10) })
})

test('Q26 a query has at most 100 subqueries, side by side and in each other', () => {
  const many = (count: number) => ['or', ...Array(count).fill(['subquery', 'facts', ['=', 'name', 'x']])]
  assert.ok(ask(many(100), { entity: 'facts' }))
  assert.match(mistake(() => ask(many(101), { entity: 'facts' })).message, /at most 100 subqueries/)
})

test('Q26 what is compared group by group, and values of JSON, have lower bounds', () => {
  const having = (count: number) => [
    'extract',
    [['function', 'count']],
    ['having', ['in', 'count', ['array', Array.from({ length: count }, (_, n) => n)]]],
  ]
  assert.ok(ask(having(1_000)))
  assert.match(mistake(() => ask(having(1_001))).message, /at most 1,000 values/)
  const json = (length: number) => ['=', 'data', ['x'.repeat(length - 4)]]
  assert.ok(ask(json(10_000)))
  assert.match(mistake(() => ask(json(10_001))).message, /at most 10,000 characters/)
})

test('Q26 in takes at most 50,000 values', () => {
  const at = { pointer: '' }
  const text = (value: string): Node => ({ kind: 'text', text: value, at })
  const list = (items: readonly Node[]): Node => ({ kind: 'array', items, at })
  const values = (count: number) =>
    list([
      text('in'),
      text('name'),
      list([text('array'), list(Array.from({ length: count }, (_, n) => text(`${n}`)))]),
    ])
  const context = { entities: known, mayRead, entity: things, given: { total: false } }
  const { where } = check(values(50_000), context)
  assert.equal(where?.kind === 'in' && where.values.length, 50_000)
  assert.match(mistake(() => check(values(50_001), context)).message, /at most 50,000 values/)
})

test('Q26 columns, groups and the fields of a subquery have bounds', () => {
  const many = (count: number) => Array<string>(count).fill('name')
  assert.match(mistake(() => ask(['extract', many(1_001)])).message, /at most 1,000 columns/)
  assert.ok(ask(['extract', many(10)]))
  assert.match(mistake(() => ask(['extract', many(11)])).message, /"name" is shown more than 10 times/)
  const functions = Array.from({ length: 101 }, (_, n) => ['function', 'sum', `data.x${n}`])
  assert.ok(ask(['extract', functions.slice(1)]))
  assert.match(mistake(() => ask(['extract', functions])).message, /at most 100 functions/)
  assert.match(
    mistake(() => ask(['extract', 'name', ['group_by', ...many(101)]])).message,
    /at most 100 fields/,
  )
  assert.match(mistake(() => ask(['in', many(101), ['array', []]])).message, /1 to 100 fields/)
  assert.match(
    mistake(() => ask(['in', 'name', ['from', 'facts', ['extract', many(101)]]])).message,
    /at most 100 fields/,
  )
  assert.match(mistake(() => ask(['~>', 'data', many(101)])).message, /at most 100 elements/)
})

test('Q26 expressions and searches have bounds', () => {
  const expressions = (count: number) => [
    'or',
    ...Array.from({ length: count }, (_, at) => ['~', 'name', `${at}`]),
  ]
  assert.ok(ask(expressions(100)))
  assert.match(mistake(() => ask(expressions(101))).message, /at most 100 expressions/)
  const long = (count: number) => [
    'or',
    ...Array.from({ length: count }, (_, at) => ['~', 'name', `${at}`.padStart(1_000, 'x')]),
  ]
  assert.ok(ask(long(20)))
  assert.match(mistake(() => ask(long(21))).message, /20,000 characters altogether/)
  assert.match(mistake(() => ask(['match', 'name', 'x'.repeat(1_001)])).message, /at most 1,000 characters/)
})

test('Q26 the deepest query that can be read is checked', () => {
  let query: unknown = ['=', 'size', 1]
  for (let depth = 1; depth < 99; depth++)
    query = depth % 3 ? ['not', query] : ['and', query, ['>', 'size', depth]]
  assert.ok(ask(query).where)
  const json = JSON.parse(`${'['.repeat(98)}${']'.repeat(98)}`) as unknown
  assert.ok(ask(['=', 'data', json]).where)
})

test('Q14 an error lists at most 50 names, and shortens what was written', () => {
  const wide = entity(
    'wide',
    Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`field_${at}`, 'text'])),
  )
  const entities = new Map([[wide.name, wide]])
  const { message, members } = mistake(() => ask(['=', 'x'.repeat(100_000), 1], { entity: 'wide', entities }))
  assert.ok(message.length < 2_000)
  assert.equal((members.legal as readonly string[]).length, 51)
  for (const query of [
    ['~', 'data', '('.repeat(100_000)],
    ['y'.repeat(100_000)],
    ['subquery', 'z'.repeat(100_000)],
    ['extract', [['function', 'z'.repeat(100_000)]]],
    ['=', 'made', 'z'.repeat(100_000)],
    ['=', `data.${'z'.repeat(100_000)}`, 1],
    ['match', 'name', '.'.repeat(100_000)],
  ])
    assert.ok(mistake(() => ask(query)).message.length < 1_500, JSON.stringify(query).slice(0, 30))
})
