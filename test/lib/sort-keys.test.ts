import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseExact, parseWritten } from '../../src/lib/json.ts'
import { mixedKey } from '../../src/lib/sort-keys.ts'
import { anyText, neighbours } from '../support/data/arbitrary-records.ts'
import { compareJson } from '../support/data/oracle.ts'
import { readJson } from '../support/data/raw-json.ts'
import { runs } from '../support/scale.ts'

const keyOf = (json: string) => mixedKey(parseExact(json))
const read = (json: string) => ({ json, key: keyOf(json), value: readJson(json) })

function assertOrder(one: ReturnType<typeof read>, other: ReturnType<typeof read>): void {
  const compared = one.key < other.key ? -1 : Number(one.key > other.key)
  if (compared !== Math.sign(compareJson(one.value, other.value)))
    assert.fail(`${one.json} and ${other.json}: ${compared}`)
}

test('Q6 keys of values of several kinds have the order of the values, however close these are', () => {
  const values = [
    ...['""', '"\\u0000"', '"a"', '"a\\u0000"', '"\\uffff"', '"\\ud800"', '"\u{10000}"', '"0"', '"[]"'],
    ...[
      '0',
      '-0',
      '1',
      '1.0',
      '10',
      '-1',
      '1e400',
      '-1e400',
      '1e-400',
      '-1e-400',
      '1.1',
      '1.10',
      '1e3',
      '1000',
    ],
    ...['9007199254740993', '9007199254740992', '0.1', '0.1000000000000000001', '5e-324', 'true', 'false'],
    ...neighbours,
  ]
  const nested = values.flatMap(value => [
    value,
    `[${value}]`,
    `[${value},0]`,
    `{"k":${value}}`,
    `[[${value}],""]`,
  ])
  // The notation of a number makes no difference.
  for (const json of nested) assert.equal(mixedKey(parseWritten(json)), keyOf(json), json)
  const all = nested.map(read)
  for (const one of all) for (const other of all) assertOrder(one, other)
})

test('Q6 keys of any values of several kinds have the order of the values', () => {
  const value = fc.letrec(tie => ({
    any: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom('null', 'true', 'false', '0', '1', '-1', '0.5', '12345678901234567890', '[]', '{}'),
      anyText.map(text => JSON.stringify(text)),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => JSON.stringify(number)),
      fc.array(tie('any'), { maxLength: 3 }).map(items => `[${items.join()}]`),
      fc
        .uniqueArray(fc.tuple(fc.oneof(fc.constantFrom('a', 'b', 'aa', 'ä'), anyText), tie('any')), {
          maxLength: 3,
          selector: ([name]) => name,
        })
        .map(members => `{${members.map(([name, one]) => `${JSON.stringify(name)}:${one}`).join()}}`),
    ),
  })).any as fc.Arbitrary<string>
  const isValue = (json: string) => json !== 'null'
  fc.assert(
    fc.property(value.filter(isValue), value.filter(isValue), (one, other) =>
      assertOrder(read(one), read(other)),
    ),
    runs(2_000, 100_000),
  )
})

test('Q6 the key of a long list or a deep one takes no more than a few bytes for each of the list', () => {
  const long = `[${Array(100_000).fill('1').join()}]`
  assert.ok(keyOf(long).length <= 2.5 * long.length)
  assertOrder(read(long), read(long.replace('1,', '2,')))
  const deep = `${'[['.repeat(500)}"${'a'.repeat(1_000)}"${']]'.repeat(500)}`
  assert.ok(keyOf(deep).length <= 2 * deep.length)
  const list = (size: number, element: string) => read(`[${Array(size).fill(element).join()}]`)
  for (const size of [254, 255, 256]) assertOrder(list(size, '9'), list(size + 1, '1'))
})
