import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bounds, printAst, QueryError } from '../../../src/query/language/node.ts'
import { readPql } from '../../../src/query/language/read-pql.ts'

const astOf = (pql: string): string => printAst(readPql(pql))

/** Asserts that each line of PQL has the same meaning as its AST. */
function assertTranslated(lines: Readonly<Record<string, unknown>>): void {
  for (const [pql, ast] of Object.entries(lines))
    assert.equal(astOf(pql), JSON.stringify(ast), `translated: ${pql}`)
}

/** Checks conditions inside `nodes { … }`. */
const conditions = (lines: Readonly<Record<string, unknown>>) =>
  assertTranslated(
    Object.fromEntries(
      Object.entries(lines).map(([pql, ast]) => [`nodes { ${pql} }`, ['from', 'nodes', ast]]),
    ),
  )

test('Q23 comparisons are translated, and negated ones get a not', () => {
  conditions({
    'a = "x"': ['=', 'a', 'x'],
    'a="x"': ['=', 'a', 'x'],
    'a != 1': ['not', ['=', 'a', 1]],
    "a ~ 'web.*'": ['~', 'a', 'web.*'],
    "a !~ 'web.*'": ['not', ['~', 'a', 'web.*']],
    'a < 1': ['<', 'a', 1],
    'a <= 1.5': ['<=', 'a', 1.5],
    "a > '2016-02-07'": ['>', 'a', '2016-02-07'],
    'a>=-1': ['>=', 'a', -1],
    "path ~> ['networking', 'eth.*', 0]": ['~>', 'path', ['networking', 'eth.*', 0]],
    'line is null': ['null?', 'line', true],
    'line is  not\nnull': ['null?', 'line', false],
    'a = true': ['=', 'a', true],
    'a = ["foo",1, [ false ] ]': ['=', 'a', ['foo', 1, [false]]],
    'a = []': ['=', 'a', []],
  })
})

test('Q23 ! binds more than and, and binds more than or; nested ones of one kind become one', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(field => ['=', field, 1])
  conditions({
    'a=1 or b=1 and c=1': ['or', a, ['and', b, c]],
    'a=1 or b=1 and c=1 or d=1': ['or', a, ['and', b, c], d],
    'a=1 or b=1 and (c=1 or d=1)': ['or', a, ['and', b, ['or', c, d]]],
    'a=1 or b=1 and !(c=1 or d=1)': ['or', a, ['and', b, ['not', ['or', c, d]]]],
    'a=1 or b=1 and (!c=1 or d=1)': ['or', a, ['and', b, ['or', ['not', c], d]]],
    '!a=1 and b=1': ['and', ['not', a], b],
    '! !a=1': ['not', ['not', a]],
    '!!a=1': ['not', ['not', a]],
    '(a=1 or (b=1 or c=1)) or d=1': ['or', a, b, c, d],
    '((a=1 and b=1) and (c=1 and d=1))': ['and', a, b, c, d],
    '( ( a=1 ) )': a,
  })
})

test('Q23 numbers keep all their digits, and lose zeros before them', () => {
  const numbers = ['-4', '4.1', '4.1E10', '4.1e-3', '12345678901234567890123', '0.1000000000000000055']
  for (const number of numbers) assert.equal(astOf(`n { a = ${number} }`), `["from","n",["=","a",${number}]]`)
  assert.equal(astOf('n { a in [007, -007.50, 00, -0] }'), '["from","n",["in","a",["array",[7,-7.50,0,-0]]]]')
})

test('Q23 double quotes have the escapes of JSON, single quotes only their own', () => {
  conditions({
    '  a = "say \\"x\\"\\n\\u00e9"': ['=', 'a', 'say "x"\né'],
    '  a ~ "\\\\d"': ['~', 'a', '\\d'],
    "  a ~ '\\d'": ['~', 'a', '\\d'],
    "  a = 'it\\'s'": ['=', 'a', "it's"],
    "  a = 'two \\\\'": ['=', 'a', 'two \\\\'],
    "  a = 'line\nbreak'": ['=', 'a', 'line\nbreak'],
    "  a = ''": ['=', 'a', ''],
    '  a = "} or { [ ] , ! #"': ['=', 'a', '} or { [ ] , ! #'],
  })
})

