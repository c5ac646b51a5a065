import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { itemFiles, zipOf } from '../support/data/packed.ts'
import { repeats } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'
import { type Served, serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/**
 * The administrator who uploads. The service is killed while it receives an upload, and while it unpacks one.
 */
const adminEmail = 'admin@example.org'
const tus = { 'tus-resumable': '1.0.0' }
const stream = { ...tus, 'content-type': 'application/offset+octet-stream' }

async function started(t: TestContext, more: Readonly<Record<string, string>> = {}) {
  const dataFolder = temporaryFolder(t)
  await t.test('prepare', async prepare => {
    await (await startService(prepare, { dataFolder })).addEperson(adminEmail, { admin: true })
  })
  // Two event loops, so that after the start another one may get a resource than the one that held it.
  const start = () => serve(t, dataFolder, { env: { CARREL_WORKERS: '2', ...more } })
  const served = await start()
  const admin = new Client(served.address)
  await admin.login(adminEmail)
  /** Returns a client of the same administrator at a restarted service. */
  const again = async (): Promise<Client> => {
    const client = new Client((await start()).address)
    client.token = admin.token
    return client
  }
  return { served, admin, again, folder: join(dataFolder, 'uploads') }
}

async function kill(served: Served): Promise<void> {
  served.signal('SIGKILL')
  await served.ended
}

async function added(client: Client, size: number): Promise<string> {
  const answer = await client.post('/api/uploads', undefined, { ...tus, 'upload-length': String(size) })
  assert.equal(answer.status, 201)
  return new URL(answer.headers.get('location') ?? '').pathname
}

test('UP2 of uploads that begin at once on several event loops as many are taken as fit, and SIGKILL leaves none of them taken', async t => {
  const { served, admin, again, folder } = await started(t, { CARREL_UPLOAD_QUOTA: '3' })
  const megabyte = 1024 * 1024
  const begin = (client: Client, size: number) =>
    client.post('/api/uploads', undefined, { ...tus, 'upload-length': String(size) })
  const answers = await Promise.all(Array.from({ length: 10 }, () => begin(admin, megabyte)))
  const statuses = answers.map(({ status }) => status).toSorted()
  assert.deepEqual(statuses, [...Array(3).fill(201), ...Array(7).fill(507)])
  assert.doesNotMatch(served.output.stdout, /"level":50/, 'a quota is no fault')
  const [one = ''] = answers.flatMap(({ headers }) => headers.get('location') ?? [])
  const { pathname } = new URL(one)
  const headers = { ...tus, 'x-xsrf-token': (await admin.csrfPair()).value }
  assert.equal((await admin.request(pathname, { method: 'DELETE', headers })).status, 204)
  // Half of an archive has arrived as a body.
  const pair = await admin.csrfPair()
  const sending = httpRequest(`${served.address}/api/admin/ingest`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${admin.token}`,
      cookie: pair.cookie,
      'x-xsrf-token': pair.value,
      'content-type': 'application/zip',
      'content-length': megabyte,
    },
  })
  const broken = once(sending, 'error')
  sending.write(Buffer.alloc(megabyte / 2))
  await until(
    'three uploads',
    () => readdirSync(folder).filter(name => /^[0-9a-f]{32}$/.test(name)).length,
    count => count === 3,
  )
  assert.equal((await begin(admin, 1)).status, 507)
  await kill(served)
  await broken
  const client = await again()
  assert.equal((await begin(client, megabyte)).status, 201)
  assert.equal((await begin(client, 1)).status, 507)
})

/** Fails the test if the process ends in another way than success. */
function isCompleted({ state, fault }: { readonly state: string; readonly fault: string | null }): boolean {
  assert.ok(['scheduled', 'running', 'completed'].includes(state), `${state}: ${fault}`)
  return state === 'completed'
}

test('UP1 an upload goes on after SIGKILL where the disk has it, and is whole in the end', async t => {
  const { served, admin, again, folder } = await started(t)
  const content = Buffer.alloc(8 * 1024 * 1024, 'every byte has its place. ')
  const path = await added(admin, content.length)
  const data = join(folder, path.split('/').at(-1) ?? '', 'data')
  const pair = await admin.csrfPair()
  const sending = httpRequest(served.address + path, {
    method: 'PATCH',
    headers: {
      ...stream,
      authorization: `Bearer ${admin.token}`,
      cookie: pair.cookie,
      'x-xsrf-token': pair.value,
      'upload-offset': '0',
      'content-length': content.length,
    },
  })
  const broken = once(sending, 'error')
  // More than half is sent and then nothing, so the request is under way when the service ends.
  sending.write(content.subarray(0, 5_000_000))
  await until(
    'a megabyte of the upload on the disk',
    () => statSync(data).size,
    size => size >= 1_000_000,
  )
  await kill(served)
  await broken

  const client = await again()
  const asked = await client.request(path, { method: 'HEAD', headers: tus })
  const offset = Number(asked.headers.get('upload-offset'))
  assert.equal(offset, statSync(data).size)
  assert.ok(offset >= 1_000_000 && offset <= 5_000_000, String(offset))
  const rest = await client.patch(path, new Uint8Array(content.subarray(offset)), {
    ...stream,
    'upload-offset': String(offset),
  })
  assert.equal(rest.status, 204, await rest.text())
  assert.ok(readFileSync(data).equals(content))
})

type Shown = { state: string; progress: { done: number } | null; fault: string | null }
const shown = async (client: Client, number: string) =>
  (await (await client.get(`/api/system/processes/${number}`)).json()) as Shown

/** @returns undefined if the import had ended before the kill, even if the process could not report it */
async function killedWhileImporting(t: TestContext, count: number) {
  const { served, admin, again, folder } = await started(t)
  const lines = Array.from({ length: count }, (_, n) => `${n},text ${n},${n % 7}\n`)
  const content = Buffer.from(`id,title,year\n${lines.join('')}`)
  const path = await added(admin, content.length)
  // In two requests, as after a broken connection: the second begins where the first ended.
  for (const [from, to] of [
    [0, 1_000_000],
    [1_000_000, content.length],
  ] as const) {
    const piece = new Uint8Array(content.subarray(from, to))
    const sent = await admin.patch(path, piece, { ...stream, 'upload-offset': String(from) })
    assert.equal(sent.status, 204)
  }
  const id = path.split('/').at(-1) ?? ''
  const asked = `/api/admin/entities/letters/import?key=id&read=anonymous&type=year%3Dtext&upload=${id}`
  const begun = await admin.post(asked)
  assert.equal(begun.status, 202, await begun.clone().text())
  const { processId } = (await begun.json()) as { processId: string }
  await until(
    'an import that has read something',
    () => shown(admin, processId),
    one => isCompleted(one) || (one.progress?.done ?? 0) > 0,
  )
  await kill(served)
  const client = await again()
  const { state } = await shown(client, processId)
  const imported = await client.get('/api/query/v4/letters?limit=1&include_total=true')
  if (imported.status === 200)
    assert.equal(imported.headers.get('x-records'), String(count), 'all or nothing')
  return imported.status === 200 ? undefined : { state, client, folder, id, content, processId }
}

test('PR4 PR6 EA7 SIGKILL in the middle of an import of an upload changes nothing, and it is resumed without sending the file again', async t => {
  const count = repeats(100_000, 200_000)
  const killed = await until('a service that is killed while it imports', () =>
    killedWhileImporting(t, count),
  )
  assert.ok(killed)
  const { state, client, folder, id, content, processId } = killed
  assert.equal(state, 'interrupted')
  assert.equal((await client.get('/api/query/v4/letters')).status, 404, 'nothing was imported')
  assert.ok(readFileSync(join(folder, id, 'data')).equals(content))
  const resumed = await client.post(`/api/system/processes/${processId}/resume`)
  assert.equal(resumed.status, 202, await resumed.clone().text())
  const next = ((await resumed.json()) as { processId: string }).processId
  await until('the end of the import', () => shown(client, next), isCompleted)
  const last = await client.get(
    `/api/query/v4/letters?query=${encodeURIComponent(`["=","id",${count - 1}]`)}`,
  )
  const year = String((count - 1) % 7)
  assert.deepEqual(await last.json(), [{ id: count - 1, title: `text ${count - 1}`, year }])
  await until(
    'a folder without uploads',
    () => readdirSync(folder),
    names => names.length === 0,
  )
  assert.equal((await client.post(`/api/system/processes/${processId}/resume`)).status, 404, 'it was used')
})

const names = Array.from({ length: repeats(150, 400) }, (_, at) => `item${at}`)

/** @returns undefined if it had ended before the kill */
async function killedWhileUnpacking(t: TestContext) {
  const { served, admin, again, folder } = await started(t)
  const zip = zipOf(names.flatMap(name => itemFiles(`archive/${name}`)))
  const path = await added(admin, zip.length)
  const sent = await admin.patch(path, new Uint8Array(zip), { ...stream, 'upload-offset': '0' })
  assert.equal(sent.status, 204)
  const id = path.split('/').at(-1) ?? ''
  const begun = await admin.post(`/api/admin/ingest?upload=${id}&read=anonymous`)
  assert.equal(begun.status, 202, await begun.clone().text())
  const { processId } = (await begun.json()) as { processId: string }
  const unpacked = () => readdirSync(folder).find(name => name.startsWith('unpacked.'))
  const filesIn = (name: string) => readdirSync(join(folder, name), { recursive: true }).length
  await until(
    'more than ten unpacked files',
    () => filesIn(unpacked() ?? 'nothing'),
    count => count > 10,
  )
  await kill(served)
  const client = await again()
  return (await shown(client, processId)).state === 'completed'
    ? undefined
    : { client, folder, id, processId, unpacked }
}

test('UP3 PR6 SIGKILL while an archive is unpacked leaves no item and no folder, and the ingest can be resumed', async t => {
  const killed = await until('a service that is killed while it unpacks', () => killedWhileUnpacking(t))
  assert.ok(killed)
  const { client, folder, id, processId, unpacked } = killed
  const processOf = async (number: string) => {
    const answer = await client.get(`/api/system/processes/${number}`)
    return (await answer.json()) as { state: string; result: { added?: number } | null; fault: string | null }
  }
  assert.equal((await processOf(processId)).state, 'interrupted')
  // The unpacking process notices by itself that its service has ended.
  await until('no folder that was unpacked', unpacked, name => name === undefined)
  assert.deepEqual(readdirSync(folder), [id])
  assert.deepEqual(await (await client.get('/api/query/v4/items')).json(), [])

  const resumed = await client.post(`/api/system/processes/${processId}/resume`)
  assert.equal(resumed.status, 202, await resumed.clone().text())
  const next = ((await resumed.json()) as { processId: string }).processId
  await until('the end of the ingest', () => processOf(next), isCompleted)
  const total = await client.get('/api/core/items?size=1')
  assert.equal(((await total.json()) as { page: { totalElements: number } }).page.totalElements, names.length)
  assert.deepEqual(readdirSync(folder), [], 'the upload was used')
})
