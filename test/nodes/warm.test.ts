import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../src/cli/store.ts'
import type { FilesAhead } from '../../src/storage/entities.ts'
import { isFieldFile } from '../../src/storage/records/field-files.ts'
import { bodyOf, queryPath } from '../support/clients/listings.ts'
import { importText } from '../support/data/imports.ts'
import { bucketSettings, startBucket } from '../support/service/bucket.ts'
import { runSql } from '../support/service/databases.ts'
import { storeSettings, test, testOn } from '../support/service/engines.ts'
import { lockTable, newDatabase, waiting } from '../support/service/nodes.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { cleanEnvironment, entry, serve } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until, within } from '../support/service/waiting.ts'

/** Number of records, enough for an import to derive files. */
const count = 12_000
const works = Array.from(
  { length: count },
  (_, id) => `{"id":${id},"title":"Work ${id} of the sea","price":${id % 700}.25}\n`,
).join('')
const allFiles = ['0', '1', '1.words', '2']
const questions = [
  'works[count()] { title ~ "^Work 9\\\\d+ of" }',
  'works[count()] { title match "work 299" }',
  'works[sum(price), max(title)] {}',
] as const
const ask = (service: Pick<Service, 'address'>, query: string) =>
  bodyOf(service, `${queryPath}?query=${encodeURIComponent(query)}`)
const answers = async (service: Pick<Service, 'address'>) => {
  const bodies: string[] = []
  for (const query of questions) bodies.push(await ask(service, query))
  return bodies
}

/** The files of fields that a node has on its disk, of the only version. */
function filesOn(dataFolder: string): readonly string[] {
  const folder = join(dataFolder, 'fields')
  const [version] = existsSync(folder) ? readdirSync(folder) : []
  return version === undefined ? [] : readdirSync(join(folder, version)).filter(isFieldFile).toSorted()
}

const tablesOf = async (url: string) => {
  const found = await runSql<{ name: string }>(
    url,
    `SELECT relname AS name FROM pg_class WHERE relname LIKE 'records.%' AND relkind = 'r'`,
  )
  assert.ok(found.length > 0)
  return found.map(({ name }) => name)
}

/** Removes the records and ranks of all versions: reading them fails. */
async function takeRecords(url: string): Promise<void> {
  for (const name of await tablesOf(url))
    await runSql(url, `ALTER TABLE carrel."${name}" RENAME TO "gone.${name}"`)
  await runSql(url, 'DELETE FROM carrel.rank WHERE field >= 0')
}

const lockRecords = async (t: Parameters<typeof lockTable>[0], url: string) =>
  lockTable(t, url, `"${(await tablesOf(url))[0]}"`)

/** Notes what `prepare` tells. */
function noted(signal: AbortSignal = new AbortController().signal) {
  const begun: number[] = []
  const failed: string[] = []
  const ahead: FilesAhead = {
    signal,
    begun: fields => begun.push(fields),
    failed: (field, error) => failed.push(`${field}: ${error}`),
  }
  return { ahead, begun, failed }
}