test('Q23 fields are words in any script, dotted paths, or texts in quotes', () => {
  conditions({
    'latest_report? = true': ['=', 'latest_report?', true],
    'gemälde-größe = 1': ['=', 'gemälde-größe', 1],
    '2fa = 1': ['=', '2fa', 1],
    'facts.os.family = 1': ['=', 'facts.os.family', 1],
    'facts.list[0].x=1': ['=', 'facts.list[0].x', 1],
    'tags[0][1] = 1': ['=', 'tags[0][1]', 1],
    'facts.mountpoints./.size > 1': ['>', 'facts.mountpoints./.size', 1],
    'facts."a.b".c = 1': ['=', 'facts."a.b".c', 1],
    'facts."a"b".c = 1': ['=', 'facts."a"b".c', 1],
    'facts."a"=1': ['=', 'facts."a"', 1],
    '"accession number" = 1': ['=', 'accession number', 1],
    '"accession number".x = 1': ['=', '"accession number".x', 1],
    ...calledLikeKeywords,
  })
})

/** Conditions on fields that are named like keywords. */
const calledLikeKeywords = {
  'limit = 5': ['=', 'limit', 5],
  'order != 5': ['not', ['=', 'order', 5]],
  'group in [1]': ['in', 'group', ['array', [1]]],
  'in = 1 and and = 2 and match match "x"': ['and', ['=', 'in', 1], ['=', 'and', 2], ['match', 'match', 'x']],
  'having.x is null': ['null?', 'having.x', true],
  'true = true': ['=', 'true', true],
}

test('Q23 in takes a list, or a query with its own columns and paging', () => {
  conditions({
    'a in [1, "x", true]': ['in', 'a', ['array', [1, 'x', true]]],
    'a in[1]': ['in', 'a', ['array', [1]]],
    'a in []': ['in', 'a', ['array', []]],
    '[a, b] in [[1, 2]]': ['in', ['a', 'b'], ['array', [[1, 2]]]],
    'a in resources [x] { x = 1 }': ['in', 'a', ['from', 'resources', ['extract', ['x'], ['=', 'x', 1]]]],
    '[a, b] in audit-events[c, d] { limit 5 order by c }': [
      'in',
      ['a', 'b'],
      ['from', 'audit-events', ['extract', ['c', 'd']], ['limit', 5], ['order_by', ['c']]],
    ],
  })
})

test('Q23 an entity inside of a condition is a subquery over its relation', () => {
  conditions({
    'resources { x = 1 }': ['subquery', 'resources', ['=', 'x', 1]],
    'resources{}': ['subquery', 'resources'],
    '!resources { facts { y = 1 } }': [
      'not',
      ['subquery', 'resources', ['subquery', 'facts', ['=', 'y', 1]]],
    ],
  })
})

test('Q23 match looks for words in a field, in several, or in all', () => {
  conditions({
    'title match "sea*"': ['match', 'title', 'sea*'],
    '[title, artist] match \'"blue sea"\'': ['match', ['title', 'artist'], '"blue sea"'],
    '* match "sea" and !a match "b"': ['and', ['match', '*', 'sea'], ['not', ['match', 'a', 'b']]],
  })
})

test('Q23 a projection becomes an extract around the condition', () => {
  assertTranslated({
    'nodes{}': ['from', 'nodes'],
    ' \n nodes\t[ ] { } ': ['from', 'nodes', ['extract', []]],
    'nodes[a, b.c] { a = 1 }': ['from', 'nodes', ['extract', ['a', 'b.c'], ['=', 'a', 1]]],
    'nodes[count(), count( a ), to_string(t, "YYYY", \'x\')] {}': [
      'from',
      'nodes',
      [
        'extract',
        [
          ['function', 'count'],
          ['function', 'count', 'a'],
          ['function', 'to_string', 't', 'YYYY', 'x'],
        ],
      ],
    ],
    'nodes[count, distinct] {}': ['from', 'nodes', ['extract', ['count', 'distinct']]],
    'nodes[distinct] {}': ['from', 'nodes', ['extract', ['distinct']]],
    'nodes[distinct a, b] { a = 1 }': ['from', 'nodes', ['extract', ['a', 'b'], ['=', 'a', 1], ['distinct']]],
    'nodes[count_distinct(a)] {}': ['from', 'nodes', ['extract', [['function', 'count_distinct', 'a']]]],
  })
})

test('Q23 clauses come in any order, those of groups inside of the extract', () => {
  const columns = ['name', ['function', 'count']]
  const paging = [
    ['limit', 10],
    ['offset', 1],
    ['order_by', ['a', ['b', 'desc'], ['c', 'asc']]],
  ]
  assertTranslated({
    'nodes { limit 10 offset 1 order by a, b desc, c asc }': ['from', 'nodes', ...paging],
    'nodes { a = 1 limit 10 offset 1 order by a, b desc, c asc }': [
      'from',
      'nodes',
      ['=', 'a', 1],
      ...paging,
    ],
    'facts[name, count()] { group by name }': ['from', 'facts', ['extract', columns, ['group_by', 'name']]],
    'facts[name, count()] { a = 1 limit 10 group by name, to_string(t, "YYYY") }': [
      'from',
      'facts',
      ['extract', columns, ['=', 'a', 1], ['group_by', 'name', ['function', 'to_string', 't', 'YYYY']]],
      ['limit', 10],
    ],
  })
})

