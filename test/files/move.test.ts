import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { MoveReport } from '../../src/files/move.ts'
import { filesIn } from '../support/data/archives.ts'
import { assertDone } from '../support/data/backups.ts'
import { contentOf, everybody, putItem } from '../support/data/repository.ts'
import { carrel } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'

/** Contents that are addressed by their SHA-256, without what else is in a place of files. */
const contentsIn = (folder: string) => filesIn(folder).filter(path => /[0-9a-f]{64}$/.test(path))

async function move(service: Service, files: string, ...args: readonly string[]): Promise<MoveReport> {
  const env = { CARREL_FILES: files }
  const done = await carrel(service.dataFolder, ['files', 'move', ...args, '--json'], { env })
  return JSON.parse(assertDone(done)) as MoveReport
}

async function start(t: TestContext, files: string, dataFolder?: string): Promise<Service> {
  const env = { CARREL_FILES: files }
  return startService(t, { env, ...(dataFolder === undefined ? {} : { dataFolder }) })
}

async function add(service: Service, identifier: string, content: Uint8Array = randomBytes(100)) {
  const { files } = await putItem(service, identifier, everybody, [{ name: 'a', content }])
  const bitstream = files.get('a')
  assert.ok(bitstream)
  return { content, path: contentOf(bitstream) }
}

async function assertServes(
  service: Service,
  { content, path }: Awaited<ReturnType<typeof add>>,
): Promise<void> {
  const response = await service.client().get(path)
  assert.equal(response.status, 200)
  assert.ok(Buffer.from(await response.arrayBuffer()).equals(content))
}

test('F8 files move to another place while a service uses them, and what is added meanwhile is not lost', async t => {
  const [old, next] = [join(temporaryFolder(t), 'old'), join(temporaryFolder(t), 'new')]
  const before = await start(t, old)
  const first = [await add(before, 'a/1'), await add(before, 'a/2', randomBytes(6_000_000))]
  const copied = await move(before, old, '--to', next)
  assert.deepEqual([copied.contents, copied.copied.count, copied.removed], [2, 2, 0])
  const meanwhile = await add(before, 'a/3')
  assert.equal((await move(before, old, '--to', next)).copied.count, 1, 'only what is new')
  const late = await add(before, 'a/4')

  const after = await start(t, next, before.dataFolder)
  const there = await add(after, 'a/5')
  const moved = await move(after, next, '--from', old, '--remove')
  assert.deepEqual([moved.contents, moved.copied.count, moved.removed], [5, 1, 4])
  for (const one of [...first, meanwhile, late, there]) await assertServes(after, one)
  assert.deepEqual(contentsIn(old), [])
  const verified = await carrel(after.dataFolder, ['files', 'verify'], { env: { CARREL_FILES: next } })
  assert.match(assertDone(verified), /^5 files read .*: all intact/)

  // And back.
  assert.equal((await move(after, next, '--to', old)).copied.count, 5)
  for (const one of first) await assertServes(before, one)
})

test('F8 a move removes nothing from the place in use, nor from one place under two names', async t => {
  const folder = temporaryFolder(t)
  const old = join(folder, 'old')
  const service = await start(t, old)
  const file = await add(service, 'a/1')
  symlinkSync(old, join(folder, 'link'))
  const refused = async (says: RegExp, ...args: readonly string[]) => {
    const env = { CARREL_FILES: old }
    const { code, stdout, stderr } = await carrel(service.dataFolder, ['files', 'move', ...args], { env })
    assert.deepEqual([code === 0, stdout], [false, ''])
    assert.match(stderr, says)
  }
  await refused(/--remove is for --from/, '--to', join(folder, 'new'), '--remove')
  await refused(/either --to or --from/)
  await refused(/neither a folder nor s3:/, '--to', 's3://B')
  for (const same of [old, join(folder, 'link'), `${old}/../old/`])
    await refused(/same place/, '--from', same, '--remove')
  await refused(/one is in the other/, '--to', join(folder, 'link', 'new'))
  await refused(/one is in the other/, '--to', folder)
  await refused(/is missing or empty/, '--from', join(folder, 'none'), '--remove')
  const other = await start(t, join(folder, 'another'))
  await other.storage.repository.storeId()
  mkdirSync(join(folder, 'taken', 'ab'), { recursive: true })
  writeFileSync(join(folder, 'taken', 'store'), 'another store\n')
  await refused(/belongs to another store/, '--to', join(folder, 'taken'))
  await assertServes(service, file)
  assert.deepEqual(readdirSync(join(folder, 'taken')).toSorted(), ['ab', 'store'])
})
