import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../../src/query/check/check.ts'
import { QueryError } from '../../../src/query/language/node.ts'
import { readAst } from '../../../src/query/language/read-ast.ts'
import { ask, entity, mistake, refs, where } from './known.ts'

const text = (value: string) => ({ kind: 'text', text: value }) as const
const number = (value: string) => ({ kind: 'number', text: value }) as const
const compare = (field: unknown, operator: string, value: unknown, negated = false) => ({
  kind: 'compare',
  field,
  operator,
  value,
  negated,
})
const member = (...path: readonly (string | number)[]) => ({ name: 'data', path, type: 'json' })

test('Q20 comparisons become leaves with constants of the type of their field', () => {
  const table: readonly (readonly [unknown, unknown])[] = [
    [['=', 'name', 'x'], compare(refs.name, '=', text('x'))],
    [['<', 'name', 'x'], compare(refs.name, '<', text('x'))],
    [['=', 'size', 1.5], compare(refs.size, '=', number('1.5'))],
    [['>=', 'weight', 5], compare(refs.weight, '>=', number('5'))],
    [['=', 'good', true], compare(refs.good, '=', { kind: 'boolean', value: true })],
    [['<', 'made', '2026'], compare(refs.made, '<', { kind: 'instant', text: '2026-01-01T00:00:00Z' })],
    [['>', 'made', 1500], compare(refs.made, '>', { kind: 'instant', text: '1970-01-01T00:00:01.5Z' })],
    [['=', 'data', 'x'], compare(refs.data, '=', text('x'))],
    [['=', 'data', 1], compare(refs.data, '=', number('1'))],
    [['=', 'data', false], compare(refs.data, '=', { kind: 'boolean', value: false })],
    [
      ['=', 'data', { b: [1, null], a: 'x' }],
      compare(refs.data, '=', { kind: 'json', json: '{"a":"x","b":[1,null]}' }),
    ],
    [['>', 'data', 1], compare(refs.data, '>', number('1'))],
    [['=', 'name', null], { kind: 'null', field: refs.name, negated: false }],
    [['null?', 'name', true], { kind: 'null', field: refs.name, negated: false }],
    [['null?', 'name', false], { kind: 'null', field: refs.name, negated: true }],
    [['~', 'name', '^a.c$'], { kind: 'matches', field: refs.name, expression: '^a.c$', negated: false }],
    [
      ['~>', 'data', ['a.*', '12', '\\Qa.b', 0]],
      {
        kind: 'path matches',
        field: refs.data,
        elements: [
          { expression: '^(?:a.*)$', indexes: true },
          { expression: '^(?:12)$', indexes: false },
          { expression: '^(?:\\Qa.b\\E)$', indexes: true },
          0,
        ],
        negated: false,
      },
    ],
    [
      ['in', 'name', ['array', ['b', 'a', 'b']]],
      { kind: 'in', field: refs.name, values: [text('a'), text('b')], negated: false },
    ],
  ]
  for (const [query, expected] of table) assert.deepEqual(where(query), expected, JSON.stringify(query))
})

test('Q20 a path names a member of JSON, and a field whose name looks like one comes first', () => {
  const paths: Readonly<Record<string, readonly (string | number)[]>> = {
    'data.os.family': ['os', 'family'],
    'data.list[0]': ['list', 0],
    'data[3].x': [3, 'x'],
    'data.list[0][12].y': ['list', 0, 12, 'y'],
    'data."a.b".c': ['a.b', 'c'],
    'data."a.b"[1]': ['a.b', 1],
    'data."a"b".c': ['a"b', 'c'],
    'data."".c': ['', 'c'],
    'data.0': ['0'],
    'data.a[b]': ['a[b]'],
    'data.x.y': ['x', 'y'],
  }
  for (const [name, path] of Object.entries(paths))
    assert.deepEqual(where(['=', name, 1]), compare(member(...path), '=', number('1')), name)
  assert.deepEqual(
    where(['=', 'data.x', 'y']),
    compare({ name: 'data.x', path: [], type: 'text' }, '=', text('y')),
  )
})

test('Q20 not moves to the leaves', () => {
  const table: readonly (readonly [unknown, unknown])[] = [
    [['not', ['=', 'name', 'x']], compare(refs.name, '=', text('x'), true)],
    [['not', ['not', ['=', 'name', 'x']]], compare(refs.name, '=', text('x'))],
    [['not', ['<', 'size', 1]], compare(refs.size, '>=', number('1'))],
    [['not', ['>=', 'name', 'x']], compare(refs.name, '<', text('x'))],
    // A value that is not a number is neither less nor greater.
    [['not', ['<', 'data', 1]], compare(refs.data, '<', number('1'), true)],
    [['not', ['=', 'good', true]], compare(refs.good, '=', { kind: 'boolean', value: false })],
    [['not', ['null?', 'name', true]], { kind: 'null', field: refs.name, negated: true }],
    [['not', ['=', 'name', null]], { kind: 'null', field: refs.name, negated: true }],
    [['not', ['~', 'name', 'x']], { kind: 'matches', field: refs.name, expression: 'x', negated: true }],
    [['not', ['in', 'size', ['array', []]]], { kind: 'null', field: refs.size, negated: true }],
    [
      ['not', ['and', ['=', 'name', 'x'], ['not', ['~', 'name', 'y']]]],
      {
        kind: 'or',
        of: [
          compare(refs.name, '=', text('x'), true),
          { kind: 'matches', field: refs.name, expression: 'y', negated: false },
        ],
      },
    ],
  ]
  for (const [query, expected] of table) assert.deepEqual(where(query), expected, JSON.stringify(query))
})

