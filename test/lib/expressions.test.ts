import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { RE2JS } from 're2js'
import {
  checkExpression,
  compileExpression,
  postgresExpression,
  postgresRefusal,
} from '../../src/lib/expressions.ts'
import { repeats, runs } from '../support/scale.ts'
import { closeDatabases, serverUrl } from '../support/service/databases.ts'

const matches = (expression: string, text: string) => compileExpression(expression).test(text)

test('Q26 an expression matches anywhere in a text, in RE2’s dialect', () => {
  for (const [expression, text, expected] of [
    ['', '', true],
    ['sea', 'The seaside', true],
    ['Sea', 'The seaside', false],
    ['(?i)SEA', 'The seaside', true],
    ['^sea', 'The seaside', false],
    ['^The.*side$', 'The seaside', true],
    ['a.b', 'a\nb', false],
    ['(?s)a.b', 'a\nb', true],
    ['a$', 'a\n', false],
    ['(?m)a$', 'a\nb', true],
    ['^.$', '😀', true],
    ['^[^a]$', '😀', true],
    ['\ude00', '😀', false],
    ['\\d', '٣', false],
    ['\\w', 'é', false],
    ['é\\b', 'é', false],
    ['\\s', '\u00a0', false],
    ['\\s', '\v', false],
    ['(?i)k', '\u212a', true],
    ['(?i)^straſſe$', 'STRASSE', true],
    ['(?i)ΌΣΟΣ', 'όσος', true],
    ['(?i)ᾀ', 'ᾈ', true],
    ['[[:alpha:]]{3}', 'a1bcd', true],
    ['\\Qa.b\\E+', 'a.bbb', true],
    ['\\pL', 'é', true],
    ['\\x{1F600}\\x41', '😀A', true],
    ['a{,2}', 'a{,2}', true],
    ['(?i:a)b', 'AB', false],
    ['x(?i)a|B', 'b', true],
    ['a|', 'zzz', true],
    ['(?:a|b)*c$', 'ababc', true],
    ['[^\\x00-\\x{10FFFF}]', 'a', false],
  ] as const)
    assert.equal(matches(expression, text), expected, `${expression} ${text}`)
})

test('Q26 what is wrong with an expression is said, with the position', () => {
  for (const [expression, expected] of [
    ['a(b', 'missing closing )'],
    ['a)', 'unexpected )'],
    ['x[a', 'missing closing ] at position 1: [a'],
    ['a**', 'invalid nested repetition operator at position 1: **'],
    [
      'a(?=b)',
      'invalid or unsupported Perl syntax at position 1: (?=; there is no look-ahead or look-behind',
    ],
    ['(a)\\1', 'invalid escape sequence at position 3: \\1; there are no references to groups'],
    ['a\\pQ', 'invalid character class range at position 1: \\pQ'],
    ['x{1001}', 'invalid repeat count at position 1: {1001}'],
    ['a\\', 'trailing backslash at end of expression'],
    ['*a*', 'missing argument to repetition operator'],
  ] as const)
    assert.equal(checkExpression(expression)?.replace(/: \*$/, ''), expected, expression)
  assert.equal(checkExpression('x'.repeat(1_000)), undefined)
  assert.match(checkExpression('x'.repeat(1_001)) ?? '', /at most 1000 characters/)
  assert.match(checkExpression('(?:.{0,500}x){0,2}.{1000}.{1000}') ?? '', /at most 2500/)
})

test('Q26 no text is too strange to be refused in words', () => {
  const parts = fc.constantFrom(
    ...[
      '(',
      ')',
      '(?',
      '(?P<a>',
      '(?i',
      '-',
      ':',
      '[',
      '[^',
      '[[:',
      ':]]',
      ']',
      '{1,',
      '{2}',
      '}',
      '*',
      '+',
      '?',
    ],
    ...[
      '|',
      '\\',
      '\\p{',
      '\\x{',
      '\\Q',
      '\\E',
      '\\C',
      'a',
      'L',
      '}',
      '0',
      '\ud83d',
      '\ude00',
      '😀',
      '\u0000',
    ],
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(parts, fc.string({ unit: 'binary' })), { maxLength: 20 }), list => {
      const expression = list.join('')
      if (checkExpression(expression) === undefined) compileExpression(expression).test('a😀')
    }),
    runs(300, 100_000),
  )
})

