import assert from 'node:assert/strict'
import { existsSync, globSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import type { RecordEntity } from '../../src/storage/entities.ts'
import { fold } from '../../src/storage/records/folding.ts'
import { bodyOf, queryPath } from '../support/clients/listings.ts'
import { changeText, importText } from '../support/data/imports.ts'
import { type BucketServer, bucketSettings, refused, startBucket } from '../support/service/bucket.ts'
import { runSql } from '../support/service/databases.ts'
import { newDatabase } from '../support/service/nodes.ts'
import { carrel, serve } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/** Number of records, enough for an import to derive files. */
const count = 12_000
const works = Array.from(
  { length: count },
  (_, id) => `{"id":${id},"title":"Work ${id} of the sea","price":${id % 700}.25}\n`,
).join('')

const questions = [
  'works[count()] { title ~ "^Work 9\\\\d+ of" }',
  'works[count()] { title match "work 299" }',
  'works[sum(price), max(title)] {}',
] as const
const ask = (service: Pick<Service, 'address'>, query: string) =>
  bodyOf(service, `${queryPath}?query=${encodeURIComponent(query)}`)
async function answerOf({ address }: Pick<Service, 'address'>, query: string) {
  const answer = await fetch(`${address}${queryPath}?query=${encodeURIComponent(query)}`)
  return { status: answer.status, body: await answer.text() }
}
async function answers(service: Service): Promise<string[]> {
  const bodies: string[] = []
  for (const query of questions) bodies.push(await ask(service, query))
  return bodies
}

interface Shared {
  /** Settings of nodes that share files. */
  readonly env: Readonly<Record<string, string>>
  readonly bucket: BucketServer | undefined
  /** Names of the derived files that nodes share. */
  names(): readonly string[]
  /** The file in which one of them is kept. */
  fileOf(name: string): string
}

const kinds = ['folder', 'bucket'] as const

async function sharedPlace(t: TestContext, kind: (typeof kinds)[number]): Promise<Shared> {
  if (kind === 'folder') {
    const folder = temporaryFolder(t, 'sqlite')
    const root = join(folder, 'fields')
    return {
      env: { CARREL_FILES: folder },
      bucket: undefined,
      names: () => globSync('*/*', { cwd: root }).toSorted(),
      fileOf: name => join(root, name),
    }
  }
  const bucket = await startBucket(t)
  const prefix = 'archive/fields/'
  return {
    env: bucketSettings(bucket),
    bucket,
    names: () =>
      bucket
        .keys(prefix)
        .map(key => key.slice(prefix.length))
        .toSorted(),
    fileOf: name => bucket.fileOf(prefix + name),
  }
}

/** Nodes with data folders of their own on one database. */
async function nodesOn(t: TestContext, { env }: Pick<Shared, 'env'>) {
  const { url, dataFolder } = await newDatabase(t, {})
  const start = (more: Readonly<Record<string, string>> = env, tell?: (problem: string) => void) =>
    startService(t, {
      dataFolder: temporaryFolder(t, 'sqlite'),
      env: { ...more, CARREL_DATABASE_URL: url },
      ...(tell && { tell }),
    })
  return { url, dataFolder, start }
}

/** Removes the records and ranks of all versions: reading them fails. */
async function takeRecords(url: string): Promise<void> {
  const tables = await runSql<{ name: string }>(
    url,
    `SELECT relname AS name FROM pg_class WHERE relname LIKE 'records.%' AND relkind = 'r'`,
  )
  assert.ok(tables.length > 0)
  for (const { name } of tables) await runSql(url, `ALTER TABLE carrel."${name}" RENAME TO "gone.${name}"`)
  await runSql(url, 'DELETE FROM carrel.rank WHERE field >= 0')
}

const versionOf = async ({ storage }: Service): Promise<string> =>
  ((await storage.entities.all()).get('works') as RecordEntity).source.version

for (const kind of kinds) {
  test(`Q20 what a node has derived of a field to answer a question, another one takes from the ${kind} that they share, and reads no record`, async t => {
    const shared = await sharedPlace(t, kind)
    const { url, start } = await nodesOn(t, shared)
    // An import on a machine without the place leaves the deriving to the nodes.
    const elsewhere = await start({})
    await importText(elsewhere, works, { entity: 'works', key: 'id' })
    const first = await start()
    const expected = await answers(first)
    const version = await versionOf(first)
    let asked = 0
    await until(
      'the files of both fields',
      async () => {
        // Words are kept in memory until their field has its file, and so is what a question has found.
        await ask(first, `works[count()] { title match "work ${++asked}" }`)
        return shared.names()
      },
      names => ['1', '1.words', '2'].every(file => names.includes(`${version}/${file}`)),
    )
    const second = await start()
    await takeRecords(url)
    assert.deepEqual(await answers(second), expected)
  })

  test(`Q20 what an import, an update and a fold have derived is in the ${kind} before their version is shown`, async t => {
    const shared = await sharedPlace(t, kind)
    const { url, start } = await nodesOn(t, shared)
    const first = await start()
    const second = await start()
    await importText(first, works, { entity: 'works', key: 'id' })
    const filesNow = async () => {
      const version = await versionOf(first)
      return shared.names().filter(name => name.startsWith(`${version}/`)).length
    }
    assert.ok((await filesNow()) >= 4, `${await versionOf(first)}: ${shared.names()}`)
    await changeText(first, `{"id":7,"title":"Work 99000 of the sea","price":1}`, {
      entity: 'works',
      kind: 'update',
    })
    assert.ok((await filesNow()) >= 4, `${await versionOf(first)}: ${shared.names()}`)
    const client = await first.addLoggedIn('admin@example.org', { admin: true })
    await first.storage.entities.changeWriteRule('works', 'eperson', commandEvent('entity.writers'))
    const written = await client.request(`${queryPath}/works/8`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '{"id":8,"title":"Work 99001 of the sea","price":2}',
    })
    assert.ok(written.status < 300, await written.text())
    const { entities } = first.storage
    assert.equal(await fold((await entities.all()).get('works') as RecordEntity, entities), true)
    assert.ok((await filesNow()) >= 4, `${await versionOf(first)}: ${shared.names()}`)
    const expected = await answers(first)
    await takeRecords(url)
    assert.deepEqual(await answers(second), expected)
  })

  test(`Q20 a shared file in the ${kind} of which one byte is damaged, or that was put there by another program, is not believed`, async t => {
    const shared = await sharedPlace(t, kind)
    const { start } = await nodesOn(t, shared)
    const first = await start()
    await importText(first, works, { entity: 'works', key: 'id' })
    const expected = await answers(first)
    const version = await versionOf(first)
    const kept = new Map(shared.names().map(name => [name, readFileSync(shared.fileOf(name))]))
    const of = (name: string) => kept.get(`${version}/${name}`) as Buffer
    const flipped = (bytes: Buffer, at: number) => {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ 1
      return changed
    }
    const damages: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
      'one byte': bytes => flipped(bytes, 300 + ((bytes.length - 300) >> 1)),
      'its size': bytes => flipped(bytes, bytes.indexOf(' 1 ') + 4),
      'its end': bytes => bytes.subarray(0, -5),
      'its beginning': bytes => flipped(bytes, 2),
      everything: () => Buffer.alloc(0),
      'which one it is': () => of('0'),
    }
    for (const [what, damage] of Object.entries(damages)) {
      for (const name of ['1', '1.words', '2'])
        writeFileSync(shared.fileOf(`${version}/${name}`), damage(of(name)))
      const told: string[] = []
      const node = await start(shared.env, problem => told.push(problem))
      assert.deepEqual(await answers(node), expected, what)
      assert.ok(told.length > 0 && told.length <= 3, `${what}: ${told}`)
      assert.match(told[0] ?? '', new RegExp(version))
      // The derived file replaces the damaged one.
      await until(`intact files after ${what}`, () =>
        ['1', '2'].every(name => readFileSync(shared.fileOf(`${version}/${name}`)).length > 1_000),
      )
      await node.stop()
    }
  })
}

