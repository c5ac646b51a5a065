import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { buffer, text as textOf } from 'node:stream/consumers'
import { test } from 'node:test'
import { createTar, readTar } from '../../src/lib/tar.ts'

/**
 * An error of a broken archive. Archives here are Carrel's own; those of other programs are in
 * `test/items/ingest/unpack.test.ts`.
 */

class Broken extends Error {}

const reader = (bytes: Iterable<Buffer> | AsyncIterable<Buffer>, whole = true) =>
  readTar({ input: Readable.from(bytes), whole, broken: (why, cause) => new Broken(why, { cause }) })

async function filesIn(bytes: Iterable<Buffer>, whole?: boolean): Promise<[string, string][]> {
  const found: [string, string][] = []
  for await (const { name, content } of reader(bytes, whole)) found.push([name, await textOf(content())])
  return found
}

async function written(files: readonly (readonly [string, string])[]): Promise<Buffer> {
  const out = new PassThrough()
  const tar = createTar(out)
  const all = buffer(out)
  await Promise.all(files.map(([name, text]) => tar.add(name, Buffer.byteLength(text), [Buffer.from(text)])))
  await tar.end()
  out.end()
  return all
}

/**
 * Returns the header of a file as in backups of version 1, in the POSIX form, with sizes above 8 GB in the
 * form of GNU tar.
 */
function olderHeader(name: string, size: number): Buffer {
  const bytes = Buffer.alloc(512)
  bytes.write(name)
  bytes.write('0000600\x000000000\x000000000\0', 100)
  if (size < 8 ** 11) bytes.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  else {
    bytes[124] = 0x80
    bytes.writeBigUInt64BE(BigInt(size), 128)
  }
  bytes.write('15000000000\x00        0', 136)
  bytes.write('ustar\x0000', 257)
  const sum = bytes.reduce((all, byte) => all + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return bytes
}

const place = `contents/ab/cd/${'a'.repeat(64)}`
const files = [
  [place, 'x'.repeat(1500)],
  ['empty', ''],
  [`${'folder/'.repeat(60)}${'ü'.repeat(100)}`, 'long'],
  ['zeros', '\0'.repeat(1024)],
] as const

test('D8 an archive has what was put in, in order, whatever the length of names', async () => {
  const bytes = await written(files)
  assert.deepEqual(await filesIn([bytes]), files)
  assert.deepEqual(await filesIn(Array.from(bytes, byte => Buffer.of(byte))), files)
  const older = [olderHeader(place, 3), Buffer.from('abc'), Buffer.alloc(509), Buffer.alloc(1024)]
  assert.deepEqual(await filesIn(older), [[place, 'abc']])
})

test('D8 an archive that breaks off anywhere, or is damaged, is refused', async () => {
  const bytes = await written(files.with(3, ['last', 'y'.repeat(700)]))
  for (let length = 0; length < bytes.length; length += length % 512 === 0 ? 1 : 511)
    await assert.rejects(filesIn([bytes.subarray(0, length)]), Broken, String(length))
  const damaged = Buffer.from(bytes)
  damaged.write('y', 3)
  await assert.rejects(filesIn([damaged]), Broken)
  await assert.rejects(filesIn([Buffer.from('x'.repeat(2000))]), Broken)
  assert.deepEqual(await filesIn([bytes.subarray(0, 2048)], false), [files[0]])
  const fault = Object.assign(new Error('the disk'), { code: 'EIO', syscall: 'read' })
  async function* failing() {
    yield bytes.subarray(0, 600)
    throw fault
  }
  const broken = reader(failing())
  await assert.rejects(async () => {
    for await (const entry of broken) await textOf(entry.content())
  }, fault)
})

test('D8 a file of more than 8 GB has its size, and one that is not as long as it was ends the archive', async () => {
  const size = 9 * 2 ** 30
  const out = new PassThrough()
  const tar = createTar(out)
  const begun = once(out, 'data') as Promise<[Buffer]>
  async function* tooShort() {
    yield* await begun
  }
  await assert.rejects(tar.add(place, size, tooShort()), /changed while it was being read/)
  const [head] = await begun
  for (const header of [head.subarray(0, 512), olderHeader(place, size)])
    await assert.rejects(async () => {
      for await (const entry of reader([header, Buffer.alloc(512)])) {
        assert.deepEqual([entry.name, entry.size, entry.kind], [place, size, 'file'])
        await textOf(entry.content())
      }
    }, Broken)
})
