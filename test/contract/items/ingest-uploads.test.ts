import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { eventsOf } from '../../support/data/events.ts'
import { gzipped, itemFiles, tarOf, zipOf } from '../../support/data/packed.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const zip = { 'content-type': 'application/zip' }
const address = '/api/admin/ingest'

interface Body {
  readonly processId: string
  readonly state: string
  readonly fault: string | null
  readonly endTime: string | null
  readonly result: Readonly<Record<string, unknown>> | null
  readonly parameters: readonly { readonly name: string; readonly value: string }[]
}

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env } })
  const { uuid } = await service.addEperson('admin@example.org', { admin: true })
  const admin = await service.loggedIn('admin@example.org')
  const folder = join(service.dataFolder, 'uploads')
  return { service, admin, uuid, leftIn: () => (existsSync(folder) ? readdirSync(folder) : []) }
}

async function ended(client: Client, response: Response): Promise<Body> {
  const text = await response.text()
  assert.equal(response.status, 202, text)
  const { processId } = JSON.parse(text) as Body
  return until(
    `the end of process ${processId}`,
    async () => (await (await client.get(`/api/system/processes/${processId}`)).json()) as Body,
    ({ endTime }) => endTime !== null,
  )
}

async function uploaded(
  client: Client,
  bytes: Uint8Array<ArrayBuffer>,
  name = 'export.zip',
): Promise<string> {
  const response = await client.post('/api/uploads', bytes, {
    'tus-resumable': '1.0.0',
    'content-type': 'application/offset+octet-stream',
    'upload-length': String(bytes.length),
    'upload-metadata': `filename ${btoa(name)}`,
  })
  assert.equal(response.status, 201, await response.text())
  return (response.headers.get('location') ?? '').split('/').at(-1) ?? ''
}

const counts = (added: number, unchanged = 0, failed = 0) => ({ added, changed: 0, unchanged, failed })

test('UP3 an archive is ingested from an upload or from the body; again, nothing changes', async t => {
  const { admin, service, uuid, leftIn } = await started(t)
  const files = [...itemFiles('one'), ...itemFiles('two')]
  const id = await uploaded(admin, zipOf(files))
  const tried = await ended(admin, await admin.post(`${address}?upload=${id}&dryRun=true&read=anonymous`))
  const { additions, ...other } = tried.result ?? {}
  assert.deepEqual(other, { ...counts(2), dryRun: true, changes: [] })
  assert.equal((additions as string[]).length, 2)
  const first = await ended(admin, await admin.post(`${address}?upload=${id}&read=anonymous`))
  assert.deepEqual([first.state, first.result], ['completed', counts(2)], first.fault ?? '')
  assert.ok(await service.storage.repository.uuidOf('export/one'))
  const again = await ended(admin, await admin.post(`${address}?name=export.zip`, zipOf(files), zip))
  assert.deepEqual([again.state, again.result], ['completed', counts(0, 2)], again.fault ?? '')
  assert.deepEqual(leftIn(), [])
  const { items } = (await (
    await service.client().get('/api/query/v4/items')
  )
    .json()
    .then(rows => ({ items: rows }))) as {
    items: unknown[]
  }
  assert.equal(items.length, 2)
  assert.ok((await eventsOf(admin, 'item.add')).every(({ actor }) => actor === uuid))
  assert.equal((await eventsOf(admin, 'process.start')).length, 3)
})

test('UP4 two archives with folders of the same name are two sources, unless they are given one name', async t => {
  const { admin, service } = await started(t)
  const archive = (title: string) => zipOf(itemFiles('item_000', title))
  const titles = async () =>
    Promise.all(
      (await service.storage.repository.listItems('', 9)).map(
        ({ identifier, title }) => `${identifier}: ${title}`,
      ),
    )
  /** Sent as a body, and as the console does: as an upload that always has the same file name. */
  for (const [name, send] of [
    ['upload', async (bytes, more) => admin.post(`${address}?${more}`, bytes, zip)],
    [
      'export',
      async (bytes, more) => admin.post(`${address}?upload=${await uploaded(admin, bytes)}&${more}`),
    ],
  ] as [string, (bytes: Buffer<ArrayBuffer>, more: string) => Promise<Response>][]) {
    const one = `${name}/item_000`
    assert.deepEqual((await ended(admin, await send(archive('First'), ''))).result, counts(1))
    const before = await titles()
    assert.ok(before.includes(`${one}: First`))
    const refused = await ended(admin, await send(archive('Second'), ''))
    assert.equal(refused.state, 'failed')
    const says = `there is an item ${one} already, .* the parameter name=${name}-2; .* the parameter name=${name}$`
    assert.match(refused.fault ?? '', new RegExp(says))
    assert.deepEqual(await titles(), before)
    assert.deepEqual((await ended(admin, await send(archive('First'), ''))).result, counts(0, 1))
    assert.deepEqual((await ended(admin, await send(archive('Second'), `name=${name}-2`))).result, counts(1))
    const same = await ended(admin, await send(archive('First, corrected'), `name=${name}`))
    assert.deepEqual(same.result, { ...counts(0), changed: 1 })
    assert.ok((await titles()).includes(`${one}: First, corrected`))
    await assertProblem(await send(archive('Third'), 'name='), 400, 'bad-parameter')
  }
  // Both processes look before either of them has stored anything.
  const both = await Promise.all(
    ['One', 'Two'].map(async title =>
      ended(admin, await admin.post(address, zipOf(itemFiles('root/item_000', title)), zip)),
    ),
  )
  assert.deepEqual(both.map(({ state }) => state).toSorted(), ['completed', 'failed'])
})

