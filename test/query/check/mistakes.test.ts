import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../../src/query/check/check.ts'
import { readAst } from '../../../src/query/language/read-ast.ts'
import { ask, askBase, entity, known, mayRead, mistake, things, where } from './known.ts'

/**
 * A query, the place of the mistake in it, an expression for the message, and the nearest legal value if
 * there is one.
 */
type Mistake = readonly [query: unknown, pointer: string, message: RegExp, nearest?: string]

function refuse(table: readonly Mistake[], run: (query: unknown) => unknown = where): void {
  for (const [query, pointer, message, nearest] of table) {
    const found = mistake(() => run(query))
    const what = `${JSON.stringify(query)}: ${found.message}`
    assert.deepEqual(found.at, { pointer }, what)
    assert.match(found.message, message, what)
    assert.match(found.message, /[.?]$/, what)
    assert.equal(found.members.nearest, nearest, what)
  }
}

test('Q14 a condition is an array that begins with an operator', () => {
  refuse([
    [5, '', /an array that begins with an operator.*not 5/],
    ['x', '', /not "x"/],
    [{ a: 1 }, '', /not an object/],
    [true, '', /not true/],
    [[], '', /begins with an operator/],
    [[5, 'name', 'x'], '/0', /operator is text, not 5/],
    [[['=', 'name', 'x']], '/0', /not an array/],
    [['and', []], '/1', /\[\] is no condition/],
    [['and', ['=', 'name', 'x'], 5], '/2', /not 5/],
    [['or', 'name'], '/1', /not "name"/],
    [['not', 'x'], '/1', /not "x"/],
    [['and'], '', /and takes at least one argument/],
    [['or', ['or']], '/1', /or takes at least one argument/],
    [['not'], '', /not takes exactly one argument, but 0 were given/],
    [['not', ['=', 'name', 'x'], ['=', 'name', 'y']], '', /but 2 were given/],
    [['and', ['not', ['not']]], '/1/1', /exactly one argument/],
  ])
})

