import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FieldRef, Rows, Scalar } from '../../../src/model/plan.ts'
import { ask, askBase, mistake, refs, things } from './known.ts'

const rowsOf = (query: unknown, entity = 'things'): Rows => {
  const { shape } = ask(query, { entity })
  return shape.kind === 'rows' ? shape : assert.fail('whole records')
}
const names = (query: unknown, entity?: string) => rowsOf(query, entity).columns.map(({ name }) => name)
const yearOf = (field: FieldRef): Scalar => ({
  kind: 'field',
  field: { ...field, type: 'text', computed: { kind: 'to_string', mask: 'YYYY' } },
})
const fn = (...args: readonly unknown[]) => ['function', ...args]

test('Q22 extract shows fields, members of JSON, or all of it', () => {
  assert.deepEqual(rowsOf(['extract', ['size', 'data.os'], ['=', 'name', 'x']]), {
    kind: 'rows',
    columns: [
      { name: 'size', value: { kind: 'field', field: refs.size }, type: 'integer' },
      { name: 'data.os', value: { kind: 'field', field: { ...refs.data, path: ['os'] } }, type: 'json' },
    ],
    groups: null,
    having: null,
    distinct: false,
    order: [],
  })
  assert.deepEqual(names(['extract', 'name']), ['name'])
  assert.deepEqual(names(['extract', fn('count')]), ['count'])
  assert.deepEqual(ask(['extract', [], ['=', 'name', 'x']]), ask(['=', 'name', 'x']))
  assert.deepEqual(
    names(['extract', [], ['distinct']]),
    things.fields.map(({ name }) => name),
  )
})

test('Q22 columns of one name are numbered', () => {
  assert.deepEqual(names(['extract', ['name', 'name', 'name']]), ['name', 'name_2', 'name_3'])
  assert.deepEqual(names(['extract', [fn('count'), fn('count', 'name'), fn('max', 'size')]]), [
    'count',
    'count_2',
    'max',
  ])
  assert.deepEqual(names(['extract', ['count', fn('count')], ['group_by', 'count']], 'counted'), [
    'count',
    'count_2',
  ])
})

test('Q22 functions have types', () => {
  const types = (call: readonly unknown[]) =>
    rowsOf(['extract', [call], ['match', '*', 'x']]).columns[0]?.type
  const table: readonly (readonly [readonly unknown[], string])[] = [
    [fn('count'), 'integer'],
    [fn('count', 'data.x'), 'integer'],
    [fn('count_distinct', 'name'), 'integer'],
    [fn('avg', 'size'), 'number'],
    [fn('sum', 'size'), 'integer'],
    [fn('sum', 'weight'), 'number'],
    [fn('sum', 'data'), 'number'],
    [fn('min', 'made'), 'date-time'],
    [fn('max', 'name'), 'text'],
    [fn('max', 'data.size'), 'number'],
    [fn('to_string', 'made', 'YYYY'), 'text'],
    [fn('highlight', 'name'), 'text'],
    [fn('relevance'), 'number'],
  ]
  for (const [call, type] of table) assert.equal(types(call), type, JSON.stringify(call))
})

test('Q22 group_by makes a row of many records, having filters them, and both may be sorted', () => {
  const plan = askBase([
    'from',
    'things',
    [
      'extract',
      [fn('count'), fn('to_string', 'made', 'YYYY')],
      ['=', 'good', true],
      ['group_by', fn('to_string', 'made', 'YYYY'), 'name', 'name'],
      ['having', ['>', 'count', 5]],
      ['distinct'],
    ],
    ['order_by', [['count', 'desc'], fn('to_string', 'made', 'YYYY')]],
    ['limit', 3],
  ])
  const year = yearOf(refs.made)
  assert.deepEqual(plan.shape, {
    kind: 'rows',
    columns: [
      { name: 'count', value: { kind: 'aggregate', name: 'count', field: null }, type: 'integer' },
      { name: 'to_string', value: year, type: 'text' },
    ],
    groups: [year, { kind: 'field', field: refs.name }],
    having: {
      kind: 'compare',
      field: { name: 'count', path: [], type: 'integer' },
      operator: '>',
      value: { kind: 'number', text: '5' },
      negated: false,
    },
    distinct: true,
    order: [
      { by: 0, descending: true },
      { by: 1, descending: false },
    ],
  })
  assert.equal(plan.page.limit, 3)
})

