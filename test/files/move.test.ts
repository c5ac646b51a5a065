import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { MoveReport } from '../../src/files/move.ts'
import { filesIn } from '../support/data/archives.ts'
import { assertDone } from '../support/data/backups.ts'
import { contentOf, everybody, putItem } from '../support/data/repository.ts'
import { bucketSettings, startBucket } from '../support/service/bucket.ts'
import { startCommand } from '../support/service/faults.ts'
import { carrel } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/** Contents that are addressed by their SHA-256, without what else is in a place of files. */
const contentsIn = (folder: string) => filesIn(folder).filter(path => /[0-9a-f]{64}$/.test(path))

async function move(service: Service, files: string, ...args: readonly string[]): Promise<MoveReport> {
  const env = {
    CARREL_FILES_ENDPOINT: service.config.bucketServer.endpoint ?? 'http://127.0.0.1:1',
    CARREL_FILES: files,
  }
  const done = await carrel(service.dataFolder, ['files', 'move', ...args, '--json'], { env })
  return JSON.parse(assertDone(done)) as MoveReport
}

async function start(
  t: TestContext,
  files: string,
  server: object = {},
  dataFolder?: string,
): Promise<Service> {
  const env = { ...server, CARREL_FILES: files }
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

for (const kind of ['folder', 'bucket'] as const)
  test(`F8 files move to a ${kind} while a service uses them, and back; what is added meanwhile is not lost`, async t => {
    const bucket = await startBucket(t)
    const server = bucketSettings(bucket)
    const old = join(temporaryFolder(t), 'old')
    const next = kind === 'bucket' ? server.CARREL_FILES : join(temporaryFolder(t), 'new')
    const before = await start(t, old, server)
    const first = [await add(before, 'a/1'), await add(before, 'a/2', randomBytes(6_000_000))]
    const copied = await move(before, old, '--to', next)
    assert.deepEqual([copied.contents, copied.copied.count, copied.removed], [2, 2, 0])
    const meanwhile = await add(before, 'a/3')
    assert.equal((await move(before, old, '--to', next)).copied.count, 1, 'only what is new')
    const late = await add(before, 'a/4')

    const after = await start(t, next, server, before.dataFolder)
    const there = await add(after, 'a/5')
    const moved = await move(after, next, '--from', old, '--remove')
    assert.deepEqual([moved.contents, moved.copied.count, moved.removed], [5, 1, 4])
    for (const one of [...first, meanwhile, late, there]) await assertServes(after, one)
    assert.deepEqual(contentsIn(old), [])
    const verified = await carrel(after.dataFolder, ['files', 'verify'], {
      env: { ...server, CARREL_FILES: next },
    })
    assert.match(assertDone(verified), /^5 files read .*: all intact/)

    assert.equal((await move(after, next, '--to', old)).copied.count, 5)
    for (const one of first) await assertServes(before, one)
    if (kind === 'folder') return
    const [one = '', other = ''] = bucket.keys().filter(key => /[0-9a-f]{64}$/.test(key))
    const damage = (path: string) => writeFileSync(path, randomBytes(statSync(path).size))
    for (const key of [one, other]) damage(bucket.fileOf(key))
    const damaged = await carrel(after.dataFolder, ['files', 'verify'], { env: server })
    assert.match(damaged.stdout, /^damaged: .* hashes to/)
    const [kept = ''] = contentsIn(old).filter(path => path.endsWith(other.slice(-64)))
    damage(join(old, kept))
    // The first one is copied again. The other is damaged in both places, and stays.
    const refused = await carrel(after.dataFolder, ['files', 'move', '--from', old, '--remove'], {
      env: server,
    })
    assert.equal(refused.code, 1, refused.stdout + refused.stderr)
    assert.match(refused.stdout, /1 damaged/)
    assert.deepEqual(contentsIn(old), [kept], refused.stdout + refused.stderr)
    const again = await carrel(after.dataFolder, ['files', 'verify'], { env: server })
    assert.equal(again.stdout.match(/^damaged: /gm)?.length, 1, again.stdout)
    assert.ok(again.stdout.includes(other.slice(-64)), again.stdout)
  })

test('F8 a move between buckets is killed, goes on when it is repeated, and lets the server copy', async t => {
  const bucket = await startBucket(t, 'carrel', 'other')
  const server = bucketSettings(bucket)
  const service = await start(t, server.CARREL_FILES, server)
  for (let at = 0; at < 30; at++) await add(service, `a/${at}`)
  let copies = 0
  const never = Promise.withResolvers<void>()
  t.after(() => never.resolve())
  bucket.line.fault = ({ headers }) =>
    headers['x-amz-copy-source'] !== undefined && ++copies > 10 ? { waitsFor: never.promise } : undefined
  const settings = { ...server, CARREL_DATA: service.dataFolder }
  const command = startCommand(t, ['files', 'move', '--to', 's3://other/archive'], settings)
  await until('copies', () => copies > 12)
  command.kill()
  await command.ended
  bucket.line.fault = () => undefined
  bucket.line.requests.length = 0
  const { contents, copied } = await move(service, server.CARREL_FILES, '--to', 's3://other/archive')
  assert.deepEqual([contents, copied.count > 10, copied.count < 30], [30, true, true])
  assert.equal(bucket.line.count('GET', /\/carrel\/archive\/[0-9a-f]{2}\//), 0)
  const nested = await carrel(service.dataFolder, ['files', 'move', '--to', `${server.CARREL_FILES}/in`], {
    env: server,
  })
  assert.match(nested.stderr, /one is in the other/)
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
  for (const scheme of ['s3://B', 's3:/bucket', 'S3://bucket', 'gs://bucket', 'file:///srv'])
    for (const way of ['--to', '--from'])
      await refused(/is not a place; it takes a folder .*, or a bucket as s3:\/\/bucket\/prefix/, way, scheme)
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

test('F8 a move that empties a place deletes, an hour later, what no bitstream has there', async t => {
  const [old, next] = [join(temporaryFolder(t), 'old'), join(temporaryFolder(t), 'new')]
  const before = await start(t, old)
  await add(before, 'a/1')
  const file = join(old, 'ab', 'cd', `abcd${'0'.repeat(60)}`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, 'of a deleted bitstream')
  const longAgo = new Date(Date.now() - 2 * 3_600_000)
  utimesSync(file, longAgo, longAgo)
  const after = await start(t, next, {}, before.dataFolder)
  const empty = () => move(after, next, '--from', old, '--remove')
  assert.deepEqual((await empty()).unused, { setAside: 1, deleted: 0 })
  assert.deepEqual((await empty()).unused, { setAside: 0, deleted: 0 }, 'an hour has not passed')
  const orphan = join(old, 'orphans', basename(file))
  utimesSync(orphan, longAgo, longAgo)
  assert.deepEqual((await empty()).unused, { setAside: 0, deleted: 1 })
  assert.deepEqual(contentsIn(old), [])
})