test('Q20 Q10 a bucket that is down, refuses, or never answers costs a node only that it derives, and its operator reads it once', async t => {
  const shared = await sharedPlace(t, 'bucket')
  const { start } = await nodesOn(t, shared)
  const first = await start()
  await importText(first, works, { entity: 'works', key: 'id' })
  const expected = await answers(first)
  const line = shared.bucket?.line
  assert.ok(line)
  const isFields = ({ path }: { readonly path: string }) => path.includes('fields')
  const faults = { down: refused, refusing: { status: 403 }, silent: { waitsFor: new Promise(() => {}) } }
  for (const [what, fault] of Object.entries(faults)) {
    const told: string[] = []
    line.fault = seen => (isFields(seen) ? fault : undefined)
    const node = await start(shared.env, problem => told.push(problem))
    assert.deepEqual(await answers(node), expected, what)
    // A server that never answers is given up after half a minute.
    if (what === 'silent') line.fault = seen => (isFields(seen) ? refused : undefined)
    await importText(node, works, { entity: 'others', key: 'id' })
    assert.equal(await ask(node, 'others[count()] { title ~ "^Work 29" }'), '[{"count":111}]')
    const toRead = told.filter(problem => /s3:|answer|reached/i.test(problem))
    assert.ok(told.length >= 1 && told.length <= 2 && toRead.length === told.length, `${what}: ${told}`)
    await node.stop()
  }
})

