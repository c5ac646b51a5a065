import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaChecks } from '../../src/lib/json-schema.ts'

const formats = { word: { accepts: (text: string) => /^\w+$/.test(text), takes: 'a word' } }
const compiled = schemaChecks({ formats })
const text = { type: 'string', minLength: 1, maxLength: 3, format: 'word' }
const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })
const closed = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
})
const check = compiled(
  closed(
    {
      name: text,
      size: { type: 'integer', minimum: 1, maximum: 2_000 },
      kind: orNull({ type: 'string', enum: ['text', 'integer'] }),
      always: { type: 'string', const: 'x' },
      list: orNull({ type: 'array', minItems: 1, maxItems: 2, items: text }),
      part: { anyOf: [text, closed({ to: text, type: { enum: ['a', 'b'] } }, ['to'])] },
      place: { ...closed({ env: text }), title: '{"env": "NAME"}' },
      self: { readOnly: true },
      open: { type: 'object', required: ['a'], properties: { a: text } },
    },
    ['name'],
  ),
)
const saidOf = (value: unknown) => {
  const fault = check(value)
  return fault && `/${fault.path.join('/')} ${fault.wrong}`
}

test('a fault says the place, what would be right, and what was there instead of it', () => {
  for (const [value, said] of [
    [5, '/ must be an object, not a number'],
    [[], '/ must be an object, not an array'],
    [null, '/ must be an object, not null'],
    [{}, '/name is missing'],
    [{ nam: 'a' }, '/nam is unknown; did you mean name?'],
    [{ name: 'a', selv: 1 }, '/selv is unknown; known are name, size, kind, always, list, part, place, open'],
    [{ name: 'a', self: { any: 1 } }, undefined],
    [{ name: true }, '/name must be a text, not true'],
    [{ name: '' }, '/name must have 1 to 3 characters, not 0'],
    [{ name: '🙂🙂🙂🙂' }, '/name must have 1 to 3 characters, not 4'],
    [{ name: 'a b' }, '/name must be a word'],
    [{ name: 'a', size: 1.5 }, '/size must be a whole number, not a number'],
    [{ name: 'a', size: 2_001 }, '/size must be 1 to 2,000'],
    [{ name: 'a', kind: 'intger' }, '/kind must be one of text, integer; did you mean integer?'],
    [{ name: 'a', kind: 5 }, '/kind must be one of text, integer'],
    [{ name: 'a', kind: null }, undefined],
    [{ name: 'a', always: 'y' }, '/always must be x'],
    [{ name: 'a', list: 'b' }, '/list must be an array or null, not a text'],
    [{ name: 'a', list: [] }, '/list must have 1 to 2 elements, not 0'],
    [{ name: 'a', list: [5, 5, 5] }, '/list must have 1 to 2 elements, not 3'],
    [{ name: 'a', list: ['b', 5] }, '/list/1 must be a text, not a number'],
    [{ name: 'a', part: 5 }, '/part must be a text or an object, not a number'],
    [{ name: 'a', part: {} }, '/part/to is missing'],
    [{ name: 'a', part: { too: 'b' } }, '/part/too is unknown; did you mean to?'],
    [{ name: 'a', part: { to: 'b', type: 'c' } }, '/part/type must be one of a, b; did you mean a?'],
    [{ name: 'a', place: 'secret' }, '/place must be {"env": "NAME"}'],
    [{ name: 'a', open: { b: 1 } }, '/open/a is missing'],
    [{ name: 'a', open: { a: 'b', c: 1 } }, undefined],
    [
      { name: 'a', 'a/b~c': 1 },
      '/a/b~c is unknown; known are name, size, kind, always, list, part, place, open',
    ],
  ] as const)
    assert.equal(saidOf(value), said, JSON.stringify(value))
})

test('a fault has the legal values, or the bounds, and the nearest one', () => {
  const partsOf = (value: unknown) => {
    const { legal, nearest } = check(value) ?? {}
    return { legal, nearest }
  }
  const kinds = ['text', 'integer']
  assert.deepEqual(partsOf({ name: 'a', kind: 'txt' }), { legal: kinds, nearest: 'text' })
  assert.deepEqual(partsOf({ name: 'abcd' }), { legal: { least: 1, most: 3 }, nearest: undefined })
})

test('names of the prototype are members like others, and change no object', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const value = JSON.parse(`{"name":"a","${name}":{"polluted":1}}`)
    assert.deepEqual(check(value)?.path, [name])
    assert.deepEqual(check(JSON.parse(`{"${name}":{"name":"a"}}`))?.path, [name])
  }
  assert.equal(({} as { polluted?: number }).polluted, undefined)
})

test('one schema with a name may be part of another several times', () => {
  const named = { $id: 'Named', type: 'string' }
  const both = compiled(closed({ one: named, other: { ...named, description: 'The other.' } }))
  assert.equal(both({ one: 'a', other: 'b' }), undefined)
  assert.deepEqual(both({ one: 'a', other: 5 })?.path, ['other'])
})
