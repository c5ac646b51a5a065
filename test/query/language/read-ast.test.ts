import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Node, printAst, QueryError } from '../../../src/query/language/node.ts'
import { readAst } from '../../../src/query/language/read-ast.ts'

function errorOf(text: string): QueryError {
  try {
    readAst(text)
  } catch (error) {
    assert.ok(error instanceof QueryError, String(error))
    return error
  }
  return assert.fail(`it was read: ${text.slice(0, 100)}`)
}

test('Q14 an AST is read as it was written, with a JSON pointer for each part', () => {
  const query = readAst(' [ "=" , {"a/b": [1.50, null], "c~": true}, "\\u00e9\\n" ] ')
  const at = (pointer: string) => ({ pointer })
  const expected: Node = {
    kind: 'array',
    at: at(''),
    items: [
      { kind: 'text', text: '=', at: at('/0') },
      {
        kind: 'object',
        at: at('/1'),
        members: new Map<string, Node>([
          [
            'a/b',
            {
              kind: 'array',
              at: at('/1/a~1b'),
              items: [
                { kind: 'number', text: '1.50', at: at('/1/a~1b/0') },
                { kind: 'null', at: at('/1/a~1b/1') },
              ],
            },
          ],
          ['c~', { kind: 'boolean', value: true, at: at('/1/c~0') }],
        ]),
      },
      { kind: 'text', text: 'é\n', at: at('/2') },
    ],
  }
  assert.deepEqual(query, expected)
})

test('Q23 an AST is printed with its numbers as they were written', () => {
  const texts = [
    '["=","a",12345678901234567890.10]',
    '[1e400,-0,1.0,0.1000000000000000055]',
    '[]',
    '{}',
    '{"a":[{"b":null}],"c":false,"":"\\"\\\\\\n\\ud800"}',
    '"x"',
    'null',
  ]
  for (const text of texts) assert.equal(printAst(readAst(text)), text)
})

test('Q14 what is no JSON is refused at its character', () => {
  for (const [text, position, pointer, message] of [
    ['', 0, '', /it is empty/],
    [' \n ', 3, '', /it is empty/],
    ['[', 1, '/0', /a value is expected/],
    ['["a"', 4, '', /a closing bracket ] is expected/],
    ['["a" "b"]', 5, '', /a comma is expected/],
    ['["a",]', 5, '/1', /a value is expected/],
    ['[,]', 1, '/0', /a value is expected/],
    ["['a']", 1, '/0', /strings must be in double quotes/],
    ['["a]', 1, '/0', /no closing quote/],
    ['["a\nb"]', 3, '/0', /a control character/],
    ['["\\x"]', 2, '/0', /an unknown escape/],
    ['["\\u12g4"]', 2, '/0', /four hexadecimal digits/],
    ['["a\\', 1, '/0', /no closing quote/],
    ['[01]', 1, '/0', /a malformed number/],
    ['[1.]', 1, '/0', /a malformed number/],
    ['[-]', 1, '/0', /a malformed number/],
    ['[1e5.5]', 1, '/0', /a malformed number/],
    ['[+1]', 1, '/0', /not JSON; strings/],
    ['[truee]', 1, '/0', /not JSON; strings/],
    ['[NaN]', 1, '/0', /not JSON; strings/],
    ['{"a" 1}', 5, '/a', /a colon is expected/],
    ['{a: 1}', 1, '', /a key in double quotes/],
    ['{"a": 1,}', 8, '', /a key in double quotes/],
    ['{"a": 1', 7, '', /a closing brace } is expected/],
    ['["a"] x', 6, '', /text after its end/],
    ['["a"]["b"]', 5, '', /text after its end/],
    ['[1] // x', 4, '', /text after its end/],
    ['[/* x */ 1]', 1, '/0', /not JSON; strings/],
    ['\ufeff[1]', 0, '', /not JSON; strings/],
  ] as const) {
    const error = errorOf(text)
    assert.match(error.message, message, text)
    assert.match(error.message, new RegExp(`at character ${position}\\.$`), text)
    assert.deepEqual([error.at, error.members], [{ pointer }, { position }], text)
  }
})

test('Q14 an object with a key twice is refused', () => {
  const error = errorOf('["=", "a", {"x": 1, "y": 2, "x": 3}]')
  assert.match(error.message, /has the key "x" twice, at character 28\.$/)
  assert.deepEqual(error.at, { pointer: '/2/x' })
  assert.equal(errorOf('{"a": 1, "\\u0061": 2}').members.position, 9)
})

test('Q14 a list of tens of thousands is read; more parts, more depth and longer numbers than the bounds are not', () => {
  const list = (length: number) => `["in","a",["array",[${'5,'.repeat(length - 1)}5]]]`
  assert.equal(printAst(readAst(list(90_000))), list(90_000))
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  assert.equal(printAst(readAst(nested(100))), nested(100))
  assert.match(errorOf(list(100_000)).message, /more than 100,000 parts/)
  assert.match(errorOf(nested(101)).message, /nested more than 100 deep/)
  assert.match(errorOf('{"a":'.repeat(150_000)).message, /nested more than 100 deep/)
  assert.match(errorOf('1'.repeat(1_001)).message, /more than 1,000 characters/)
  assert.match(errorOf(' '.repeat(1_000_001)).message, /longer than 1,000,000 characters/)
  assert.ok(readAst(`["${'['.repeat(500_000)}"]`), 'brackets in texts nest nothing')
})
