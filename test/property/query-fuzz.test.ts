import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bounds, type Node, printAst, QueryError } from '../../src/query/language/node.ts'
import { readAst } from '../../src/query/language/read-ast.ts'
import { readPql } from '../../src/query/language/read-pql.ts'
import { repeats, runs } from '../support/scale.ts'

/** The readers of queries. Any text must be read, or be refused as the client's mistake (Q14, Q23). */

const readers = { readPql, readAst }

/** @returns the query, or undefined if it was properly refused */
function nodeOrError(read: (text: string) => Node, text: string): Node | undefined {
  try {
    return read(text)
  } catch (error) {
    if (!(error instanceof QueryError))
      assert.fail(`${String(error)} for ${JSON.stringify(text.slice(0, 500))}`)
    assert.ok(error.message.length < 1_000, 'the message is short')
    if ('line' in error.at) {
      assert.ok(error.at.line >= 1 && error.at.column >= 1)
      const [line, sign] = String(error.members.marker ?? ' \n^').split('\n')
      assert.ok([...(line ?? '')].length + 1 >= (sign?.length ?? 0), 'the marker is below its line')
    }
    return undefined
  }
}

/** Removes the places from a query, so that queries can be compared. */
function plain(node: Node): unknown {
  if (node.kind === 'array') return node.items.map(plain)
  if (node.kind === 'object') return [...node.members].map(([key, member]) => [key, plain(member)])
  const { at: _, ...value } = node
  return value
}

/** Asserts that a query is within the bounds, and that its JSON is complete. */
function assertPrints(node: Node): void {
  const text = printAst(node)
  assert.doesNotThrow(() => JSON.parse(text))
  if (text.length <= bounds.length) assert.deepEqual(plain(readAst(text)), plain(node))
}

const seeds = {
  readPql: [
    'nodes { a = "x" and (b != 1.5 or !c ~ \'d.*\') and e.f[0]."g h".i is not null limit 5 offset 2 }',
    'facts[distinct name, count(), to_string(t, "YYYY"), avg(x)] { a in [1, "two", true, [3]] group by name having count() > 5 and avg(x) is null order by count() desc, name asc limit 10 }',
    '[a, b] in x { }',
    'nodes { [a, b] in resources[c, d] { e >= -1 order by f } or artworks { g ~> ["h", 0] } or * match "i*" or [j, k] match \'l\' }',
  ],
  readAst: [
    '["from","nodes",["extract",["a",["function","count"]],["and",["=","a","x\\u00e9"],["not",["in",["b","c"],["array",[1,2.5e3,null,true]]]]],["group_by","a"]],["limit",5]]',
    '["=","a",{"b":[{"c":null}],"d":false}]',
  ],
} as const

const pieces = [
  ...[
    'nodes',
    'a',
    'in',
    'is',
    'null',
    'not',
    'and',
    'or',
    'match',
    'limit',
    'order by',
    'group by',
    'having',
  ],
  ...[
    'distinct',
    'asc',
    'true',
    'count()',
    '!',
    '=',
    '!=',
    '~',
    '!~',
    '~>',
    '<',
    '>=',
    '*',
    ',',
    '.',
    '?',
    '-',
  ],
  ...['(', ')', '[', ']', '{', '}', '"', "'", '\\', '\\u', '"x"', "'y'", '5', '-1.5e3', '0', ':', ' ', '\n'],
  ...['\0', 'é', '𝄞', '\ud800', '\u2028', '\ufeff', '“', '&&', '==', '<>', ';', '#', '/*', '--', '[0]', '."'],
]

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...pieces) },
  fc.string({ maxLength: 4, unit: 'binary' }),
)

