import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity } from '../../../src/model/entities.ts'
import type { Context } from '../../../src/query/check/check.ts'
import { orderOf } from '../../../src/query/parse.ts'
import { ask, askBase, mistake, refs, things } from './known.ts'

const given = (order: string, more: Partial<Context['given']> = {}): Context['given'] => ({
  order: sortable => orderOf(JSON.stringify(order.split(' ').map(one => ({ field: one }))), sortable),
  total: false,
  ...more,
})

test('Q14 from names the entity at the query base, and has paging clauses', () => {
  const plan = askBase([
    'from',
    'things',
    ['=', 'size', 1],
    ['order_by', ['name', ['size', 'desc'], 'name']],
    ['offset', 0],
    ['limit', 5],
  ])
  assert.equal(plan.entity, things)
  assert.deepEqual(plan.shape, { kind: 'records' })
  assert.deepEqual(plan.page, {
    order: [
      { field: 'name', descending: false },
      { field: 'size', descending: true },
    ],
    offset: 0,
    limit: 5,
    total: false,
  })
  assert.equal(askBase(['from', 'things', ['limit', 5]]).where, null)
  assert.deepEqual(askBase(['from', 'things', ['order_by', []]]).page.order, [])
  assert.deepEqual(ask(['from', 'things', ['limit', 5]]), askBase(['from', 'things', ['limit', 5]]))
})

test('Q14 whole records sorted by a member of JSON are rows of all fields', () => {
  const { shape, page } = askBase(['from', 'things', ['order_by', ['data.os', 'name']]])
  assert.ok(shape.kind === 'rows')
  assert.deepEqual(
    shape.columns.map(({ name }) => name),
    things.fields.map(({ name }) => name),
  )
  assert.deepEqual(
    shape.order.map(({ by }) => by),
    [
      { kind: 'field', field: { ...refs.data, path: ['os'] } },
      { kind: 'field', field: refs.name },
    ],
  )
  assert.deepEqual(page.order, [])
})

test('Q14 parameters of the request win over clauses', () => {
  const query = ['from', 'things', ['order_by', ['name']], ['offset', 3], ['limit', 2]]
  assert.deepEqual(askBase(query, { given: given('size', { limit: 5, offset: 0, total: true }) }).page, {
    order: [{ field: 'size', descending: false }],
    offset: 0,
    limit: 5,
    total: true,
  })
  assert.deepEqual(askBase(query, { given: { limit: null, offset: undefined, total: true } }).page, {
    order: [{ field: 'name', descending: false }],
    offset: 3,
    limit: 2,
    total: true,
  })
  assert.deepEqual(askBase(query, { given: { order: () => [], total: false } }).page.order, [])
})

test('Q14 the parameter order_by is read against what can be sorted', () => {
  const sortable = (query: unknown) => {
    let seen: Pick<Entity, 'name' | 'fields'> | undefined
    const order: Context['given']['order'] = fields => {
      seen = fields
      return []
    }
    ask(query, { given: { order, total: false } })
    return seen ?? assert.fail()
  }
  const names = (query: unknown) => sortable(query).fields.map(({ name }) => name)
  const all = things.fields.map(({ name }) => name)
  // For whole records, this is the entity itself, so that orders from earlier queries are found in the cache.
  assert.equal(sortable(['=', 'size', 1]), things)
  assert.deepEqual(names(['extract', ['size', 'data.os']]), [
    'size',
    'data.os',
    ...all.filter(name => name !== 'size'),
  ])
  assert.deepEqual(names(['extract', [['function', 'count']], ['group_by', 'size']]), ['count', 'size'])
  assert.deepEqual(names(['extract', ['size'], ['distinct']]), ['size'])
  assert.deepEqual(names(['match', 'name', 'x']), [...all, 'relevance'])
  const order = [{ field: 'size', descending: false }]
  assert.equal(ask(null, { given: { order: () => order, total: false } }).page.order, order)
  const { shape } = ask(['extract', ['name', ['function', 'count']], ['group_by', 'name', 'size']], {
    given: given('count size'),
  })
  assert.deepEqual(shape.kind === 'rows' && shape.order.map(({ by }) => by), [
    1,
    { kind: 'field', field: refs.size },
  ])
})