test('Q20 equal questions have one plan', () => {
  const a = ['=', 'name', 'x']
  const b = ['>', 'size', 5]
  const c = ['null?', 'made', false]
  const same: readonly (readonly unknown[])[] = [
    [
      ['and', a, b, c],
      ['and', c, ['and', b, a]],
      ['and', a, ['and', b], c, a, ['not', ['not', b]]],
      ['not', ['or', ['not', a], ['<=', 'size', 5.0], ['not', c]]],
    ],
    [a, ['and', a], ['or', a, a], ['in', 'name', ['array', ['x']]], ['in', ['name'], ['array', ['x', 'x']]]],
    [
      ['or', ['=', 'size', 1], ['=', 'size', 2]],
      ['in', 'size', ['array', [2, 1.0, 1]]],
      ['not', ['and', ['not', ['=', 'size', 1]], ['not', ['=', 'size', 2]]]],
    ],
    [['or', a, ['in', 'size', ['array', []]]], a],
    [
      ['=', 'made', '2026-01-01T00:00:00.50Z'],
      ['=', 'made', '20260101T020000,5+0200'],
    ],
    [
      ['=', 'data', { a: 1, b: 2 }],
      ['=', 'data', { b: 2.0, a: 10e-1 }],
    ],
    [
      ['match', ['name', 'data.x'], 'sea'],
      ['match', ['data.x', 'name', 'name'], 'SEA'],
    ],
    [
      ['subquery', 'facts', ['and', ['=', 'name', 'a'], ['=', 'value', 1]]],
      ['subquery', 'facts', ['and', ['=', 'value', 1.0], ['=', 'name', 'a']]],
    ],
  ]
  for (const [first, ...others] of same)
    for (const other of others) {
      const entity = JSON.stringify(first).includes('subquery') ? 'nodes' : 'things'
      assert.deepEqual(ask(other, { entity }), ask(first, { entity }), JSON.stringify(other))
    }
})

test('Q20 what matches nothing decides an and', () => {
  const never = ['in', 'size', ['array', []]]
  assert.deepEqual(where(never), { kind: 'none' })
  assert.deepEqual(where(['and', ['=', 'name', 'x'], never]), { kind: 'none' })
  assert.deepEqual(where(['or', never, never]), { kind: 'none' })
})

test("Q20 PuppetDB's names for tags and parameters are other names for fields", () => {
  const tagged = compare(refs.tags, '=', text('web'))
  assert.deepEqual(where(['=', 'tag', 'Web']), tagged)
  assert.deepEqual(where(['in', 'tag', ['array', ['WEB']]]), tagged)
  assert.deepEqual(where(['~', 'tag', '\\S']), {
    kind: 'matches',
    field: refs.tags,
    expression: '\\S',
    negated: false,
  })
  assert.deepEqual(
    where(['=', ['parameter', 'ensure'], 'present'], { entity: 'resources' }),
    compare({ name: 'parameters', path: ['ensure'], type: 'json' }, '=', text('present')),
  )
  assert.deepEqual(
    where(['in', ['parameter', 'ensure'], ['array', ['present']]], { entity: 'resources' }),
    compare({ name: 'parameters', path: ['ensure'], type: 'json' }, '=', text('present')),
  )
  assert.deepEqual(
    where(['=', 'latest_report?', true], { entity: 'resources' }),
    compare({ name: 'latest_report?', path: [], type: 'boolean' }, '=', { kind: 'boolean', value: true }),
  )
})

test('Q20 numbers and booleans in an array become text for a field of text', () => {
  assert.deepEqual(where(['in', 'name', ['array', [5, 'x', true]]]), {
    kind: 'in',
    field: refs.name,
    values: [text('5'), text('true'), text('x')],
    negated: false,
  })
})

test('Q27 match looks for words in some fields, or in all fields of text and JSON', () => {
  const words = [{ words: ['sea'], prefix: true }]
  assert.deepEqual(where(['match', 'name', 'Sea*']), {
    kind: 'text',
    fields: [refs.name],
    words,
    negated: false,
  })
  assert.deepEqual(where(['not', ['match', '*', 'sea*']]), {
    kind: 'text',
    fields: [refs.name, refs.data, refs.tags, { name: 'data.x', path: [], type: 'text' }],
    words,
    negated: true,
  })
})

test("Q24 latest_report? is a shorthand for PuppetDB's reports and events, where nodes know their latest", () => {
  const nodes = entity('nodes', { certname: 'text', latest_report_hash: 'text' })
  const reports = entity('reports', { hash: 'text' })
  const entities = new Map([nodes, reports].map(one => [one.name, one]))
  const plain = (query: unknown) =>
    check(readAst(JSON.stringify(query)), {
      entities,
      mayRead: () => true,
      entity: reports,
      given: { total: false },
    }).where
  const inner = ['in', 'hash', ['from', 'nodes', ['extract', 'latest_report_hash']]]
  assert.deepEqual(plain(['=', 'latest_report?', true]), plain(inner))
  assert.deepEqual(plain(['=', 'latest_report?', false]), plain(['not', inner]))
  assert.deepEqual(plain(['not', ['=', 'latest_report?', false]]), plain(inner))
  for (const wrong of [
    ['=', 'latest_report?', 'true'],
    ['~', 'latest_report?', 'x'],
    ['=', 'latest_report?'],
  ])
    assert.throws(() => plain(wrong), QueryError)
  // Without a definition of the latest report, it is a field like any other.
  assert.match(mistake(() => ask(['=', 'latest_report?', true])).message, /latest_report/)
})