test('Q22 rows are sorted by columns, by what is not shown, and by groups', () => {
  const order = (extract: unknown, by: unknown) => {
    const { shape } = askBase(['from', 'things', extract, ['order_by', by]])
    return shape.kind === 'rows' ? shape.order.map(one => one.by) : assert.fail()
  }
  const size = { kind: 'field', field: refs.size }
  assert.deepEqual(order(['extract', ['name', 'data.x.y']], ['data.x.y', 'size', 'name', 'size']), [
    1,
    size,
    0,
  ])
  assert.deepEqual(order(['extract', [fn('count')], ['group_by', 'size']], ['size', fn('count')]), [size, 0])
  assert.deepEqual(order(['extract', ['name'], ['distinct']], ['name']), [0])
  assert.deepEqual(order(['extract', ['name']], [fn('to_string', 'made', 'YYYY')]), [yearOf(refs.made)])
})

test('Q27 a search can be sorted by relevance, and its words marked', () => {
  const words = [
    { words: ['sea'], prefix: true },
    { words: ['storm'], prefix: false },
  ]
  const search = [
    'and',
    ['match', 'name', 'sea*'],
    ['match', 'data.x', 'storm'],
    ['not', ['match', 'name', 'calm']],
  ]
  const { shape } = askBase(['from', 'things', ['extract', [fn('highlight', 'name')], search]])
  const [mark] = shape.kind === 'rows' ? shape.columns : []
  assert.deepEqual(mark?.value, { kind: 'highlight', field: refs.name, words })
  const sorted = askBase(['from', 'things', search, ['order_by', [['relevance', 'desc']]]])
  assert.ok(sorted.shape.kind === 'rows')
  assert.equal(sorted.shape.columns.length, things.fields.length)
  const fields = [refs.name, { name: 'data.x', path: [], type: 'text' }]
  assert.deepEqual(sorted.shape.order, [{ by: { kind: 'relevance', fields, words }, descending: true }])
  // A field of that name takes precedence.
  assert.deepEqual(askBase(['from', 'counted', ['order_by', ['relevance']]]).page.order, [
    { field: 'relevance', descending: false },
  ])
})