test('Q14 wrong clauses and addresses are refused', () => {
  const table: readonly (readonly [unknown, string, RegExp])[] = [
    [null, '', /A query is required here/],
    [['=', 'name', 'x'], '', /which entity it is about/],
    [5, '', /which entity it is about/],
    [['extract', 'name'], '', /which entity it is about/],
    [['from'], '', /from names an entity/],
    [['from', 5], '/1', /name of an entity is text, not 5/],
    [['from', 'thing'], '/1', /no entity "thing"\. Did you mean "things"\? You may read/],
    [['from', 'things', 'x'], '/2', /arrays, not "x"/],
    [['from', 'things', 5], '/2', /arrays, not 5/],
    [['from', 'things', ['limit', 1], ['limit', 2]], '/3', /more than one limit/],
    [['from', 'things', ['order_by', ['name']], ['order_by', ['name']]], '/3', /more than one order_by/],
    [
      ['from', 'things', ['limit', 1], ['=', 'name', 'x']],
      '/3',
      /one query, and then the clauses limit, offset, order_by/,
    ],
    [['from', 'things', ['=', 'size', 1], ['=', 'name', 'x']], '/3', /Join conditions with and/],
    [['from', 'things', ['limit', 1], ['ofset', 1]], '/3', /Did you mean "offset"/],
    [['from', 'things', ['group_by', 'name']], '/2', /group_by is no clause of from, but of extract/],
    [['from', 'things', ['include_total', true]], '/2', /a parameter of the request/],
    [['from', 'things', ['from', 'things']], '/2/0', /from is no condition/],
    [['from', 'things', ['limit']], '/2', /limit has no argument/],
    [['from', 'things', ['limit', 1, 2]], '/2/2', /more than one argument/],
    [['from', 'things', ['limit', 0]], '/2/1', /1 or more, not 0/],
    [['from', 'things', ['limit', -1]], '/2/1', /not -1/],
    [['from', 'things', ['limit', 1.5]], '/2/1', /not 1\.5/],
    [['from', 'things', ['limit', '2']], '/2/1', /not "2"/],
    [['from', 'things', ['limit', null]], '/2/1', /not null/],
    [['from', 'things', ['limit', 2 ** 53]], '/2/1', /whole number/],
    [['from', 'things', ['offset', -1]], '/2/1', /0 or more, not -1/],
    [['from', 'things', ['offset']], '/2', /offset has no argument/],
    [['from', 'things', ['order_by']], '/2', /order_by has no argument/],
    [['from', 'things', ['order_by', 'name']], '/2/1', /takes a list, not "name"/],
    [
      ['from', 'things', ['order_by', ['name', 'desc']]],
      '/2/1/1',
      /write \["order_by", \[\["field", "desc"\]\]\]/,
    ],
    [['from', 'things', ['order_by', [5]]], '/2/1/0', /names a field or a column, not 5/],
    [['from', 'things', ['order_by', [[]]]], '/2/1/0', /a field, or a field and/],
    [['from', 'things', ['order_by', [['name', 'DESC']]]], '/2/1/0/1', /"asc" or "desc", not "DESC"/],
    [['from', 'things', ['order_by', [['name', 'up']]]], '/2/1/0/1', /not "up"/],
    [['from', 'things', ['order_by', [['name', 'asc', 1]]]], '/2/1/0/2', /a field, or a field and/],
    [['from', 'things', ['order_by', ['nam']]], '/2/1/0', /Did you mean "name"/],
    [['from', 'things', ['order_by', Array(101).fill('name')]], '/2/1', /at most 100 entries/],
    [['from', 'things', ['order_by', ['relevance']]], '/2/1/0', /need a search/],
    [['from', 'things', ['order_by', [['function', 'count']]]], '/2/1/0', /To sort by count, show it/],
    [
      [
        'from',
        'things',
        ['extract', ['name', ['function', 'count']], ['group_by', 'name']],
        ['order_by', ['size']],
      ],
      '/3/1/0',
      /"size" isn't in the result\..* Groups are sorted by name, count/,
    ],
    [
      ['from', 'things', ['extract', ['name'], ['distinct']], ['order_by', ['size']]],
      '/3/1/0',
      /Distinct rows are sorted by name/,
    ],
    [
      [
        'from',
        'things',
        ['extract', [['function', 'count']], ['group_by', 'name']],
        ['order_by', [['function', 'max', 'size']]],
      ],
      '/3/1/0',
      /To sort by max, show it/,
    ],
  ]
  for (const [query, pointer, message] of table) {
    const found = mistake(() => askBase(query))
    const what = `${JSON.stringify(query)}: ${found.message}`
    assert.deepEqual(found.at, { pointer }, what)
    assert.match(found.message, message, what)
  }
  const other = mistake(() => ask(['from', 'nodes']))
  assert.deepEqual(other.at, { pointer: '/1' })
  assert.match(other.message, /This address lists things/)
})
