import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryError } from '../../../src/query/language/node.ts'
import { markerOf } from '../../../src/query/language/pql-errors.ts'
import { PqlScanner } from '../../../src/query/language/pql-scanner.ts'
import { readPql, readPqlInside } from '../../../src/query/language/read-pql.ts'

const readInside = (text: string) => readPqlInside(new PqlScanner(text))

function errorOf(pql: string, read: (text: string) => unknown = readPql): QueryError {
  try {
    read(pql)
  } catch (error) {
    assert.ok(error instanceof QueryError, String(error))
    return error
  }
  return assert.fail(`it was read: ${pql}`)
}

const operators = ['=', '!=', '~', '!~', '~>', '<', '<=', '>', '>=', 'is null', 'is not null', 'in', 'match']

test('Q23 an error says what was found where, and what was expected', () => {
  const error = errorOf('nodes {\n  certname = 5\n  AND b = 1 }')
  assert.equal(
    error.message,
    'Line 3, column 3: found "AND", expected one of: and  or  group by  with empty  having  sample  limit  offset  order by  }. Did you mean "and"?',
  )
  assert.deepEqual(error.at, { line: 3, column: 3 })
  assert.deepEqual(error.members, {
    found: 'AND',
    expected: ['and', 'or', 'group by', 'with empty', 'having', 'sample', 'limit', 'offset', 'order by', '}'],
    nearest: 'and',
    marker: '  AND b = 1 }\n  ^',
  })
})

test('Q23 an operator for either case that PQL lacks is explained by what it has', () => {
  for (const pql of ['a ~* "x"', 'a !~* "x"']) {
    const { message, members } = errorOf(`nodes { ${pql} }`)
    assert.match(message, /found "\*", expected <text>\. .* begins with \(\?i\): ~ "\(\?i\)expression"\./)
    assert.equal(members.mistake, 'case')
  }
  assert.equal(errorOf('nodes { a = * }').members.mistake, undefined)
  assert.equal(errorOf('nodes { a ilike "x" }').members.nearest, '~')
})

test('Q23 wherever a query breaks off or goes on, the error lists what may stand there', () => {
  for (const [pql, column, expected] of [
    ['', 1, ['<entity>']],
    ['"nodes" {}', 1, ['<entity>']],
    ['nodes', 6, ['[', '{']],
    ['nodes[', 7, ['distinct', ']', '<field>']],
    ['nodes[a', 8, ['by', ',', ']']],
    ['nodes[a by ', 12, ['<number>', 'year', 'quarter', 'month', 'week', 'day', 'hour']],
    ['nodes[count(', 13, [')', '<field>']],
    ['nodes[f(a, b)] {}', 12, ['<text>', '<number>']],
    ['nodes {', 8, ['}', '!', '(', '[', '*', '<field>', '<entity> {']],
    ['nodes { !', 10, ['!', '(', '[', '*', '<field>', '<entity> {']],
    ['nodes { a', 10, ['by', ...operators]],
    ['nodes { [a] = 1 }', 13, ['in', 'match']],
    ['nodes { * = 1 }', 11, ['match']],
    ['nodes { a =', 12, ['<field>', '[', 'true', 'false', '<text>', '<number>']],
    ['nodes { a > true }', 13, ['<field>', '<text>', '<number>']],
    ['nodes { a ~ 5 }', 13, ['<text>']],
    ['nodes { a is 5 }', 14, ['not', 'null']],
    ['nodes { a is not 5 }', 18, ['null']],
    ['nodes { a in 5 }', 14, ['[', '<entity>']],
    ['nodes { a by 10', 16, operators],
    ['nodes { a in [1 2] }', 17, [',', ']']],
    ['nodes { (a = 1 }', 16, ['and', 'or', ')']],
    ['nodes { x { a = 1 limit 5 } }', 19, ['and', 'or', '}']],
    ['nodes { limit "5" }', 15, ['<whole number>']],
    ['nodes { limit 1.5 }', 15, ['<whole number>']],
    ['nodes { order by }', 18, ['<field>']],
    ['nodes {} nodes {}', 10, ['<end>']],
  ] as const) {
    const error = errorOf(pql)
    assert.deepEqual(error.at, { line: 1, column }, pql)
    const { expected: said, found } = error.members
    assert.deepEqual(said, expected, pql)
    assert.equal(typeof found, 'string')
  }
})

