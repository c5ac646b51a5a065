import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFileStore } from '../../src/files/file-store.ts'
import { readWhole } from '../../src/files/opened.ts'
import { filesIn } from '../support/data/archives.ts'
import { temporaryFolder } from '../support/service/service.ts'

const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')
const pathOf = (hash: string) => join(hash.slice(0, 2), hash.slice(2, 4), hash)

function prepare(t: TestContext) {
  const folder = temporaryFolder(t)
  const files = join(folder, 'files')
  const source = (content: string | Uint8Array) => {
    const path = join(folder, `source-${sha256(content).slice(0, 8)}`)
    writeFileSync(path, content)
    return path
  }
  const store = createFileStore(files)
  const read = async (hash: string) => {
    const file = await store.open(hash)
    try {
      return file && (await readWhole(file)).toString()
    } finally {
      await file?.close()
    }
  }
  return { files, source, store, read }
}

test('a file is kept under its SHA-256, readable by its owner only, and no temporary file is left', async t => {
  const { files, source, store, read } = prepare(t)
  const large = Buffer.alloc(3 * 1024 * 1024 + 1, 'large')
  for (const content of [Buffer.from(''), Buffer.from('small'), large]) {
    const hash = sha256(content)
    assert.deepEqual(await store.keep(source(content)), { sha256: hash, size: content.length })
    const path = join(files, pathOf(hash))
    assert.ok(readFileSync(path).equals(content))
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
  }
  assert.equal(filesIn(files).length, 3)
  assert.equal(await read(sha256('small')), 'small')
  assert.equal(await read(sha256('nothing')), undefined)
})

test('what is added to a folder that a group may read can be read by this group, too', async t => {
  const { files, source, store } = prepare(t)
  mkdirSync(files)
  chmodSync(files, 0o2750)
  const hash = sha256('shared')
  await store.keep(source('shared'))
  const path = join(files, pathOf(hash))
  assert.equal(statSync(path).mode & 0o7777, 0o640)
  // New folders inherit the setgid bit, which passes the group on.
  for (const folder of [join(path, '..'), join(path, '../..'), join(files, 'orphans')])
    assert.equal(statSync(folder).mode & 0o7777, 0o2750)
})

test('the same content is written once, even if it is kept many times at once', async t => {
  const { files, source, store } = prepare(t)
  const path = source('the same')
  await Promise.all(Array.from({ length: 20 }, () => store.keep(path)))
  assert.equal(filesIn(files).length, 1)
  const place = join(files, pathOf(sha256('the same')))
  const { ino } = statSync(place)
  await store.keep(path)
  assert.equal(statSync(place).ino, ino)
})

test('a damaged content is written again', async t => {
  const { files, source, store, read } = prepare(t)
  const large = 'x'.repeat(1_500_000)
  for (const content of ['the right one', large])
    for (const damage of [
      (path: string) => truncateSync(path, 3),
      (path: string) => writeFileSync(path, content.replace(/^./, '_')),
    ]) {
      const hash = sha256(content)
      await store.keep(source(content))
      damage(join(files, pathOf(hash)))
      await store.keep(source(content))
      assert.equal(await read(hash), content)
    }
})

test('a content among the orphans is delivered from there, and moves back when it is kept again', async t => {
  const { files, source, store, read } = prepare(t)
  const hash = sha256('an orphan')
  const content = await store.keep(source('an orphan'))
  const place = join(files, pathOf(hash))
  const orphan = join(files, 'orphans', hash)
  for (const restoreOrphan of [
    async () => assert.deepEqual(await store.keep(source('an orphan')), content),
    async () => assert.equal(await store.holds(content), true),
  ]) {
    utimesSync(place, 1, 1)
    renameSync(place, orphan)
    assert.equal(await read(hash), 'an orphan')
    await restoreOrphan()
    assert.deepEqual(filesIn(files), [pathOf(hash)])
    // Otherwise the next sweep would set it aside again.
    assert.ok(Date.now() - statSync(place).mtimeMs < 60_000)
  }
  // The state after a sweep that was killed before the deletion.
  renameSync(place, `${orphan}.3f0c`)
  assert.equal(await read(hash), 'an orphan')
})

test('a content is held if it is there with the right size', async t => {
  const { files, source, store } = prepare(t)
  const content = await store.keep(source('whole'))
  assert.equal(await store.holds(content), true)
  truncateSync(join(files, pathOf(content.sha256)), 2)
  assert.equal(await store.holds(content), false)
  rmSync(join(files, pathOf(content.sha256)))
  assert.equal(await store.holds(content), false)
})

test('a file that is missing or unreadable is not kept, and leaves nothing', async t => {
  const { files, store } = prepare(t)
  mkdirSync(files)
  await assert.rejects(store.keep(join(files, 'nothing')), { code: 'ENOENT' })
  await assert.rejects(store.keep(files), { code: 'EISDIR' })
  assert.deepEqual(filesIn(files), [])
})

test('a large file is adopted without a copy, also where its content is here already, and from another file system', async t => {
  const { files, source, store, read } = prepare(t)
  const large = 'letter '.repeat(300_000)
  const path = source(large)
  const hour = new Date(Date.now() - 3_700_000)
  utimesSync(path, hour, hour)
  const content = await store.adopt(path)
  assert.deepEqual(content, { sha256: sha256(large), size: large.length })
  const place = join(files, pathOf(content.sha256))
  assert.equal(statSync(place).ino, statSync(path).ino)
  assert.equal(statSync(place).mode & 0o777, 0o600)
  assert.ok(Date.now() - statSync(place).mtimeMs < 60_000, 'a sweep takes it for new')
  // The same file is adopted again, and then its old name is removed.
  assert.deepEqual(await store.adopt(path), content)
  rmSync(path)
  assert.equal(await read(content.sha256), large)
  assert.deepEqual(filesIn(files), [pathOf(content.sha256)])

  const small = source('Dear Ruth')
  const copied = await store.adopt(small)
  assert.notEqual(statSync(join(files, pathOf(copied.sha256))).ino, statSync(small).ino)

  const elsewhere = mkdtempSync('/dev/shm/carrel-test-')
  t.after(() => rmSync(elsewhere, { recursive: true }))
  const other = join(elsewhere, 'other')
  writeFileSync(other, `${large}!`)
  const moved = await store.adopt(other)
  rmSync(other)
  assert.equal(await read(moved.sha256), `${large}!`)
  await assert.rejects(store.adopt(join(elsewhere, 'nothing')), { code: 'ENOENT' })
})
