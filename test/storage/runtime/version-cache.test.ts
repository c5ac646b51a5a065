import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RecordCache, VersionCache } from '../../../src/storage/runtime/version-cache.ts'

/** Reads a text from memory that threads can share, or makes it. */
const get = (
  memory: RecordCache,
  version: string,
  what: string,
  bytes: number,
  make: () => Promise<string>,
) => memory.get(version, what, bytes, async () => packed(await make()), unpacked)

function packed(text: string): Uint8Array<SharedArrayBuffer> {
  const bytes = new Uint8Array(new SharedArrayBuffer(Buffer.byteLength(text)))
  bytes.set(Buffer.from(text))
  return bytes
}
const unpacked = (bytes: Uint8Array) => Buffer.from(bytes).toString()

/** Makes values and counts how often. */
function maker() {
  const made: string[] = []
  return {
    made,
    make: (value: string) => async () => {
      made.push(value)
      return value
    },
  }
}

test('Q10 a cached value is not computed again, and is returned without a promise', async () => {
  const memory = new VersionCache(100)
  const { made, make } = maker()
  const [first, second] = [get(memory, 'v', 'a', 10, make('a')), get(memory, 'v', 'a', 10, make('a again'))]
  assert.equal(first, second, 'those who come meanwhile wait for the same')
  assert.equal(await first, 'a')
  assert.equal(get(memory, 'v', 'a', 10, make('a again')), 'a')
  assert.deepEqual(made, ['a'])
})

test('Q10 the least recently used value is evicted first', async () => {
  const memory = new VersionCache(100)
  const { made, make } = maker()
  for (const name of ['a', 'b', 'c', 'a', 'd']) await get(memory, 'v', name, 30, make(name))
  made.length = 0
  for (const name of ['a', 'c', 'd']) await get(memory, 'v', name, 30, make(name))
  assert.deepEqual(made, [])
  await get(memory, 'v', 'b', 30, make('b'))
  assert.deepEqual(made, ['b'])
})

test('Q10 a value larger than the whole cache is computed and returned once', async () => {
  const memory = new VersionCache(100)
  const { made, make } = maker()
  assert.equal(await get(memory, 'v', 'huge', 1_000, make('huge')), 'huge')
  assert.equal(await get(memory, 'v', 'small', 10, make('small')), 'small')
  assert.equal(await get(memory, 'v', 'small', 10, make('small')), 'small')
  await get(memory, 'v', 'huge', 1_000, make('huge'))
  assert.deepEqual(made, ['huge', 'small', 'huge'])
  assert.equal(memory.hasRoomFor(50), true)
  assert.equal(memory.hasRoomFor(51), false)
})

test('Q10 a failure is not cached', async () => {
  const memory = new VersionCache(100)
  const { make } = maker()
  await assert.rejects(
    async () => get(memory, 'v', 'a', 10, () => Promise.reject(new Error('no disk'))),
    /no disk/,
  )
  assert.equal(await get(memory, 'v', 'a', 10, make('a')), 'a')
})

test('D2 the values of a replaced version are removed', async () => {
  const memory = new VersionCache(100)
  const { made, make } = maker()
  await get(memory, 'old', 'a', 10, make('old'))
  await get(memory, 'new', 'a', 10, make('new'))
  memory.keepOnly(new Set(['new']))
  assert.equal(await get(memory, 'new', 'a', 10, make('new')), 'new')
  assert.equal(await get(memory, 'old', 'a', 10, make('old')), 'old')
  assert.deepEqual(made, ['old', 'new', 'old'])
})

test('D2 removing a value while it is being computed frees its room', async () => {
  const memory = new VersionCache(100)
  const { made, make } = maker()
  for (let round = 0; round < 20; round++) {
    let refuse = (_: Error) => {}
    const failing = get(
      memory,
      `v${round}`,
      'a',
      90,
      () => new Promise<string>((_, reject) => (refuse = reject)),
    )
    memory.keepOnly(new Set())
    refuse(new Error('too late'))
    await assert.rejects(async () => failing, /too late/)
  }
  // Three values of thirty bytes still fit.
  for (const name of ['a', 'b', 'c', 'a', 'b', 'c']) await get(memory, 'v', name, 30, make(name))
  assert.deepEqual(made, ['a', 'b', 'c'])
})

test('Q10 what was used since the oldest entries were found stays', async () => {
  const memory = new VersionCache(100)
  const { made, make } = maker()
  const use = async (names: string) => {
    for (const name of names) await get(memory, 'v', name, 10, make(name))
  }
  await use('abcdefghij')
  await use('k')
  await use('bc')
  await use('lm')
  made.length = 0
  await use('bcfghijklm')
  assert.deepEqual(made, [])
  await use('ade')
  assert.deepEqual(made, ['a', 'd', 'e'])
})
