import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { assertDone, assertRefused, type BackupSaid, emptyPlace } from '../../support/data/backups.ts'
import { contentOf, everybody, putItem } from '../../support/data/repository.ts'
import { type BucketServer, bucketSettings, refused, startBucket } from '../../support/service/bucket.ts'
import { startCommand } from '../../support/service/faults.ts'
import { fewer, isCopy, keeps, other, withBody } from '../../support/service/lies.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

/** Backups in a bucket (docs/decisions/0025): the tests of backups in a folder say what all of them promise. */
const backups = 's3://backups/of/carrel'

type Settings = Readonly<Record<string, string>>

async function backUp(service: Service, env: Settings, ...args: readonly string[]): Promise<BackupSaid> {
  const done = await carrel(service.dataFolder, ['backup', backups, '--json', ...args], { env })
  return JSON.parse(assertDone(done)) as BackupSaid
}
const verify = async (env: Settings) => carrel('/nowhere', ['backup', 'verify', backups], { env })

async function addFiles(service: Service, identifier: string, ...contents: readonly Uint8Array[]) {
  const files = contents.map((content, at) => ({ name: `${at}`, content }))
  const item = await putItem(service, identifier, everybody, files)
  return item.bitstreams.map((one, at) => ({ path: contentOf(one), content: contents[at] }))
}

async function assertServed(service: Service, files: Awaited<ReturnType<typeof addFiles>>): Promise<void> {
  for (const { path, content } of files) {
    const response = await service.client().get(path)
    assert.equal(response.status, 200)
    assert.ok(content && Buffer.from(await response.arrayBuffer()).equals(content))
  }
}

const contentsIn = (bucket: BucketServer) => bucket.keys('of/carrel/contents/')