test('Q26 no expression takes more than a bounded number of steps for each character', () => {
  const long = 'a'.repeat(repeats(50_000, 200_000))
  for (const expression of [
    '(a*)*b',
    '(a|a)*b',
    '(a|aa)+$b',
    'a*a*a*a*b',
    '(?:a?){500}b',
    '(?:a?){40}a{40}b',
    '.*.*.*=',
    '(?:(?:a{1,3}){1,3}){1,3}b',
  ]) {
    const match = compileExpression(expression).test
    // With backtracking, most of them would practically never end.
    for (const length of [10, 30, 100, 1_000]) assert.equal(match('a'.repeat(length)), false, expression)
    assert.equal(
      match(`${long}b`.slice(1_000)),
      /[b]$/.test(expression) && !/\$b$/.test(expression),
      expression,
    )
  }
})

/** Parts of expressions in more dialects than RE2's, with few letters, so that they match sometimes. */
const atom = fc.constantFrom(
  ...[
    'a',
    'b',
    'k',
    'K',
    's',
    'ſ',
    'é',
    'É',
    'ß',
    'σ',
    '😀',
    ' ',
    '\n',
    '-',
    '1',
    '_',
    '.',
    '.',
    '\\d',
    '\\D',
    '\\w',
  ],
  ...[
    '\\W',
    '\\s',
    '\\S',
    '^',
    '$',
    '\\A',
    '\\z',
    '\\b',
    '\\B',
    '[ab]',
    '[^ab]',
    '[a-z]',
    '[^\\d\\s]',
    '[é-σ]',
    '[K]',
  ],
  ...[
    '[[:alpha:]]',
    '[^[:punct:]]',
    '[[:^upper:]x]',
    '[]a]',
    '[a-]',
    '[\\]\\-^]',
    '\\n',
    '\\x{1F600}',
    '\\x6b',
    '\\101',
  ],
  ...[
    '\\Qa.*\\E',
    '\\.',
    '\\{',
    '\\\\',
    '{',
    '{,1}',
    '(?i)',
    '(?s)',
    '(?m)',
    '(?-i)',
    '/',
    '#',
    '&',
    '~',
    '"',
    '[&&a]',
  ],
)
const quantifier = fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{2}', '{1,2}', '{0}', '{2,}', '{0,3}?')
const expressions = fc
  .letrec<{ all: string; item: string }>(tie => ({
    all: fc
      .array(fc.array(tie('item'), { maxLength: 4 }), { minLength: 1, maxLength: 3 })
      .map(branches => branches.map(items => items.join('')).join('|')),
    item: fc.oneof(
      { maxDepth: 3 },
      atom,
      fc.tuple(atom, quantifier).map(parts => parts.join('')),
      fc
        .tuple(
          fc.constantFrom('(', '(?:', '(?i:', '(?s-i:', '(?m:', '(?P<n>'),
          tie('all'),
          fc.constantFrom(')', ')*', ')+', ')?', '){2}', '){0,2}'),
        )
        .map(parts => parts.join('')),
    ),
  }))
  .all.filter(expression => checkExpression(expression) === undefined)

const unit = fc.constantFrom(
  ...[
    'a',
    'b',
    'k',
    'K',
    '\u212a',
    's',
    'S',
    'ſ',
    'é',
    'É',
    'e\u0301',
    'ß',
    'ẞ',
    'σ',
    'ς',
    'Σ',
    '😀',
    '\n',
    '\r',
    ' ',
    '\u00a0',
    '\u2028',
  ],
  ...[
    '-',
    '1',
    '٣',
    '_',
    '.',
    '*',
    '{',
    '}',
    '\\',
    ']',
    '^',
    '/',
    'İ',
    'ı',
    'I',
    'i',
    '#',
    '&',
    '~',
    '"',
    '\v',
    '\u0085',
  ],
)
const texts = fc.string({ unit, maxLength: 8 })
const torn = fc.string({ unit: fc.oneof(unit, fc.constantFrom('\ud83d', '\ude00', '\u0000')), maxLength: 8 })