test('UP3 tar and tar.gz are taken, with everything in one folder or not, and a manifest', async t => {
  const { admin, service, leftIn } = await started(t)
  const tar = await tarOf([
    { name: './export/', header: { type: 'directory' } },
    ...itemFiles('./export/one').map(file => ({ ...file, header: { mtime: new Date(1e12) } })),
  ])
  const body = { 'content-type': 'application/x-tar' }
  assert.deepEqual((await ended(admin, await admin.post(address, tar, body))).result, counts(1))
  assert.ok(await service.storage.repository.uuidOf('export/one'))
  const packed = gzipped(tar)
  const again = await admin.post(address, packed, { 'content-type': 'application/gzip' })
  assert.deepEqual((await ended(admin, again)).result, counts(0, 1))
  const manifest = zipOf([
    { name: 'manifest.csv', content: 'identifier,dc.title,files\nm-1,One,a.txt\nm-2,Two,lost.txt\n' },
    { name: 'a.txt', content: 'a' },
    { name: '__MACOSX/._a.txt', content: 'x' },
  ])
  const some = await ended(admin, await admin.post(address, manifest, zip))
  assert.deepEqual([some.state, some.result], ['completed', counts(1, 0, 1)])
  const log = await (await admin.get(`/api/system/processes/${some.processId}/log`)).text()
  assert.match(log, /lost\.txt/)
  assert.ok(!log.includes(service.dataFolder))
  // The upload stays, because not all of it was ingested.
  assert.equal(leftIn().length, 1)
})

test('UP3 archives that lead elsewhere, or are not what they seem, put nothing anywhere', async t => {
  const { admin, service, leftIn } = await started(t)
  for (const [bytes, why] of [
    [Buffer.from('not an archive'), /^this is neither a zip, nor a tar, nor a tar\.gz$/],
    [
      zipOf([...itemFiles('one'), { name: '../evil', content: 'x' }]),
      /^"\.\.\/evil" has a path that leads out/,
    ],
    [
      zipOf([...itemFiles('one'), { name: 'one/b', content: 'x', crc: 1 }]),
      /^the archive is damaged: "one\/b": /,
    ],
    [zipOf([{ name: 'readme.txt', content: 'x' }]), /^there is nothing to ingest in the archive/],
  ] as [Buffer<ArrayBuffer>, RegExp][]) {
    const { state, fault } = await ended(admin, await admin.post(address, bytes, zip))
    assert.equal(state, 'failed')
    assert.match(fault ?? '', why)
  }
  // Only the uploads remain.
  for (const name of leftIn()) assert.match(name, /^[0-9a-f]{32}$/)
  assert.equal(await service.storage.repository.uuidOf('upload/one'), undefined)
})

test('UP3 the process that ingests can be killed and cancelled: no folder is left, and the service goes on', async t => {
  const { admin, leftIn } = await started(t)
  const files = Array.from({ length: 2_000 }, (_, at) => ({ name: `one/${at}.txt`, content: `${at}` }))
  const id = await uploaded(
    admin,
    zipOf([...itemFiles('one').slice(0, 1), ...files, { name: 'one/contents', content: '0.txt' }]),
  )
  for (const [end, state, fault] of [
    [
      (_: string) => killChild(),
      'failed',
      /^the ingest ended before it was done \(SIGKILL\); what was ingested stays/,
    ],
    [
      async (number: string) => void (await admin.post(`/api/system/processes/${number}/cancel`)),
      'cancelled',
      /cancelled/,
    ],
  ] as [(number: string) => Promise<void>, string, RegExp][]) {
    const begun = await admin.post(`${address}?upload=${id}`)
    const { processId } = (await begun.clone().json()) as Body
    await until('what is unpacked', () => leftIn().some(name => name.startsWith('unpacked.')), Boolean)
    await end(processId)
    const body = await ended(admin, begun)
    assert.deepEqual([body.state, leftIn()], [state, [id]], body.fault ?? '')
    assert.match(body.fault ?? '', fault)
  }
  const resumed = await ended(admin, await admin.post(`${address}?upload=${id}`))
  assert.deepEqual(resumed.result, counts(1), resumed.fault ?? '')
})