for (const from of ['folder', 'bucket'] as const)
  test(`D8 files in a ${from} are backed up to a bucket, only what is new, and restored into a bucket or a folder`, async t => {
    const bucket = await startBucket(t, 'backups', 'carrel')
    const inBucket = { ...bucketSettings(bucket), CARREL_FILES: 's3://carrel/archive' }
    const env =
      from === 'bucket'
        ? inBucket
        : { ...inBucket, CARREL_FILES: join(temporaryFolder(t, 'sqlite'), 'files') }
    const service = await startService(t, { env })
    await service.addEperson('ruth@example.org')
    const large = randomBytes(6_000_000)
    const files = await addFiles(service, 'a/1', randomBytes(100), large, randomBytes(0))
    const first = await backUp(service, env)
    assert.deepEqual([first.contents.count, first.copied.count, first.lost], [3, 3, []])
    const more = await addFiles(service, 'a/2', randomBytes(5), large)
    bucket.line.requests.length = 0
    const second = await backUp(service, env, '--keep', '1')
    assert.deepEqual([second.contents.count, second.copied.count], [4, 1])
    assert.deepEqual(second.removed, { backups: [first.name], contents: 1 })
    if (from === 'bucket')
      assert.equal(bucket.line.count('GET', /\/carrel\/archive\/[0-9a-f]{2}\//), 0, 'the server copies them')
    assert.equal(contentsIn(bucket).length, 4 + 2, 'with the database and the secret')
    assert.deepEqual(
      bucket.keys('of/carrel/').filter(key => !/^of\/carrel\/(backups|contents\/..\/..)\//.test(key)),
      [],
    )
    assert.match(assertDone(await verify(env)), /: intact, 4 files\n$/)

    for (const to of ['s3://carrel/restored', join(temporaryFolder(t, 'sqlite'), 'restored')]) {
      const settings = { ...env, CARREL_FILES: to }
      const place = emptyPlace(t, 'sqlite')
      assertDone(await carrel(place, ['restore', backups], { env: settings }))
      const restored = await startService(t, { dataFolder: place, env: settings })
      await assertServed(restored, [...files, ...more])
      await restored.client().login('ruth@example.org')
      const again = await carrel(emptyPlace(t, 'sqlite'), ['restore', backups], { env: settings })
      assertRefused(again, /is not empty/)
    }
  })

test('D8 a backup in a bucket that is damaged is found and not restored, and what else is in a bucket is left alone', async t => {
  const bucket = await startBucket(t, 'backups', 'carrel')
  const env = { ...bucketSettings(bucket), CARREL_FILES: 's3://carrel/archive' }
  const service = await startService(t, { env })
  const bytes = randomBytes(1_000)
  await addFiles(service, 'a/1', bytes)
  const into = await carrel(service.dataFolder, ['backup', 's3://carrel/archive'], { env })
  assertRefused(into, /holds no backups/)
  assertRefused(await verify(env), /holds no backups of Carrel/)
  const { name } = await backUp(service, env)
  const sizes = await Promise.all(contentsIn(bucket).map(async key => ({ key, file: bucket.fileOf(key) })))
  const one = sizes.find(({ file }) => readFileSync(file).equals(bytes))
  assert.ok(one)
  writeFileSync(one.file, randomBytes(1_000))
  const found = await verify(env)
  assert.equal(found.code, 1)
  assert.match(
    found.stdout,
    new RegExp(`${name}: s3://backups/of/carrel/contents/.* is damaged: it hashes to`),
  )
  const place = emptyPlace(t, 'sqlite')
  const settings = { ...env, CARREL_FILES: 's3://carrel/restored' }
  assertRefused(await carrel(place, ['restore', backups], { env: settings }), /nothing was restored/)
  assert.deepEqual(bucket.keys('restored/').length + (await bucket.uploads()).length, 0)

  // While the bucket is away, nothing looks like a backup, and the service goes on.
  bucket.line.fault = () => refused
  const away = await carrel(service.dataFolder, ['backup', backups], { env })
  assertRefused(away, /can't be used/)
})

/** Starts a backup, and kills it once so many contents have been copied. */
async function killBackup(t: TestContext, service: Service, env: Settings, isReached: () => boolean) {
  const settings = { ...env, CARREL_DATA: service.dataFolder }
  const command = startCommand(t, ['backup', backups], settings)
  await until('contents in the bucket', isReached)
  command.kill()
  await command.ended
}

test('D8 a backup to a bucket that is killed leaves none that looks whole, and repeating it finishes', async t => {
  const bucket = await startBucket(t, 'backups', 'carrel')
  const env = { ...bucketSettings(bucket), CARREL_FILES: 's3://carrel/archive' }
  const service = await startService(t, { env, engine: 'sqlite' })
  await addFiles(service, 'a/1', ...Array.from({ length: 60 }, () => randomBytes(2_000)))
  const first = await backUp(service, env)
  const before = contentsIn(bucket).length
  await addFiles(service, 'a/2', ...Array.from({ length: 60 }, () => randomBytes(2_000)))
  let copies = 0
  const never = Promise.withResolvers<void>()
  t.after(() => never.resolve())
  // From the tenth copy on, the server is so slow that the command can be killed in the middle.
  bucket.line.fault = ({ headers }) =>
    headers['x-amz-copy-source'] !== undefined && ++copies > 10 ? { waitsFor: never.promise } : undefined
  await killBackup(t, service, env, () => copies > 12)
  bucket.line.fault = () => undefined
  assert.ok(contentsIn(bucket).length > before, 'what was copied stays')
  assert.match(assertDone(await verify(env)), new RegExp(`^${first.name}: intact, 60 files\n$`))
  const second = await backUp(service, env, '--keep', '1')
  assert.deepEqual([second.contents.count, second.copied.count <= 50], [120, true])
  assert.match(assertDone(await verify(env)), new RegExp(`^${second.name}: intact, 120 files\n$`))
  assert.equal(contentsIn(bucket).length, 120 + 2)
})

test('D8 two backups to one bucket keep apart: one is refused while the other writes', async t => {
  const bucket = await startBucket(t, 'backups')
  const env = { ...bucketSettings(bucket), CARREL_FILES: join(temporaryFolder(t, 'sqlite'), 'files') }
  const service = await startService(t, { env, engine: 'sqlite' })
  await addFiles(service, 'a/1', randomBytes(100))
  const gate = Promise.withResolvers<void>()
  t.after(() => gate.resolve())
  let waits = 0
  bucket.line.fault = ({ method, path }) =>
    method === 'PUT' && path.includes('/contents/') && waits++ >= 0 ? { waitsFor: gate.promise } : undefined
  const going = backUp(service, env)
  await until('a backup that copies', () => waits > 0)
  const other = await carrel(service.dataFolder, ['backup', backups], { env })
  assertRefused(other, /is locked: another backup is using it/)
  gate.resolve()
  const { name } = await going
  assert.deepEqual(bucket.keys('of/carrel/backups/'), [`of/carrel/backups/${name}.json`])
})

test('D8 of two backups to one bucket that begin at once, at least one is made', async t => {
  const bucket = await startBucket(t, 'backups')
  const env = { ...bucketSettings(bucket), CARREL_FILES: join(temporaryFolder(t, 'sqlite'), 'files') }
  const service = await startService(t, { env, engine: 'sqlite' })
  await addFiles(service, 'a/1', randomBytes(100))
  const isLock = (path: string) => path.includes('carrel-backups.lock')
  const both = Promise.withResolvers<void>()
  let begun = 0
  // Neither object is there before both are on their way, and both are when either looks for others.
  bucket.line.fault = ({ method, path }) => {
    if (!isLock(path) || begun > 2) return undefined
    if (method === 'PUT' && ++begun === 2) both.resolve()
    if (method === 'PUT') return { waitsFor: both.promise }
    return begun === 2 ? { waitsFor: delay(500) } : undefined
  }
  const ends = await Promise.all([1, 2].map(() => carrel(service.dataFolder, ['backup', backups], { env })))
  assert.ok(
    ends.some(({ code }) => code === 0),
    ends.map(({ stderr }) => stderr).join(''),
  )
  assert.match(assertDone(await verify(env)), /intact, 1 file\n/)
  assert.deepEqual(bucket.keys('of/carrel/carrel-backups'), [])
})

test('D8 a damaged content stops no backup from bucket to bucket, which names it, and a copy kept wrongly is made by reading', async t => {
  const bucket = await startBucket(t, 'backups')
  const env = { ...bucketSettings(bucket), CARREL_FILES: 's3://backups/archive' }
  const service = await startService(t, { env, engine: 'sqlite' })
  const [content, small] = [randomBytes(100_000), randomBytes(30_000)]
  await addFiles(service, 'a/1', content, small)
  const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
  const damaged = other(content)
  writeFileSync(
    bucket.fileOf(bucket.keys('archive/').find(key => key.endsWith(hashOf(content))) ?? ''),
    damaged,
  )
  const digest = Buffer.from(hashOf(damaged), 'hex').toString('base64')
  const computes = withBody(text =>
    text.replace('<ETag>', `<ChecksumSHA256>${digest}</ChecksumSHA256><ETag>`),
  )
  const short = keeps(bucket, fewer)
  bucket.line.fault = seen =>
    !isCopy(seen) ? undefined : seen.path.includes(hashOf(content)) ? computes : short(seen)
  const made = await carrel(service.dataFolder, ['backup', backups], { env })
  assert.equal(made.code, 1, made.stderr)
  assert.match(made.stdout + made.stderr, new RegExp(`${hashOf(content)} of a/1`))
  assert.equal(bucket.keys('of/carrel/backups/').length, 1)
  const kept = contentsIn(bucket).find(key => key.endsWith(hashOf(small)))
  assert.ok(kept && readFileSync(bucket.fileOf(kept)).equals(small))
})
