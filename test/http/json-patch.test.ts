import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastify from 'fastify'
import { outside } from '../../src/http/access.ts'
import { patchBody, readOperation } from '../../src/http/json-patch.ts'
import { Problem } from '../../src/http/problems.ts'
import { tokensOf } from '../../src/lib/json-pointer.ts'

/** Reads a JSON Patch (RFC 6902) as a list of operations with their paths in tokens. */
const read = (patch: readonly unknown[]) => patch.map((one, index) => readOperation(one, index))

test('operations are read with the tokens of their paths, and members that they do not define are ignored', () => {
  assert.deepEqual(
    read([
      { op: 'add', path: '/metadata/dc.title/-', value: { value: 'a' }, from: 3, comment: 1 },
      { op: 'move', from: '/a~1b/0', path: '/m~0n~01' },
      { op: 'remove', path: '', value: 1 },
      { op: 'replace', path: '/x', value: null },
    ]),
    [
      {
        index: 0,
        op: 'add',
        pointer: '/metadata/dc.title/-',
        path: ['metadata', 'dc.title', '-'],
        from: null,
        value: { value: 'a' },
      },
      { index: 1, op: 'move', pointer: '/m~0n~01', path: ['m~n~1'], from: ['a/b', '0'], value: undefined },
      { index: 2, op: 'remove', pointer: '', path: [], from: null, value: undefined },
      { index: 3, op: 'replace', pointer: '/x', path: ['x'], from: null, value: null },
    ],
  )
  assert.deepEqual(read([]), [])
})

test('a wrong operation is named by its index, and nothing of the body but the rule is told', () => {
  const right = { op: 'add', path: '/a', value: 1 }
  for (const [wrong, message] of [
    [null, /it must be an object/],
    [['add'], /must be an object/],
    [{ path: '/a', value: 'secret' }, /op must be one of add, remove/],
    [{ op: 'toString', path: '/a' }, /op must be/],
    [{ op: 'add', value: 'secret' }, /path must be a string/],
    [{ op: 'add', path: 'secret', value: 1 }, /path must be a JSON Pointer/],
    [{ op: 'add', path: '/a~2', value: 1 }, /JSON Pointer/],
    [{ op: 'add', path: '/a~', value: 1 }, /JSON Pointer/],
    [{ op: 'add', path: '/\ud800', value: 1 }, /JSON Pointer/],
    [{ op: 'add', path: '/a'.repeat(17), value: 1 }, /at most 16 parts/],
    [{ op: 'add', path: `/${'a'.repeat(1_024)}`, value: 1 }, /JSON Pointer/],
    [{ op: 'replace', path: '/a' }, /replace needs a value/],
    [{ op: 'move', path: '/a' }, /move needs from/],
    [{ op: 'copy', path: '/a', from: 'b' }, /from must be a JSON Pointer/],
  ] as const)
    assert.throws(
      () => read([right, wrong]),
      (error: unknown) =>
        error instanceof Problem &&
        error.code === 'patch-refused' &&
        error.message.startsWith('Operation 1: ') &&
        message.test(error.message) &&
        !error.message.includes('secret'),
      JSON.stringify(wrong),
    )
})

test('what is no list of operations, and too many of them are refused as a whole', async () => {
  const app = fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.patch('/', { config: { access: outside() } }, async request => {
    try {
      return { read: patchBody(request, { operations: 2, bytes: 200 }).length }
    } catch (error) {
      return { code: error instanceof Problem ? error.code : String(error) }
    }
  })
  const answer = async (patch: unknown) =>
    (
      await app.inject({
        method: 'PATCH',
        url: '/',
        headers: { 'content-type': 'application/json-patch+json' },
        payload: JSON.stringify(patch),
      })
    ).json<unknown>()
  for (const patch of [{}, null, 'a']) assert.deepEqual(await answer(patch), { code: 'bad-request' })
  const one = { op: 'remove', path: '/a' }
  assert.deepEqual(await answer([one, one]), { read: 2 })
  assert.deepEqual(await answer([one, one, one]), { code: 'patch-refused' })
  assert.deepEqual(await answer([{ ...one, path: `/${'a'.repeat(200)}` }]), { code: 'patch-refused' })
})

test('pointers follow the examples of RFC 6901', () => {
  const bounds = { characters: 10, tokens: 2 }
  for (const [pointer, tokens] of [
    ['', []],
    ['/foo', ['foo']],
    ['/foo/0', ['foo', '0']],
    ['/', ['']],
    ['/a~1b', ['a/b']],
    ['/c%d', ['c%d']],
    ['/ ', [' ']],
    ['/m~0n', ['m~n']],
  ] as const)
    assert.deepEqual(tokensOf(pointer, bounds), tokens)
  assert.equal(tokensOf('foo', bounds), undefined)
})