test('Q20 two questions at a time fetch a file once', async t => {
  const shared = await sharedPlace(t, 'bucket')
  const { start } = await nodesOn(t, shared)
  const first = await start()
  await importText(first, works, { entity: 'works', key: 'id' })
  const node = await start()
  const line = shared.bucket?.line
  assert.ok(line)
  line.requests.length = 0
  await Promise.all(
    ['1', '2', '3', '4'].map(digit => ask(node, `works[count()] { title ~ "^Work ${digit}" }`)),
  )
  assert.equal(
    line.count('GET', /\/fields\/[^/]+\/1\?/),
    1,
    JSON.stringify(line.requests.map(one => one.path)),
  )
})

test('Q20 questions on all event loops of a node fetch a file once', async t => {
  const shared = await sharedPlace(t, 'bucket')
  const { start, url } = await nodesOn(t, shared)
  const first = await start()
  await importText(first, works, { entity: 'works', key: 'id' })
  const env = { ...shared.env, CARREL_DATABASE_URL: url, CARREL_WORKERS: '3' }
  const node = await serve(t, temporaryFolder(t, 'sqlite'), { env })
  const line = shared.bucket?.line
  assert.ok(line)
  await until(
    'three event loops',
    async () => !(await (await fetch(`${node.address}/health/ready`)).text()).includes('workers'),
  )
  const queries = ['works[count()] { title ~ "^Work 3" }', 'works[count()] { title ~ "^Work 4" }']
  const expected = new Map<string, string>()
  for (const query of queries) expected.set(query, await ask(first, query))
  line.requests.length = 0
  // Each is on a connection of its own, and so perhaps on another event loop.
  for (const query of queries) {
    const answered = await Promise.all(Array.from({ length: 12 }, () => answerOf(node, query)))
    // Those that wait too long for their turn on a slow machine end with 503.
    const bodies = answered.filter(({ status }) => status !== 503).map(({ body }) => body)
    assert.deepEqual(new Set(bodies), new Set([expected.get(query)]))
  }
  assert.equal(line.count('GET', /\/fields\/[^/]+\/1(\?|$)/), 1)
})

test('Q20 D5 the log of a node says once that it can share nothing', async t => {
  const shared = await sharedPlace(t, 'bucket')
  const { start, url } = await nodesOn(t, shared)
  const first = await start()
  await importText(first, works, { entity: 'works', key: 'id' })
  const expected = await answers(first)
  const line = shared.bucket?.line
  assert.ok(line)
  line.fault = ({ method, path }) => (method === 'HEAD' && path.includes('fields') ? refused : undefined)
  const env = { ...shared.env, CARREL_DATABASE_URL: url, CARREL_WORKERS: '2' }
  const node = await serve(t, temporaryFolder(t, 'sqlite'), { env })
  for (const [at, query] of questions.entries()) assert.equal(await ask(node, query), expected[at])
  const said = () => node.output.stdout.split('"msg":"what is derived of fields').length - 1
  await until('the line of the log', said, times => times > 0)
  assert.equal(said(), 1)
})

test('Q20 a fetch ends with the question that needs it, and the next question begins another one', async t => {
  const shared = await sharedPlace(t, 'bucket')
  const { start } = await nodesOn(t, shared)
  const first = await start()
  await importText(first, works, { entity: 'works', key: 'id' })
  const expected = await ask(first, questions[0])
  const told: string[] = []
  const node = await start(shared.env, problem => told.push(problem))
  const line = shared.bucket?.line
  assert.ok(line)
  line.requests.length = 0
  const isFetch = ({ path }: { readonly path: string }) => /\/fields\/[^/]+\/1(\?|$)/.test(path)
  line.fault = seen => (isFetch(seen) ? { waitsFor: new Promise(() => {}) } : undefined)
  const leaving = new AbortController()
  const path = `${queryPath}?query=${encodeURIComponent(questions[0])}`
  const left = fetch(node.address + path, { signal: leaving.signal }).catch(() => 'left')
  await until('the fetch', () => line.requests.some(isFetch))
  leaving.abort()
  assert.equal(await left, 'left')
  line.fault = () => undefined
  assert.equal(await ask(node, questions[0]), expected)
  assert.deepEqual(told, [])
  assert.ok(line.requests.filter(isFetch).length >= 2)
})