test('Q22 a wrong extract is refused', () => {
  const table: readonly (readonly [unknown, string, RegExp])[] = [
    [['extract'], '', /extract names what is shown/],
    [['extract', 5], '/1', /A column is the name of a field/],
    [['extract', ['nam']], '/1/0', /Did you mean "name"/],
    [['extract', [['=', 'name', 'x']]], '/1/0', /not "="/],
    [['extract', [[]]], '/1/0', /not an array/],
    [['extract', ['name'], 'x'], '/2', /arrays, not "x"/],
    [['extract', ['name'], null], '/2', /not null/],
    [['extract', ['name'], ['=', 'name', 'x'], ['=', 'size', 1]], '/3', /Join conditions with and/],
    [['extract', ['name'], ['distinct'], ['=', 'size', 1]], '/3', /one query, and then the clauses/],
    [['extract', ['name'], ['distinct'], ['groupby', 'size']], '/3', /Did you mean "group_by"/],
    [['extract', ['name'], ['limit', 1]], '/2', /limit is no clause of extract, but of from/],
    [['extract', ['name'], ['distinct'], ['distinct']], '/3', /more than one distinct/],
    [['extract', ['name'], ['distinct', 'name']], '/2', /distinct takes no arguments/],
    [['extract', ['name'], ['group_by']], '/2', /group_by names fields/],
    [['extract', ['name'], ['group_by', 5]], '/2/1', /not 5/],
    [['extract', ['name'], ['group_by', 'nam']], '/2/1', /no field "nam"/],
    [['extract', ['name'], ['group_by', ['name', 'size']]], '/2/1', /grouped by the name/],
    [['extract', [fn('count')], ['group_by', fn('count')]], '/2/1', /can't be grouped by count/],
    [['extract', [fn('count')], ['group_by', 'count']], '/2/1', /no field "count"/],
    [['extract', ['name', fn('count')]], '/1/0', /"name" is shown beside.*add it to group_by/],
    [['extract', ['name', fn('count'), 'size'], ['group_by', 'name']], '/1/2', /"size" is shown beside/],
    [
      ['extract', [fn('to_string', 'made', 'YY')], ['group_by', fn('to_string', 'made', 'YYYY')]],
      '/1/0',
      /add it to group_by/,
    ],
    [['extract', ['name'], ['having', ['=', 'name', 'x']]], '/2', /there are none: add group_by/],
    [['extract', [fn('count')], ['having']], '/2', /having has no argument/],
    [['extract', [fn('count')], ['having', 5]], '/2/1', /takes a condition, not 5/],
    [
      ['extract', [fn('count')], ['having', ['=', 'size', 5]]],
      '/2/1/1',
      /The result has no field "size"\. Its fields are count/,
    ],
    [['extract', [fn('count')], ['having', ['=', 'count', 'x']]], '/2/1/2', /write a number/],
    [['extract', [fn('count')], ['having', ['=', fn('count'), 1]]], '/2/1/1', /by the name of their column/],
    [['extract', [fn('max', 'name')], ['having', ['match', 'max', 'x']]], '/2/1', /having can't search/],
    [
      ['extract', [fn('max', 'name')], ['having', ['in', 'max', ['from', 'facts', ['extract', 'name']]]]],
      '/2/1/2',
      /having can't have subqueries/,
    ],
    [
      ['extract', [fn('max', 'name')], ['having', ['subquery', 'facts', ['=', 'name', 'x']]]],
      '/2/1',
      /having can't have subqueries/,
    ],
    [['extract', [fn()]], '/1/0', /A function has a name/],
    [['extract', [fn(5)]], '/1/0/1', /A function has a name/],
    [['extract', [fn('mode', 'size')]], '/1/0/1', /no function "mode"/],
    [['extract', [fn('cuont')]], '/1/0/1', /Did you mean "count"/],
    [['extract', [fn('count', 'name', 'size')]], '/1/0/3', /count takes one field/],
    [['extract', [fn('count', 'nam')]], '/1/0/2', /no field "nam"/],
    [['extract', [fn('avg')]], '/1/0', /avg takes one field/],
    [['extract', [fn('avg', 'name')]], '/1/0/2', /avg can't be made of "name", which is text/],
    [['extract', [fn('sum', 'made')]], '/1/0/2', /date-time/],
    [['extract', [fn('max', 'good')]], '/1/0/2', /true or false/],
    [['extract', [fn('to_string', 'made')]], '/1/0', /a field and a mask/],
    [['extract', [fn('to_string', 'made', '')]], '/1/0/3', /at least one character/],
    [['extract', [fn('to_string', 'made', 'Y'.repeat(201))]], '/1/0/3', /at most 200 characters/],
    [['extract', [fn('to_string', 'made', 5)]], '/1/0/3', /A mask is text.*not 5/],
    [['extract', [fn('to_string', 'made', 'TMDay')]], '/1/0/3', /TM depends on the language/],
    [['extract', [fn('to_string', 'name', 'YYYY')]], '/1/0/2', /which is text/],
    [['extract', [fn('highlight', 'name')]], '/1/0', /need a search/],
    [
      ['extract', [fn('relevance')], ['match', 'name', 'x'], ['distinct']],
      '/1/0',
      /known of single records only/,
    ],
    [
      ['extract', [fn('count')], ['match', 'name', 'x'], ['group_by', fn('relevance')]],
      '/3/1',
      /grouped by relevance/,
    ],
    [['extract', [fn('relevance')], ['not', ['match', 'name', 'x']]], '/1/0', /need a search/],
  ]
  for (const [query, pointer, message] of table) {
    const found = mistake(() => ask(query))
    const what = `${JSON.stringify(query)}: ${found.message}`
    assert.deepEqual(found.at, { pointer }, what)
    assert.match(found.message, message, what)
  }
})

test('Q22 values without an order are neither compared by order nor sorted', () => {
  const table: readonly (readonly [unknown, RegExp])[] = [
    [['from', 'unordered', ['<', 'place', 'x']], /"place", which has values without an order/],
    [['from', 'unordered', ['order_by', ['place']]], /"place" have no order/],
    [['from', 'unordered', ['order_by', ['shape.x']]], /"shape" have no order/],
    [['from', 'unordered', ['extract', ['place']], ['order_by', ['place']]], /"place" have no order/],
    [['from', 'unordered', ['extract', [fn('max', 'place')]]], /max needs an order/],
    [
      ['from', 'unordered', ['extract', [fn('count')], ['group_by', 'place']], ['order_by', ['place']]],
      /"place" have no order/,
    ],
  ]
  for (const [query, message] of table)
    assert.match(mistake(() => askBase(query)).message, message, JSON.stringify(query))
  assert.ok(askBase(['from', 'unordered', ['and', ['=', 'place', 'x'], ['>', 'shape.x', 1]]]))
})