/** Kills the process that this one starts for an ingest. */
async function killChild(): Promise<void> {
  const found = await until('a process that ingests', () => readdirSync('/proc').find(isChild))
  process.kill(Number(found), 'SIGKILL')
}

function isChild(number: string): boolean {
  if (!/^\d+$/.test(number)) return false
  try {
    const status = readFileSync(`/proc/${number}/status`, 'utf8')
    const command = readFileSync(`/proc/${number}/cmdline`, 'utf8')
    return status.includes(`\nPPid:\t${process.pid}\n`) && command.includes('ingest-process')
  } catch {
    // The process has ended meanwhile.
    return false
  }
}

test('UP3 requests that are wrong begin nothing', async t => {
  const { admin, service, leftIn } = await started(t, { CARREL_UPLOAD_SIZE: '1' })
  const bytes = zipOf(itemFiles('one'))
  await assertProblem(await admin.post(address), 400, 'bad-request')
  await assertProblem(
    await admin.post(address, 'x', { 'content-type': 'text/csv' }),
    415,
    'unsupported-media-type',
  )
  await assertProblem(await admin.post(address, new Uint8Array(1_200_000), zip), 413, 'body-too-large')
  const id = await uploaded(admin, bytes)
  await assertProblem(await admin.post(`${address}?upload=${id}`, bytes, zip), 400, 'bad-request')
  for (const wrong of [
    'read=everybody',
    'read=group:None',
    'from=2027-01-01',
    'read=anonymous&from=soon',
    'dryRun=1',
    'x=1',
  ])
    await assertProblem(await admin.post(`${address}?upload=${id}&${wrong}`), 400, 'bad-parameter')
  for (const other of ['0'.repeat(32), '..', 'x'])
    await assertProblem(await admin.post(`${address}?upload=${other}`), 404, 'not-found')
  const other = await service.addLoggedIn('other@example.org', { admin: true })
  await assertProblem(await other.post(`${address}?upload=${id}`), 404, 'not-found')
  const part = await admin.post('/api/uploads', undefined, { 'tus-resumable': '1.0.0', 'upload-length': '5' })
  const unfinished = (part.headers.get('location') ?? '').slice(baseUrl.length + '/api/uploads/'.length)
  await assertProblem(await admin.post(`${address}?upload=${unfinished}`), 409, 'upload-offset')
  assert.deepEqual(leftIn().toSorted(), [id, unfinished].toSorted())
  assert.deepEqual(
    (await service.storage.processes.find({ order: { by: 'id', falling: true } }, { offset: 0, limit: 9 }))
      .rows,
    [],
  )
})

test('UP3 an ingest that failed is resumed from its upload', async t => {
  const { admin, service, leftIn } = await started(t)
  const text = (name: string) => ({
    name: 'manifest.csv',
    content: `identifier,dc.title,readers\nm-1,One,group:${name}\n`,
  })
  const first = await ended(admin, await admin.post(`${address}?read=eperson`, zipOf([text('Late')]), zip))
  assert.deepEqual(first.result, counts(0, 0, 1))
  await assertProblem(
    await admin.post(`/api/system/processes/${first.processId}/resume`),
    422,
    'process-state',
  )
  const [id = ''] = leftIn()
  const broken = await ended(admin, await admin.post(address, Buffer.from('nothing'), zip))
  assert.equal(broken.state, 'failed')
  const resumed = await ended(admin, await admin.post(`/api/system/processes/${broken.processId}/resume`))
  assert.deepEqual(
    [resumed.state, resumed.parameters.some(({ name }) => name === 'resumes')],
    ['failed', true],
  )
  assert.equal(leftIn().length, 2)
  await service.storage.people.ensureGroups(['Late'])
  const again = await ended(admin, await admin.post(`${address}?upload=${id}`))
  assert.deepEqual(again.result, counts(1))
  assert.equal(leftIn().length, 1)
})
