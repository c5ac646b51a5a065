import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesText } from '../../src/model/trail.ts'

test('changes are JSON of at most some kB, and what is cut says so', () => {
  const small = { before: { email: 'a@b' }, after: { email: 'c@d', groups: ['x', 'y'] } }
  assert.deepEqual(JSON.parse(changesText(small)), small)
  assert.equal(changesText({ before: null, after: {} }), '{"before":null,"after":{}}')
  const cut = JSON.parse(changesText({ before: { a: 'x'.repeat(5_000), b: 1 }, after: null }))
  assert.deepEqual(cut, { before: { a: `${'x'.repeat(250)}…`, b: 1 }, after: null })
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`name ${at}`, at]))
  for (const value of [
    many,
    { many },
    { list: Object.keys(many) },
    { ['n'.repeat(5_000)]: '\0'.repeat(999) },
  ]) {
    const text = changesText({ before: value, after: value })
    assert.ok(text.length < 6_000, `${text.length}`)
    assert.match(text, /…/)
    JSON.parse(text)
  }
})

test('changes have neither NUL nor half a character, which PostgreSQL could not read back', () => {
  const wrong = { 'a\0': 'b\0\ud800c', d: ['\\u0000', '\udfff'], e: `${'x'.repeat(249)}😀${'y'.repeat(900)}` }
  const { after } = JSON.parse(changesText({ before: null, after: wrong })) as {
    after: Record<string, unknown>
  }
  assert.equal(after['a\uFFFD'], 'b\uFFFD\uFFFDc')
  assert.deepEqual(after.d, ['\\u0000', '\uFFFD'])
  assert.ok(JSON.stringify(after).isWellFormed())
})