for (const [name, read] of Object.entries(readers)) {
  test(`Q14 Q23 ${name} takes any text, or says what is wrong in it`, () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.array(piece, { maxLength: 60 }).map(all => all.join('')),
      fc.array(piece, { maxLength: 60 }).map(all => all.join(' ')),
      fc.array(piece, { maxLength: 30 }).map(all => `n { ${all.join(' ')} }`),
      fc.json({ maxDepth: 5 }),
    )
    fc.assert(
      fc.property(texts, text => {
        const node = nodeOrError(read, text)
        if (node) assertPrints(node)
      }),
      runs(2_000, 30_000),
    )
  })

  test(`Q14 Q23 ${name} takes any query that was changed in some places, or says what is wrong in it`, () => {
    const change = fc.record({
      at: fc.nat(),
      removed: fc.nat({ max: 12 }),
      added: fc.option(piece, { nil: '' }),
    })
    const mutations = fc
      .tuple(
        fc.constantFrom(...seeds[name as keyof typeof seeds]),
        fc.array(change, { minLength: 1, maxLength: 6 }),
      )
      .map(([seed, changes]) =>
        changes.reduce((text, { at, removed, added }) => {
          const from = at % (text.length + 1)
          return text.slice(0, from) + added + text.slice(from + removed)
        }, seed as string),
      )
    let stillQueries = 0
    fc.assert(
      fc.property(mutations, text => {
        const node = nodeOrError(read, text)
        if (!node) return
        stillQueries++
        assertPrints(node)
      }),
      runs(2_000, 100_000),
    )
    assert.ok(stillQueries > 0, 'some of them are still queries')
  })
}

/** Texts that would cost too much if each part of them were examined more than a few times. */
const hostile: Readonly<Record<string, (length: number) => string>> = {
  ...repeated([
    ' ',
    '\n',
    '(',
    '!',
    '[',
    '{',
    '"',
    "'",
    '\\',
    'a',
    'é',
    'a-',
    '1',
    '0',
    '-',
    '.',
    '~',
    '=',
    '\ufeff',
    '"a":',
  ]),
  ...repeated(['(', '!', 'a{', '[', 'a.', 'a in a[a]{', '.', '1', '0', '!='], 'a { '),
  ...repeated(['.a', '."', '."a"b', '[1]', '[', ' ', '."a".', '?', '-a'], 'a { a'),
  ...repeated(['1', '1.', '[', '"', "'", "\\'", '\\"', 'x', '1e', '\\u0041'], 'a { a = '),
  ...repeated(["\\'", 'x', '\\\\', '\n'], "a { a = '"),
  ...repeated(['\\n', 'x', '\\u0041', '𝄞'], 'a { a = "'),
  ...repeated(['1,', '"x",', '[1],', '[', ' ,'], 'a { a in ['),
  ...repeated(['a=1 and ', 'a=1 or ', '(a=1) or ', 'a=1 and b=1 or ', 'a is null or '], 'a { '),
  ...repeated(['a,', 'f(),', 'f(a),', 'f(a,"x"),', 'count(a),', 'distinct '], 'a['),
  ...repeated(['limit 1 ', 'a,', 'a desc,'], 'a { order by '),
  ...repeated(['1,', '"",', '[],', '{},', '[[1],', '{"a":', '"\\u0041",', 'null,', ' '], '['),
  ...repeated(['"a":1,', '"\\u0061":[],'], '{'),
  'objects with many keys': length =>
    `[{${Array.from({ length: length / 12 }, (_, at) => `"k${at}":1`).join(',')}`,
  'a list in parentheses': length => `a { ${'('.repeat(90)}${'a=1 or '.repeat(length / 7 - 15)}`,
  'flattened again and again': length => {
    const some = Array.from({ length: Math.min(length / 700, 20_000 / 90) }, () => 'a=1').join(' or ')
    return `a { ${'('.repeat(90)}${some}${`) or ${some}`.repeat(90)}`
  },
  'functions as columns': length => {
    const columns = Array.from({ length: length / 40 }, (_, at) => `f(a${at})`)
    return `a[${columns}] { having ${columns.join('=1 and ')}`
  },
}

function repeated(parts: readonly string[], start = ''): Record<string, (length: number) => string> {
  return Object.fromEntries(
    parts.map(part => [
      JSON.stringify(start + part),
      (length: number) => start + part.repeat(Math.floor((length - start.length) / part.length)),
    ]),
  )
}

/** Limit in s. A busy machine needs a few hundredths; an algorithm of quadratic time needs 10 s or more. */
const secondsForAll = 2
const length = repeats(bounds.length / 10, bounds.length)

test(`Q14 Q23 a text of ${length.toLocaleString('en')} characters is refused in one pass`, () => {
  for (const [what, textOf] of Object.entries(hostile)) {
    const text = textOf(length)
    assert.ok(text.length <= length, what)
    for (const read of [readPql, readAst]) {
      const before = process.threadCpuUsage().user
      nodeOrError(read, text)
      const seconds = (process.threadCpuUsage().user - before) / 1e6
      assert.ok(seconds < secondsForAll, `${seconds} s for ${what}`)
    }
  }
})