test('Q14 an unknown operator is answered with what was meant', () => {
  refuse([
    [['!=', 'size', 1], '/0', /\["not", \["=", field, value\]\]/, 'not'],
    [['<>', 'size', 1], '/0', /Write \["not"/, 'not'],
    [['==', 'size', 1], '/0', /Write \["="/, '='],
    [['like', 'name', 'x'], '/0', /Write \["~"/, '~'],
    [['LIKE', 'name', 'x'], '/0', /Write \["~"/, '~'],
    [['!~', 'name', 'x'], '/0', /\["not", \["~"/, 'not'],
    [['~*', 'name', 'x'], '/0', /\(\?i\)/, '~'],
    [['AND', ['=', 'size', 1]], '/0', /Did you mean "and"/, 'and'],
    [['nul?', 'name', true], '/0', /Did you mean "null\?"/, 'null?'],
    [['and', ['=>', 'size', 1]], '/1/0', /Did you mean/, '='],
    [['toString', 'name', 1], '/0', /no operator "toString"/],
    [['__proto__', 'name', 1], '/0', /no operator/],
    [['and', ['extract', 'name']], '/1/0', /extract is no condition/],
    [['limit', 5], '/0', /limit is no condition, but a clause.*"from"/],
    [['and', ['group_by', 'name']], '/1/0', /a clause.*"extract"/],
    [['not', ['from', 'things']], '/1/0', /from is no condition/],
  ])
  assert.deepEqual(mistake(() => where(['xyzzy', 1])).members.legal, [
    '=',
    '<',
    '<=',
    '>',
    '>=',
    '~',
    '~>',
    'null?',
    'in',
    'subquery',
    'match',
    'and',
    'or',
    'not',
  ])
})

test('Q14 an unknown field is answered with those that there are', () => {
  refuse([
    [
      ['=', 'nam', 'x'],
      '/1',
      /things has no field "nam"\. Did you mean "name"\? Its fields are name, size/,
      'name',
    ],
    [['and', ['=', 'name', 'x'], ['not', ['<', 'sise', 1]]], '/2/1/1', /Did you mean "size"/, 'size'],
    [['=', 5, 5], '/1', /name of a field is text, not 5/],
    [['=', ['function', 'count'], 5], '/1', /A condition has no function but/],
    [['=', ['node', 'active'], true], '/1', /no \["node", "active"\]/],
    [['=', ['name', 'size'], true], '/1', /takes one field/],
    [['=', ['parameter', 'x'], true], '/1', /needs a field "parameters"/],
    [['=', 'node_state', 'active'], '/1', /no field "node_state"/],
    [['=', 'latest_report?', true], '/1', /no field "latest_report\?"/],
    [['=', 'name.x', 'y'], '/1', /"name" has no members, because it is text/],
    [['=', 'size[0]', 'y'], '/1', /"size" has no members, because it is a whole number/],
    [['=', 'data.', 'y'], '/1', /a part of the path is empty/],
    [['=', 'data..x', 'y'], '/1', /a part of the path is empty/],
    [['=', 'data[x]', 'y'], '/1', /whole number in brackets/],
    [['=', 'data[0]x', 'y'], '/1', /whole number in brackets/],
    [['=', 'data."x', 'y'], '/1', /in quotes has no end/],
    [['=', 'data.match("x").y', 'y'], '/1', /match\(…\)/],
    [['=', `data${'.x'.repeat(101)}`, 'y'], '/1', /at most 100 parts/],
    [['null?', 'other', true], '/1', /no field "other"/],
    [['in', 'other', ['array', [1]]], '/1', /no field "other"/],
    [['in', ['name', 'other'], ['array', [[1, 2]]]], '/1/1', /no field "other"/],
    [['match', ['name', 'other'], 'x'], '/1/1', /no field "other"/],
  ])
  assert.deepEqual(mistake(() => where(['=', 'nam', 'x'])).members.legal, [
    'name',
    'size',
    'weight',
    'good',
    'made',
    'data',
    'tags',
    'data.x',
  ])
})

test('Q20 a value of another type than its field is refused, with what to write', () => {
  refuse([
    [['=', 'name', 5], '/2', /"name" is text, and 5 isn't: write "5", in quotes/],
    [['=', 'name', true], '/2', /write "true", in quotes/],
    [['=', 'name', ['x']], '/2', /write a text/],
    [['=', 'size', '5'], '/2', /write 5, without quotes/],
    [['>', 'weight', 'much'], '/2', /"weight" is a number, and "much" isn't: write a number/],
    [['=', 'size', true], '/2', /write a number/],
    [['=', 'good', 'true'], '/2', /write true or false, without quotes/],
    [['=', 'good', 1], '/2', /write true or false/],
    [['>', 'good', true], '/1', /can't compare "good", which is true or false/],
    [['~', 'size', '5'], '/1', /~ matches text, and "size" is a whole number/],
    [['~', 'made', '2026'], '/1', /"made" is a date-time/],
    [['~', 'name', 5], '/2', /expression as text, not 5/],
    [['~', 'name', null], '/2', /not null/],
    [['~', 'name', '('], '/2', /can't be used: .*RE2/],
    [['~', 'name', 'a\b'], '/2', /has a backspace.*edge of a word/],
    [['~', 'name', '(?=x)'], '/2', /can't be used/],
    [['~', 'name', 'x'.repeat(1_001)], '/2', /1,?000 characters/],
    [['~>', 'name', ['x']], '/1', /~> matches arrays/],
    [['~>', 'data', 'x'], '/2', /list of expressions/],
    [['~>', 'data', ['x', -1]], '/2/1', /-1 has no place here/],
    [['~>', 'data', ['x', '(']], '/2/1', /can't be used/],
    [['>', 'data', 'x'], '/2', /> compares JSON with numbers, and "x" is none/],
    [['<', 'data', null], '/2', /null is none/],
    [['<', 'made', null], '/2', /Nothing compares with null/],
    [['=', 'made', 'yesterday'], '/2', /"made" is a date-time, and "yesterday" isn't: write a date such as/],
    [['=', 'made', ''], '/2', /write a date/],
    [['=', 'made', true], '/2', /write a date/],
    [['in', 'made', ['array', ['2026', '2026-13-01']]], '/2/1/1', /"2026-13-01" isn't/],
    [['in', 'name', ['array', ['x', null]]], '/2/1/1', /Nothing compares with null/],
    [['in', 'name', ['array', ['x', ['y']]]], '/2/1/1', /write a text/],
    [['in', 'good', ['array', ['true']]], '/2/1/0', /without quotes/],
    [['in', 'size', ['array', [1, '2']]], '/2/1/1', /write 2, without quotes/],
    [['null?', 'name', 'true'], '/2', /true or false, not "true"/],
    [['null?', 'name', null], '/2', /not null/],
    [['null?', 'name', 1], '/2', /not 1/],
    [['=', 'name', '\ud800'], '/2', /surrogate/],
    [['=', 'data', { a: ['\udc00'] }], '/2/a/0', /surrogate/],
    [['match', 'name', '...'], '/2', /no word/],
    [['match', 'name', 5], '/2', /not 5/],
    [['match', 'size', 'x'], '/1', /match looks in text and JSON, and "size" is/],
    [['match', 'name', Array.from({ length: 51 }, (_, at) => `w${at}`).join(' ')], '/2', /at most 50 words/],
    [['match', [], 'x'], '/1', /1 to 100 fields/],
  ])
})

test('Q14 operators have so many arguments, and no other number', () => {
  refuse([
    [['='], '', /= takes exactly two arguments, but 0 were given/],
    [['=', 'name'], '', /but 1 was given\. Write \["=", field, value\]/],
    [['=', 'name', 'x', 'y'], '', /but 3 were given/],
    [['<', 'size'], '', /exactly two/],
    [['~', 'name'], '', /exactly two/],
    [['null?', 'name'], '', /Write \["null\?", field, true\]/],
    [['in', 'name'], '', /exactly two/],
    [['match', 'name'], '', /exactly two/],
    [['~>', 'data'], '', /exactly two/],
    [['subquery'], '', /an entity and a condition/],
    [['and', ['subquery', 'facts', ['=', 'name', 'x'], 5]], '/1/3', /an entity and a condition/],
  ])
})

test('Q20 a number or a text that no database takes is refused', () => {
  const tooLarge = readAst('["=", "size", 1e1001]')
  const context = { entities: known, mayRead, entity: things, given: { total: false } }
  assert.match(mistake(() => check(tooLarge, context)).message, /1e1001 has more than 1,000 digits/)
  // Imported records may contain NUL.
  assert.ok(where(['=', 'name', 'a\0b']))
  const stored = entity(
    'stored',
    { name: 'text' },
    { source: { kind: 'table', table: 'stored', rows: 'all' } },
  )
  const entities = new Map([[stored.name, stored]])
  for (const query of [
    ['=', 'name', 'a\0b'],
    ['~', 'name', 'a\0b'],
    ['match', 'name', 'a\0b'],
  ])
    assert.match(mistake(() => ask(query, { entity: 'stored', entities })).message, /U\+0000/)
})

test('Q21 in takes an array or a subquery', () => {
  refuse([
    [['in', 'name', 'x'], '/2', /second argument of in is "x"/],
    [['in', 'name', ['x', 'y']], '/2', /in has no "x"/],
    [['in', 'name', [1, 2]], '/2', /second argument of in is an array/],
    [['in', 'name', []], '/2', /is an array/],
    [['in', 'name', ['array', 'x']], '/2/1', /array takes one list/],
    [['in', 'name', ['array']], '/2', /array takes one list/],
    [['in', 'name', ['array', ['x'], ['y']]], '/2/2', /array takes one list/],
    [['in', 'name', ['aray', ['x']]], '/2', /Did you mean "array"/, 'array'],
    [['in', 'name', ['select_facts', ['=', 'name', 'x']]], '/2', /stands in \["extract"/],
    [['in', [], ['array', ['x']]], '/1', /1 to 100 fields/],
    [['in', ['name', 'size'], ['array', ['x']]], '/2/1/0', /each value is a list of 2/],
    [['in', ['name', 'size'], ['array', [['x', 1], ['y']]]], '/2/1/1', /each value is a list of 2/],
    [['in', ['name', 'size'], ['array', [['x', 'y']]]], '/2/1/0/1', /write a number/],
    [['in', 'name', ['extract', 'name']], '/2', /takes fields and a subquery/],
    [['in', 'name', ['extract', 'name', ['=', 'name', 'x']]], '/2/2', /takes fields and a subquery/],
    [
      ['in', 'name', ['extract', 'name', ['select_facts', ['=', 'name', 'x'], ['=', 'name', 'y']]]],
      '/2/2/2',
      /one condition/,
    ],
    [['in', 'name', ['from', 'facts']], '/2', /by which fields/],
    [['in', 'name', ['from', 'facts', ['=', 'name', 'x']]], '/2/2', /by which fields/],
    [
      ['in', 'name', ['from', 'facts', ['extract', ['name', 'value']]]],
      '/2/2',
      /1 field is compared with 2 of facts/,
    ],
    [
      ['in', ['name', 'size'], ['from', 'facts', ['extract', 'name']]],
      '/2/2',
      /2 fields are compared with 1/,
    ],
    [['in', 'name', ['from', 'facts', ['extract', 'nam']]], '/2/2/1', /facts has no field "nam"/, 'name'],
    [['in', 'size', ['from', 'facts', ['extract', 'name']]], '/2/2', /can't be compared/],
    [['in', 'made', ['from', 'facts', ['extract', 'value']]], '/2/2', /can't be compared/],
    [
      ['in', 'name', ['from', 'facts', ['extract', [['function', 'max', 'name']]]]],
      '/2/2/1/0',
      /without functions/,
    ],
    [['in', 'name', ['from', 'facts', ['extract', 'name', ['group_by', 'name']]]], '/2/2/2', /no group_by/],
    [
      ['in', 'name', ['from', 'facts', ['extract', 'name', ['=', 'other', 'x']]]],
      '/2/2/2/1',
      /facts has no field "other"/,
    ],
    [['in', 'name', ['from', 'facts', ['extract', 'name'], ['limit', 0]]], '/2/3/1', /1 or more, not 0/],
    [
      ['in', 'name', ['from', 'facts', ['extract', 'name'], ['order_by', ['nam']]]],
      '/2/3/1/0',
      /no field "nam"/,
      'name',
    ],
    [
      ['in', 'name', ['extract', 'name', ['select_fact', ['=', 'name', 'x']]]],
      '/2/2/0',
      /no entity "fact"/,
      'facts',
    ],
  ])
})

test('Q21 subqueries are about entities that are related', () => {
  refuse([
    [
      ['subquery', 'facts', ['=', 'name', 'x']],
      '/1',
      /things has no relation to facts\. It has relations to: none/,
    ],
    [['subquery', 5, ['=', 'name', 'x']], '/1', /name of an entity is text/],
    [['=', ['fact', 'os'], 'x'], '/1', /no relation to facts/],
  ])
  const onNodes = (query: unknown) => ask(query, { entity: 'nodes' })
  refuse(
    [
      [['subquery', 'artists', ['=', 'name', 'x']], '/1', /It has relations to: nodes, facts, resources/],
      [['subquery', 'facts', ['=', 'nam', 'x']], '/2/1', /facts has no field "nam"/, 'name'],
      [['subquery', 'facts', ['extract', 'name']], '/2/0', /extract is no condition/],
      [['=', ['fact'], 'x'], '/1', /named by one text/],
      [['=', ['fact', 5], 'x'], '/1/1', /not by 5/],
      [['=', ['fact', 'os', 'x'], 'x'], '/1/2', /named by one text/],
      [['=', ['fact', 'os']], '', /exactly two/],
      [['null?', ['fact', 'os'], true], '', /can't be asked with "null\?"/],
      [['>', ['fact', 'os'], 'x'], '/2', /compares JSON with numbers/],
    ],
    onNodes,
  )
})

test('Q21 an entity that the caller may not read is as unknown as one that does not exist', () => {
  for (const query of [
    (name: string) => ['subquery', name, ['=', 'word', 'x']],
    (name: string) => ['in', 'certname', ['from', name, ['extract', 'word']]],
    (name: string) => ['in', 'certname', ['extract', 'word', [`select_${name}`]]],
  ]) {
    const [hidden, missing] = ['secrets', 'sekrets'].map(name =>
      mistake(() => ask(query(name), { entity: 'nodes' })),
    )
    assert.equal(hidden?.message.replaceAll('secrets', 'sekrets'), missing?.message)
    assert.deepEqual({ ...hidden, message: '' }, { ...missing, message: '' })
    assert.match(missing?.message ?? '', /There is no entity "sekrets"\. You may read things, /)
  }
  assert.deepEqual(mistake(() => askBase(['from', 'secrets'])).at, { pointer: '/1' })
})
