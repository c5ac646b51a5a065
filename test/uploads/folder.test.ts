import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { addUpload, dataOf, discardUpload, hold, listUploads, newUploadId } from '../../src/uploads/folder.ts'
import { createUploads } from '../../src/uploads/uploads.ts'
import { repeats } from '../support/scale.ts'
import { temporaryFolder } from '../support/service/service.ts'

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
    const pause = Promise.resolve()
    const some = [
      () => uploads.take(id, eperson).then(upload => (upload ? 'taken' : 'not taken')),
      () => discardUpload(folder, id),
    ]
    const [one, other] = await Promise.all((at % 2 ? some : some.toReversed()).map(each => pause.then(each)))
    const [isTaken, removed] = at % 2 ? [one, other] : [other, one]
    assert.notDeepEqual([isTaken, removed], ['taken', 'removed'])
    if (isTaken === 'taken') await uploads.release({ id, eperson, name: null, size: 3, path: '' }, true)
    else await discardUpload(folder, id)
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
    writeFileSync(path, ended)
    const all = await Promise.all(Array.from({ length: 8 }, () => hold(path)))
    assert.equal(all.filter(Boolean).length, 1, `round ${at}`)
  }
  assert.equal(readdirSync(folder).length, repeats(100, 1000))
})