for (const kind of ['folder', 'bucket'] as const)
  testOn(
    'postgres',
    `Q20 D5 a node with CARREL_WARM has all files from the ${kind} when it is ready, and its first questions read neither the place nor a record`,
    async t => {
      const bucket = kind === 'bucket' ? await startBucket(t) : undefined
      const { url } = await newDatabase(t, {})
      const env = {
        ...(bucket ? bucketSettings(bucket) : { CARREL_FILES: temporaryFolder(t, 'sqlite') }),
        CARREL_DATABASE_URL: url,
      }
      const first = await startService(t, { dataFolder: temporaryFolder(t, 'sqlite'), env })
      await importText(first, works, { entity: 'works', key: 'id' })
      const expected = await answers(first)
      await takeRecords(url)
      const dataFolder = temporaryFolder(t, 'sqlite')
      const node = await serve(t, dataFolder, { env: { ...env, CARREL_WARM: 'true' } })
      assert.deepEqual(filesOn(dataFolder), allFiles)
      assert.match(
        node.output.stdout,
        /"fields":3,.*"msg":"warming".*"lacking":0,"fields":3,.*"msg":"warm".*"ready"/s,
      )
      if (bucket) bucket.line.requests.length = 0
      // The node has its own copies by now.
      else rmSync(join(env.CARREL_FILES, 'fields'), { recursive: true })
      assert.deepEqual(await answers(node), expected)
      assert.equal(bucket?.line.count('GET', /\/fields\//) ?? 0, 0)
      assert.equal(await node.stop(), 0)
    },
  )

testOn(
  'postgres',
  'D4 D5 a node with CARREL_WARM answers while it derives files, is not ready before it has them, and SIGTERM ends it',
  async t => {
    const { url } = await newDatabase(t, {})
    const first = await startService(t, {
      dataFolder: temporaryFolder(t, 'sqlite'),
      env: { CARREL_DATABASE_URL: url },
    })
    await importText(first, works, { entity: 'works', key: 'id' })
    const release = await lockRecords(t, url)
    const start = async () => {
      const dataFolder = temporaryFolder(t, 'sqlite')
      const port = String(await freePort())
      const env = { CARREL_DATABASE_URL: url, CARREL_PORT: port, CARREL_WARM: 'true', CARREL_WORKERS: '2' }
      const child = spawn(process.execPath, [entry, 'serve'], {
        env: cleanEnvironment({ ...(await storeSettings(dataFolder)), ...env }),
        stdio: 'ignore',
      })
      t.after(() => child.kill('SIGKILL'))
      const ended = once(child, 'exit')
      const ready = () => fetch(`http://127.0.0.1:${port}/health/ready`)
      await until('the service', async () => (await fetch(`http://127.0.0.1:${port}/health/live`)).ok)
      return { child, ended, ready, dataFolder }
    }
    const stopped = await start()
    await until('a node that waits for records', () => waiting(url))
    const answer = await stopped.ready()
    assert.equal(answer.status, 503)
    assert.match(await answer.text(), /"code":"busy".*files of fields/)
    stopped.child.kill('SIGTERM')
    assert.deepEqual(await within('the end', stopped.ended, () => 'a node that goes on'), [0, null])

    const node = await start()
    await until('a node that waits for records', () => waiting(url))
    assert.equal((await node.ready()).status, 503)
    await release()
    await until('readiness', async () => (await node.ready()).ok)
    assert.deepEqual(filesOn(node.dataFolder), allFiles)
    node.child.kill('SIGTERM')
    assert.deepEqual(await node.ended, [0, null])
  },
)

testOn(
  'postgres',
  'Q20 D5 a node with CARREL_WARM is ready without files that it can neither fetch nor derive, and its log numbers them',
  async t => {
    const { url } = await newDatabase(t, {})
    const elsewhere = await startService(t, {
      dataFolder: temporaryFolder(t, 'sqlite'),
      env: { CARREL_DATABASE_URL: url },
    })
    await importText(elsewhere, works, { entity: 'works', key: 'id' })
    const expected = await answers(elsewhere)
    const dataFolder = temporaryFolder(t, 'sqlite')
    // Neither what is fetched nor what is derived can be written.
    writeFileSync(join(dataFolder, 'fields'), '')
    const env = {
      CARREL_DATABASE_URL: url,
      CARREL_FILES: temporaryFolder(t, 'sqlite'),
      CARREL_WARM: 'true',
    }
    const node = await serve(t, dataFolder, { env })
    const ready = await fetch(`${node.address}/health/ready`)
    assert.equal(ready.status, 200, await ready.text())
    const told = (text: string) => node.output.stdout.split('\n').filter(line => line.includes(text))
    for (const field of ['id', 'title', 'price']) assert.equal(told(`"of":"works.${field}"`).length, 1, field)
    assert.equal(told('"lacking":3,"fields":3').length, 1)
    assert.deepEqual(await answers(node), expected)
    assert.equal(await node.stop(), 0)
  },
)

testOn(
  'postgres',
  'Q10 preparing ends when it is told to, though the place of files and the database answer nothing',
  async t => {
    const bucket = await startBucket(t)
    const { url } = await newDatabase(t, {})
    const start = (env: Readonly<Record<string, string>> = {}) =>
      startService(t, {
        dataFolder: temporaryFolder(t, 'sqlite'),
        env: { ...env, CARREL_DATABASE_URL: url },
      })
    await importText(await start(), works, { entity: 'works', key: 'id' })
    const node = await start(bucketSettings(bucket))
    const release = await lockRecords(t, url)
    const { line } = bucket
    line.fault = ({ path }) => (path.includes('fields') ? { waitsFor: new Promise(() => {}) } : undefined)
    const ending = new AbortController()
    const { ahead, begun, failed } = noted(ending.signal)
    const preparing = node.storage.entities.prepare(1, ahead)
    await until('a fetch', () => line.requests.some(({ path }) => path.includes('fields')))
    ending.abort()
    assert.equal(await within('the end', preparing, () => line.requests.length), 3)
    assert.deepEqual([begun, failed], [[3], []])
    // Nothing is begun for a signal that has aborted before.
    assert.equal(await node.storage.entities.prepare(1, ahead), 3)
    await release()
  },
)

test('Q20 preparing derives the files that a node lacks, also of a version with changed records, and only these', async t => {
  const dataFolder = temporaryFolder(t)
  const first = await startService(t, { dataFolder })
  await importText(first, works, { entity: 'works', key: 'id' })
  const client = await first.addLoggedIn('admin@example.org', { admin: true })
  await first.storage.entities.changeWriteRule('works', 'eperson', commandEvent('entity.writers'))
  const written = await client.request(`${queryPath}/works/8`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: '{"id":8,"title":"Work 99001 of the sea","price":2}',
  })
  assert.equal(written.status, 200, await written.text())
  const expected = await answers(first)
  await first.stop()
  rmSync(join(dataFolder, 'fields'), { recursive: true, force: true })
  const node = await startService(t, { dataFolder })
  const { entities } = node.storage
  const { begun, failed, ahead } = noted()
  assert.equal(await entities.prepare(1, ahead), 0)
  assert.deepEqual([begun, failed], [[3], []])
  assert.deepEqual(filesOn(dataFolder), allFiles)
  assert.deepEqual(await answers(node), expected)
  assert.equal(await entities.prepare(1, ahead), 0)
  assert.equal(await entities.prepare(1), 0)
})