test('Q23 having and order by name functions by the member that holds their result', () => {
  const functions = ['count', 'avg'].map(name => ['function', name, 'x'])
  assertTranslated({
    'n[a, count(), count(x), avg(x)] { group by a having count() > 5 and count(x) = 1 or !avg( x ) is null }':
      [
        'from',
        'n',
        [
          'extract',
          ['a', ['function', 'count'], ...functions],
          ['group_by', 'a'],
          [
            'having',
            ['or', ['and', ['>', 'count', 5], ['=', 'count_2', 1]], ['not', ['null?', 'avg', true]]],
          ],
        ],
      ],
    'n[count()] { having count() in [1] }': [
      'from',
      'n',
      ['extract', [['function', 'count']], ['having', ['in', 'count', ['array', [1]]]]],
    ],
    'n[count, count()] { order by count() desc, a }': [
      'from',
      'n',
      ['extract', ['count', ['function', 'count']]],
      ['order_by', [['count_2', 'desc'], 'a']],
    ],
  })
})

test('Q23 every part knows its line and column', () => {
  const query = readPql("nodes {\n  a = 'x\ny' and\n\t𝄞b in [5]\n}")
  assert.ok(query.kind === 'array')
  const both = query.items[2]
  assert.ok(both?.kind === 'array')
  const [and, first, second] = both.items
  assert.ok(first?.kind === 'array' && second?.kind === 'array')
  const places = [query, query.items[1], both, and, ...first.items, ...second.items].map(node => node?.at)
  assert.deepEqual(
    places.map(at => at && 'line' in at && `${at.line}:${at.column}`),
    // The places of operator, field and value. A character is one column, however it is encoded.
    ['1:1', '1:1', '2:3', '2:3', '2:5', '2:3', '2:7', '4:5', '4:2', '4:8'],
  )
})

test('Q23 a query of many thousand parts is read, and one with more than the bound is refused', () => {
  const listOf = (length: number) => `n { a in [${'1,'.repeat(length - 1)}1] }`
  assert.ok(astOf(listOf(50_000)).endsWith('1,1]]]]'))
  const many = `n[a] { group by ${'a,'.repeat(50_000)}a }`
  assert.ok(astOf(many).length > 200_000)
  const tooMuch: readonly (readonly [string, RegExp])[] = [
    [listOf(bounds.nodes), /more than 100,000 parts/],
    [' '.repeat(bounds.length + 1), /longer than 1,000,000 characters/],
    [`n { a = ${'1'.repeat(1_001)} }`, /more than 1,000 characters/],
  ]
  for (const [pql, message] of tooMuch)
    assert.throws(
      () => readPql(pql),
      (error: unknown) => error instanceof QueryError && message.test(error.message),
    )
})

test('Q23 neither PQL nor its AST is nested deeper than the bound', () => {
  const nested = (open: string, inside: string, close: string, times: number) =>
    `n { ${open.repeat(times)}${inside}${close.repeat(times)} }`
  // Parentheses alone don't appear in the AST.
  assert.equal(astOf(nested('(', 'a = 1', ')', 98)), '["from","n",["=","a",1]]')
  assert.ok(astOf(nested('!', 'a = 1', '', 98)))
  assert.ok(astOf(nested('x {', 'a = 1', '}', 98)))
  const deep: readonly (readonly [string, string, string])[] = [
    ['(', 'a = 1', ')'],
    ['!', 'a = 1', ''],
    ['a in x[a] {', 'a = 1', '}'],
    ['x {', 'a = 1', '}'],
    ['(b = 1 or c = 1 and ', 'a = 1', ')'],
  ]
  for (const [open, inside, close] of deep)
    for (const times of [100, 20_000])
      assert.throws(
        () => readPql(nested(open, inside, close, times)),
        (error: unknown) =>
          error instanceof QueryError &&
          /nested more than 100 deep/.test(error.message) &&
          'line' in error.at,
      )
  assert.throws(() => readPql(nested('a in x[a] {', 'a = 1', '}', 40)), /nested more than 100 deep/)
  assert.throws(() => readPql(`n { a = ${'['.repeat(200)}`), /nested more than 100 deep/)
})