for (const kind of kinds) {
  test(`Q20 D15 what is derived of an entity goes from the ${kind} with the entity, also at another node, and a killed node leaves nothing for ever`, async t => {
    const shared = await sharedPlace(t, kind)
    const { url, start } = await nodesOn(t, shared)
    const first = await start()
    await importText(first, works, { entity: 'works', key: 'id' })
    await importText(first, works, { entity: 'others', key: 'id' })
    const version = await versionOf(first)
    assert.ok(shared.names().some(name => name.startsWith(version)))
    await first.stop()
    // A node was killed before it showed a version, and another one just now.
    const [old, young] = ['0'.repeat(32), '1'.repeat(32)]
    for (const one of [old, young]) {
      const example = shared.names()[0] ?? ''
      await copyShared(shared, example, `${one}/0`)
    }
    const long = new Date(Date.now() - 2 * 3_600_000)
    utimesSync(shared.fileOf(`${old}/0`), long, long)
    const second = await start()
    await second.storage.entities.drop('works', commandEvent('entity.drop'))
    await runSql(url, 'UPDATE carrel.retired SET at = at - 3600000')
    await second.storage.entities.drop('nothing', commandEvent('entity.drop'))
    const versions = await until(
      'the removal of the dropped entity and of the old leftover',
      () => new Set(shared.names().map(dirname)),
      names => !names.has(version) && !names.has(old),
    )
    assert.ok(versions.has(young))
    assert.equal(versions.size, 2)
  })

  test(`D8 F5 derived files in the ${kind} are neither verified, cleaned, backed up, served nor moved, and an emptied place has none`, async t => {
    const shared = await sharedPlace(t, kind)
    const { dataFolder, start, url } = await nodesOn(t, shared)
    const first = await start()
    await importText(first, works, { entity: 'works', key: 'id' })
    const names = shared.names()
    assert.ok(names.length > 0)
    const env = { ...shared.env, CARREL_DATABASE_URL: url }
    const run = async (...args: string[]) => (await carrel(dataFolder, args, { env })).stdout
    assert.match(await run('files', 'verify'), /no files|0 files/i)
    assert.match(await run('files', 'clean'), /./)
    const backup = temporaryFolder(t, 'sqlite')
    await run('backup', join(backup, 'one'))
    assert.ok(existsSync(join(backup, 'one')))
    assert.ok(!globSync('**/*', { cwd: backup }).some(name => /fields/.test(name)))
    assert.deepEqual(shared.names(), names)
    const { status } = await fetch(`${first.address}/api/core/bitstreams/${names[0]}/content`)
    assert.equal(status, 404)
    const other = join(temporaryFolder(t, 'sqlite'), 'files')
    mkdirSync(other, { recursive: true })
    await carrel(dataFolder, ['files', 'move', '--from', String(shared.env.CARREL_FILES), '--remove'], {
      env: { ...env, CARREL_FILES: other },
    })
    assert.deepEqual(shared.names(), [])
    assert.ok(!existsSync(join(other, 'fields')))
  })
}

/** Makes a shared file appear under another name. */
async function copyShared({ bucket, fileOf }: Shared, name: string, to: string): Promise<void> {
  if (bucket) {
    const { CopyObjectCommand, S3Client } = await import('@aws-sdk/client-s3')
    const client = new S3Client({
      endpoint: bucket.address,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: bucket.accessKeyId, secretAccessKey: bucket.secretAccessKey },
    })
    const prefix = 'archive/fields/'
    await client.send(
      new CopyObjectCommand({
        Bucket: bucket.bucket,
        Key: prefix + to,
        CopySource: `${bucket.bucket}/${prefix}${name}`,
      }),
    )
    client.destroy()
    return
  }
  mkdirSync(dirname(fileOf(to)), { recursive: true })
  writeFileSync(fileOf(to), readFileSync(fileOf(name)))
}
