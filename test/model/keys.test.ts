import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { macWith } from '../../src/lib/hmac.ts'
import { runs } from '../support/scale.ts'

const hex = (text: string) => Buffer.from(text, 'hex')
const expected = (key: Uint8Array, message: Uint8Array) =>
  createHmac('sha256', key).update(message).digest('hex')

/** RFC 4231 §4.2–4.8; the tag of §4.6 is cut to 128 bits there. */
const vectors: readonly (readonly [key: Buffer, message: Buffer, tag: string])[] = [
  [
    Buffer.alloc(20, 0x0b),
    Buffer.from('Hi There'),
    'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
  ],
  [
    Buffer.from('Jefe'),
    Buffer.from('what do ya want for nothing?'),
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  ],
  [
    Buffer.alloc(20, 0xaa),
    Buffer.alloc(50, 0xdd),
    '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe',
  ],
  [
    hex('0102030405060708090a0b0c0d0e0f10111213141516171819'),
    Buffer.alloc(50, 0xcd),
    '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
  ],
  [Buffer.alloc(20, 0x0c), Buffer.from('Test With Truncation'), 'a3b6167473100ee06e0c796c2955552b'],
  [
    Buffer.alloc(131, 0xaa),
    Buffer.from('Test Using Larger Than Block-Size Key - Hash Key First'),
    '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
  ],
  [
    Buffer.alloc(131, 0xaa),
    Buffer.from(
      'This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.',
    ),
    '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
  ],
]

test('T1 macWith gives the tags of RFC 4231', () => {
  for (const [key, message, tag] of vectors)
    assert.equal(macWith(key)(message).toString('hex').slice(0, tag.length), tag)
})

test('T1 macWith gives what createHmac gives, for keys and messages of every length', () => {
  const bytes = (most: number) => fc.uint8Array({ maxLength: most })
  fc.assert(
    fc.property(bytes(200), bytes(3_000), (key, message) => {
      assert.equal(macWith(key)(message).toString('hex'), expected(key, message))
    }),
    runs(300, 3_000),
  )
})

test('T1 macWith is right at the edges of the block and of its own buffer', () => {
  for (const keyLength of [0, 1, 63, 64, 65, 128])
    for (const length of [0, 1, 55, 56, 63, 64, 65, 1_023, 1_024, 1_025, 9_000, 10]) {
      const [key, message] = [Buffer.alloc(keyLength, 0xa5), Buffer.alloc(length, 0x5a)]
      assert.equal(macWith(key)(message).toString('hex'), expected(key, message), `${keyLength}/${length}`)
    }
})

test('T1 macWith takes a text as Latin-1 and may be used again and in turns', () => {
  const [one, other] = [macWith(Buffer.from('one')), macWith(Buffer.from('other'))]
  const text = 'façade ÿ'
  for (let round = 0; round < 3; round++) {
    assert.equal(one(text).toString('hex'), expected(Buffer.from('one'), Buffer.from(text, 'latin1')))
    assert.equal(other(text).toString('hex'), expected(Buffer.from('other'), Buffer.from(text, 'latin1')))
  }
})