test('Q23 what others would write is understood, and named as PQL writes it', () => {
  for (const [pql, nearest] of [
    ['n { a == 1 }', '='],
    ['n { a =~ "x" }', '~'],
    ['n { a <> 1 }', '!='],
    ['n { a !== 1 }', '!='],
    ['n { a => 1 }', '>='],
    ['n { a =< 1 }', '<='],
    ['n { a like "x" }', '~'],
    ['n { a IN [1] }', 'in'],
    ['n { a IS NULL }', 'is null'],
    ['n { a is NULL }', 'null'],
    ['n { a = TRUE }', 'true'],
    ['n { a = 1 && b = 1 }', 'and'],
    ['n { a = 1 || b = 1 }', 'or'],
    ['n { a = 1 Or b = 1 }', 'or'],
    ['n { a = 1 orderby b }', 'order by'],
    ['n { a = 1 order_by b }', 'order by'],
    ['n { a = 1 limt 5 }', 'limit'],
    ['n { not a = 1 }', '!'],
    ['n { NOT (a is null) }', '!'],
    ['n { a = 1 and not(a is null) }', '!'],
  ] as const)
    assert.equal(errorOf(pql).members.nearest, nearest, pql)

  for (const [pql, hint] of [
    ['n { a = null }', /Write "is null" or "is not null" after the field\.$/],
    ['n { a ~ foo }', /Texts need quotes\.$/],
    ['n { a = 1800x }', /A number has no letters, and texts need quotes\.$/],
    ['n { a = “x” }', /Quotes are straight/],
    ['n { not (a is null) }', /column 5: found "not", expected one of: .*<field>.* Did you mean "!"\?$/],
    ['n { and (a = 1) }', /column 5: found "and", expected one of: /],
    ['n { a[x] = "x" }', /column 6: \[x\] is no index; .* or \[\*\] for any element/],
    ['n { a.b[-1].c = "x" }', /column 8: \[-1\] is no index/],
    ['n[a[first]] {}', /column 4: \[first\] is no index/],
    ['n { a[ = 1 }', /column 6: \[ is no index/],
    ["n { a = 'x }", /found a string without a closing quote\.$/],
    ['n { a = "\\d" }', /a backslash that begins no escape of JSON/],
    ['n { a = "x\n" }', /a line break/],
  ] as const)
    assert.match(errorOf(pql).message, hint, pql)
})

test('Q23 a condition alone is read with places of its own, and ends where its text ends', () => {
  for (const text of ['a = 1', '\n!(a = 1) and b { c > 5 } order by a limit 5', 'limit 5'])
    assert.doesNotThrow(() => readInside(text), text)
  for (const [text, column, mistake, found] of [
    ['', 1, undefined, ''],
    ['a = ', 5, undefined, ''],
    ['(a = 1', 7, undefined, ''],
    ['a = 1 }', 7, 'brace', '}'],
    ['a ~ b }', 5, 'quotes', 'b'],
    ['a > 1800x', 5, 'letters', '1800x'],
    ['a = “x”', 5, 'straight', '“x”'],
    ['a = null', 5, 'null', 'null'],
    ['a = "x', 5, 'unclosed', 'a string without a closing quote'],
    ['a[x] = 1', 2, 'index', '[x]'],
    ['count() > 1', 1, 'function', undefined],
  ] as const) {
    const error = errorOf(text, readInside)
    assert.deepEqual(
      [error.at, error.members.mistake, error.members.found],
      [{ line: 1, column }, mistake, found],
      text,
    )
  }
})

test('Q23 a field that is called like a keyword is one where an operator follows', () => {
  for (const pql of [
    'n { not = 1 and !and = 2 }',
    'n { or.a[0] is null }',
    'n { not in [1] or and match "x" }',
  ])
    assert.doesNotThrow(() => readPql(pql), pql)
})

test('Q23 functions and clauses where they mean nothing are refused with the way out', () => {
  for (const [pql, column, message] of [
    ['n[count()] { count() > 5 }', 14, /only compare functions behind "having"/],
    ['n[a, count()] { group by a having avg(b) > 5 }', 35, /avg\(b\) is none of the columns\. Add it/],
    ['n[a] { order by count() }', 17, /count\(\) is none of the columns/],
    ['n { group by a }', 5, /"group by" needs columns after the entity/],
    ['n { having a > 1 }', 5, /"having" needs columns/],
    ['n { limit 1 limit 2 }', 13, /a second "limit"/],
    ['n { order by a limit 1 order by b }', 24, /a second "order by"/],
  ] as const) {
    const error = errorOf(pql)
    assert.deepEqual(error.at, { line: 1, column }, pql)
    assert.match(error.message, message, pql)
    assert.equal(error.members.marker, `${pql}\n${' '.repeat(column - 1)}^`)
  }
})

test('Q23 the marker shows the part of the line that is near, and points at the place', () => {
  const long = `n { ${'x'.repeat(200)} = '𝄞\t${'y'.repeat(20)}' ; ${'z'.repeat(200)} }`
  const [line = '', sign = ''] = String(errorOf(long).members.marker).split('\n')
  assert.equal([...line][sign.length - 1], ';')
  assert.ok(line.startsWith('…') && line.endsWith('…') && line.length < 90)
  assert.doesNotMatch(line, /\t/)
  assert.equal(markerOf('a\nb c\nd', { line: 2, column: 3 }), 'b c\n  ^')
  assert.equal(markerOf('["=",1]', { pointer: '/1' }), undefined)
})

test('Q23 what was found is cut, so that no error is as long as the query', () => {
  const { message, members } = errorOf(`n { a ~ ${'x'.repeat(100_000)} }`)
  assert.ok(message.length < 500)
  assert.ok(JSON.stringify(members).length < 500)
  const columns = errorOf(`n[a] { having f(${'x'.repeat(100_000)}) > 1 }`)
  assert.ok(columns.message.length + JSON.stringify(columns.members).length < 500)
})