test('Q26 whichever engine matches, the answer is RE2’s', () => {
  fc.assert(
    fc.property(
      expressions,
      fc.array(fc.oneof(texts, torn), { minLength: 5, maxLength: 20 }),
      (expression, list) => {
        const [own, library] = [compileExpression(expression), RE2JS.compile(expression)]
        for (const text of list) {
          const expected = library.test(text)
          assert.equal(own.test(text), expected, JSON.stringify([expression, text]))
          const [before, bytes] = [Buffer.from('é😀'), Buffer.from(text)]
          const between = Buffer.concat([before, bytes, before])
          if (text.isWellFormed())
            assert.equal(own.testBytes(between, before.length, before.length + bytes.length), expected)
        }
      },
    ),
    runs(500, 200_000),
  )
})

test('Q26 an expression with too many states for an automaton matches what RE2 matches', () => {
  for (const expression of [
    '(a|b)*a(a|b){12}c',
    '(?:.{20}x|.{30}y)$',
    '(?i)[k-s]{900}',
    '[^x]{400}[é-σ]{300}z',
  ]) {
    const [own, library] = [compileExpression(expression), RE2JS.compile(expression)]
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', 'c', 'k', 'ſ', 'x', 'y', 'é'),
      maxLength: 2_000,
    })
    fc.assert(
      fc.property(text, one =>
        assert.equal(own.test(one), library.test(one), JSON.stringify([expression, one])),
      ),
      runs(100, 5_000),
    )
  }
})

test('Q26 letters that differ only by case are the same ones for every engine', () => {
  // In CI a third of them, both upper and lower case.
  for (let code = 0; code < 0x2_0000; code += repeats(3, 1)) {
    const letter = String.fromCodePoint(code)
    const others = [letter.toLowerCase(), letter.toUpperCase(), letter.toUpperCase().toLowerCase()]
    if (others.every(other => other === letter) || code === 0xa64a) continue
    const expression = `(?i)^[\\x{${code.toString(16)}}]$`
    const [own, library] = [compileExpression(expression), RE2JS.compile(expression)]
    for (const other of others) assert.equal(own.test(other), library.test(other), `${letter} ${other}`)
  }
})

test('Q26 PostgreSQL answers as every other engine does', async t => {
  const client = new pg.Client({ connectionString: await serverUrl() })
  await client.connect()
  t.after(async () => {
    await client.end()
    await closeDatabases()
  })
  const pairs = fc.sample(
    fc.tuple(expressions, fc.array(texts, { minLength: 8, maxLength: 8 })),
    runs(250, 50_000),
  )
  let [tried, matched] = [0, 0]
  for (const [expression, list] of pairs) {
    const translated = postgresExpression(expression)
    if (translated === undefined) {
      assert.match(postgresRefusal(expression) ?? '', /repeats (too much|no anchors)/)
      continue
    }
    const { rows } = await client
      .query<{ found: boolean }>(
        'SELECT t ~ $1 AS found FROM unnest($2::text[]) WITH ORDINALITY AS x(t, n) ORDER BY n',
        [translated, list],
      )
      .catch((cause: unknown) => {
        throw new Error(`${expression} as ${translated}`, { cause })
      })
    const own = list.map(compileExpression(expression).test)
    assert.deepEqual(
      rows.map(({ found }) => found),
      own,
      JSON.stringify([expression, translated, list]),
    )
    tried += own.length
    matched += own.filter(found => found).length
  }
  assert.ok(matched > tried / 10 && matched < tried * 0.9, `${matched} of ${tried}`)
})
