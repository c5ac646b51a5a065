import assert from 'node:assert/strict'
import { readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import {
  addUpload,
  createUploads,
  dataOf,
  discardUpload,
  listUploads,
  newUploadId,
} from '../../../src/admin/uploads/folder.ts'
import { holdExclusively } from '../../../src/admin/uploads/lock.ts'
import { repeats } from '../../support/scale.ts'
import { temporaryFolder } from '../../support/service/service.ts'

const eperson = '6f1c2d2e-52a6-4a3c-8f0e-3f1f2f6b2d11'

async function added(folder: string): Promise<string> {
  const id = newUploadId()
  await addUpload(folder, id, { eperson, size: 3, metadata: {}, begun: new Date().toISOString() })
  writeFileSync(dataOf(folder, id), 'abc')
  return id
}

test('UP1 an upload that is removed while something is made of it is there as a whole, or not at all', async t => {
  const folder = temporaryFolder(t)
  const uploads = createUploads(folder)
  for (let at = 0; at < repeats(300, 3000); at++) {
    const id = await added(folder)
    const take = () => uploads.take(id, eperson)
    const discard = () => discardUpload(folder, id)
    const discarding = at % 2 ? undefined : discard()
    const [upload, removed] = await Promise.all([take(), discarding ?? discard()])
    assert.ok(!upload || removed !== 'removed')
    await (upload ? upload.release(true) : discard())
  }
  assert.deepEqual([await listUploads(folder), readdirSync(folder)], [[], []])
  assert.equal(await discardUpload(folder, newUploadId()), 'missing')
})

test('UP1 PR4 of all who want what an ended program held, one gets it', async t => {
  const folder = temporaryFolder(t)
  // No process has this number.
  const ended = JSON.stringify([hostname(), 2 ** 30, '1'])
  for (let at = 0; at < repeats(100, 1000); at++) {
    const path = join(folder, String(at))
    writeFileSync(`${path}.1`, ended)
    const all = await Promise.all(Array.from({ length: 8 }, () => holdExclusively(path)))
    assert.equal(all.filter(Boolean).length, 1, `round ${at}`)
  }
  assert.equal(readdirSync(folder).length, repeats(100, 1000))
})

test('UP1 nobody holds what someone else holds, however many want it and give it back', async t => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'held')
  let [holders, times] = [0, 0]
  async function want(): Promise<void> {
    while (times < repeats(50, 2_000)) {
      const held = await holdExclusively(path)
      if (held === null) continue
      times++
      assert.equal(++holders, 1)
      await setImmediate()
      holders--
      rmSync(held)
    }
  }
  await Promise.all(Array.from({ length: 8 }, want))
  assert.deepEqual(readdirSync(folder), [])
})

test('UP1 a holder that was silent for too long holds it no more, but only for those who say so', async t => {
  const path = join(temporaryFolder(t), 'lock')
  const first = await holdExclusively(path)
  assert.ok(first)
  utimesSync(first, new Date(), new Date(Date.now() - 60_000))
  assert.equal(await holdExclusively(path), null)
  assert.equal(await holdExclusively(path, 90_000), null)
  const second = await holdExclusively(path, 30_000)
  assert.ok(second)
  assert.notEqual(second, first)
  assert.equal(await holdExclusively(path, 30_000), null)
})

test('UP1 a holder of which a failure of the machine has left no name holds nothing', async t => {
  const path = join(temporaryFolder(t), 'held')
  writeFileSync(`${path}.1`, Buffer.alloc(40))
  assert.ok(await holdExclusively(path))
  assert.equal(await holdExclusively(path), null)
})
