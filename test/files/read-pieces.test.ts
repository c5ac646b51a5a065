import assert from 'node:assert/strict'
import { createHash, hash, randomBytes } from 'node:crypto'
import { truncateSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openedFile } from '../../src/files/opened.ts'
import { createPieceReader, type PieceReader } from '../../src/files/read-pieces.ts'
import { createCounter } from '../../src/lib/counter.ts'
import { temporaryFolder } from '../support/service/service.ts'

const megabyte = 1024 ** 2
const large = 512 * 1024
const largePieces = createCounter()
const content = randomBytes(40 * megabyte)
const whole = { start: 0, end: content.length - 1 }

function fileOf(t: TestContext): string {
  const path = join(temporaryFolder(t), 'content')
  writeFileSync(path, content)
  return path
}

async function readerOf(t: TestContext, path: string): Promise<PieceReader> {
  const file = await openedFile(await open(path))
  const reader = createPieceReader(file, largePieces)
  t.after(async () => {
    reader.close()
    await file.close()
  })
  return reader
}

/**
 * Stops the clock by which clients are found to be slow, so that no client is slow because of this machine.
 * @returns a function that advances it by the given ms
 */
function stoppedClock(t: TestContext): (ms: number) => void {
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  return ms => {
    now += ms
  }
}

/**
 * Reads pieces without a pause until there is a large one, or nothing more. @returns the last one, not
 * released
 */
async function untilLarge(reader: PieceReader): Promise<Buffer | undefined> {
  const pieces = reader.read(whole)
  for (;;) {
    const { value, done } = await pieces.next()
    if (done) return undefined
    if (value.length === large) return value
    reader.release(value)
  }
}

test('F2 a fast client gets every byte once and in order, in large pieces after the first 16 MiB', async t => {
  stoppedClock(t)
  const reader = await readerOf(t, fileOf(t))
  const sizes: number[] = []
  const sum = createHash('sha256')
  for await (const piece of reader.read(whole)) {
    sum.update(piece)
    sizes.push(piece.length)
    reader.release(piece)
  }
  assert.equal(sum.digest('hex'), hash('sha256', content))
  assert.ok(
    sizes.indexOf(large) >= (16 * megabyte) / (64 * 1024),
    `the first is number ${sizes.indexOf(large)}`,
  )
  assert.ok(sizes.every(size => size === large || size === 64 * 1024))
})

test('F2 a client that stalls gets small pieces again', async t => {
  const letPass = stoppedClock(t)
  const reader = await readerOf(t, fileOf(t))
  const pieces = reader.read(whole)
  let piece = await pieces.next()
  while (piece.value?.length !== large) {
    if (piece.value) reader.release(piece.value)
    piece = await pieces.next()
  }
  letPass(150)
  reader.release(piece.value)
  // The next piece was read ahead.
  for (const size of [large, 64 * 1024, 64 * 1024]) {
    piece = await pieces.next()
    assert.equal(piece.value?.length, size)
    if (piece.value) reader.release(piece.value)
  }
  await pieces.return()
})

test('F2 all transfers together hold 16 MiB in large pieces at most, and the next gets what others give back', async t => {
  stoppedClock(t)
  const path = fileOf(t)
  const readers: PieceReader[] = []
  let held = 0
  for (;;) {
    const reader = await readerOf(t, path)
    const piece = await untilLarge(reader)
    if (!piece) break
    // A second piece is read ahead.
    readers.push(reader)
    held += 2 * piece.length
  }
  assert.ok(held >= 8 * megabyte && held <= 16 * megabyte, `${held} bytes`)
  readers[0]?.close()
  assert.ok(await untilLarge(await readerOf(t, path)))
})

test('F2 a file that becomes shorter while it is read ahead is an error, after what was read before', async t => {
  stoppedClock(t)
  const path = fileOf(t)
  const reader = await readerOf(t, path)
  const pieces = reader.read(whole)
  let read = 0
  for (let size = 0; size !== large; read += size) {
    const { value } = await pieces.next()
    size = value?.length ?? 0
    if (value) reader.release(value)
  }
  truncateSync(path, 36 * megabyte)
  await assert.rejects(async () => {
    for await (const piece of pieces) {
      read += piece.length
      reader.release(piece)
    }
  }, /a content ends at byte \d+; run `carrel files verify`/)
  assert.equal(read, 36 * megabyte)
})
