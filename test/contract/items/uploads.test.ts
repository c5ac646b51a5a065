import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { localUploads } from '../../../src/admin/uploads/open-uploads.ts'
import { createUploads } from '../../../src/admin/uploads/place.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const tus = { 'tus-resumable': '1.0.0' }
const stream = { ...tus, 'content-type': 'application/offset+octet-stream' }
const adminEmail = 'admin@example.org'

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env } })
  const { uuid } = await service.addEperson(adminEmail, { admin: true })
  const client = await service.loggedIn(adminEmail)
  return { service, client, uuid, folder: join(service.dataFolder, 'uploads') }
}

const begin = (client: Client, size: number | string, headers: Readonly<Record<string, string>> = {}) =>
  client.post('/api/uploads', undefined, { ...tus, 'upload-length': String(size), ...headers })

async function added(client: Client, size: number, headers = {}): Promise<string> {
  const response = await begin(client, size, headers)
  assert.equal(response.status, 201, await response.text())
  const location = response.headers.get('location') ?? ''
  assert.match(location, new RegExp(`^${baseUrl}/api/uploads/[0-9a-f]{32}$`))
  return location.slice(baseUrl.length)
}

const send = (
  client: Client,
  path: string,
  offset: number | string,
  body: string | Uint8Array<ArrayBuffer>,
  headers = {},
) => client.patch(path, body, { ...stream, 'upload-offset': String(offset), ...headers })

const head = (client: Client, path: string, headers: Readonly<Record<string, string>> = tus) =>
  client.request(path, { method: 'HEAD', headers })

const remove = async (client: Client, path: string) =>
  client.request(path, {
    method: 'DELETE',
    headers: { ...tus, 'x-xsrf-token': (await client.csrfPair()).value },
  })

const idOf = (path: string) => path.split('/').at(-1) ?? ''

test('UP1 an upload is sent in pieces, goes on where it stopped, and can be used once it is whole', async t => {
  const { client, folder, service, uuid } = await started(t)
  const path = await added(client, 11, { 'upload-metadata': `filename ${btoa('a/../b.csv')},empty` })
  const first = await send(client, path, 0, 'hello ')
  assert.deepEqual([first.status, first.headers.get('upload-offset')], [204, '6'])
  assert.ok(first.headers.get('upload-expires'))
  assert.equal(first.headers.get('tus-resumable'), '1.0.0')
  const asked = await head(client, path)
  assert.deepEqual(
    ['upload-offset', 'upload-length', 'upload-metadata', 'cache-control'].map(name =>
      asked.headers.get(name),
    ),
    ['6', '11', `filename ${btoa('a/../b.csv')},empty`, 'no-store'],
  )
  const uploads = createUploads(localUploads(service.config))
  assert.equal(await uploads.take(idOf(path), uuid), undefined, 'it is not whole')
  await assertProblem(await send(client, path, 5, 'world'), 409, 'upload-offset')
  assert.equal((await send(client, path, 6, 'world')).status, 204)
  const upload = await uploads.take(idOf(path), uuid)
  assert.ok(upload)
  assert.deepEqual(
    [upload.name, upload.size, readFileSync(await upload.path(), 'utf8')],
    ['a/../b.csv', 11, 'hello world'],
  )
  assert.equal(await uploads.take(idOf(path), uuid), undefined, 'it is taken')
  await assertProblem(await remove(client, path), 423, 'upload-in-use')
  await upload.release(false)
  const again = await uploads.take(idOf(path), uuid)
  assert.ok(again)
  await again.release(true)
  assert.equal((await head(client, path)).status, 404)
  assert.deepEqual(readdirSync(folder), [])
})

test('UP1 an upload may come with the request that creates it, may be empty, and can be removed', async t => {
  const { client, folder } = await started(t)
  const response = await client.post('/api/uploads', 'abc', { ...stream, 'upload-length': '3' })
  assert.deepEqual([response.status, response.headers.get('upload-offset')], [201, '3'])
  const path = (response.headers.get('location') ?? '').slice(baseUrl.length)
  const empty = await added(client, 0)
  const list = (await (await client.get('/api/uploads')).json()) as {
    _embedded: { uploads: { id: string; size: number; offset: number }[] }
  }
  assert.deepEqual(
    list._embedded.uploads.map(({ id, size, offset }) => [id, size, offset]).toSorted(),
    [
      [idOf(path), 3, 3],
      [idOf(empty), 0, 0],
    ].toSorted(),
  )
  assert.equal((await remove(client, path)).status, 204)
  await assertProblem(await remove(client, path), 404, 'not-found')
  assert.equal((await remove(client, empty)).status, 204)
  assert.deepEqual(readdirSync(folder), [])
})

test('UP1 what the service takes is told by OPTIONS, to browsers of allowed origins too', async t => {
  const { service } = await started(t, {
    CARREL_ALLOWED_ORIGINS: 'https://ui.example.edu',
    CARREL_UPLOAD_SIZE: '7',
  })
  const client = service.client()
  const told = await client.request('/api/uploads', { method: 'OPTIONS' })
  assert.equal(told.status, 204)
  assert.deepEqual(
    ['tus-version', 'tus-extension', 'tus-max-size', 'access-control-allow-origin'].map(name =>
      told.headers.get(name),
    ),
    ['1.0.0', 'creation,creation-with-upload,termination,expiration', String(7 * 1024 * 1024), null],
  )
  const preflight = await client.request('/api/uploads', {
    method: 'OPTIONS',
    headers: { origin: 'https://ui.example.edu', 'access-control-request-method': 'PATCH' },
  })
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /Upload-Offset/)
  const seen = await client.get('/api/uploads', { origin: 'https://ui.example.edu' })
  assert.match(
    seen.headers.get('access-control-expose-headers') ?? '',
    /Location.*Tus-Resumable.*Upload-Offset/,
  )
})

test('UP1 each administrator sees only the uploads that are theirs', async t => {
  const { service, client } = await started(t)
  const path = await added(client, 5)
  const reader = await service.addLoggedIn('reader@example.org')
  const other = await service.addLoggedIn('other@example.org', { admin: true })
  for (const [one, status] of [
    [service.client(), 401],
    [reader, 403],
    [other, 404],
  ] as const)
    assert.equal((await head(one, path)).status, status)
  assert.equal((await send(other, path, 0, 'hello')).status, 404)
  assert.equal((await remove(other, path)).status, 404)
  const list = (await (await other.get('/api/uploads')).json()) as { page: { totalElements: number } }
  assert.equal(list.page.totalElements, 0)
  assert.equal((await head(client, path)).headers.get('upload-offset'), '0')
})

test('UP1 requests that are wrong in any way add nothing', async t => {
  const { client, folder } = await started(t, { CARREL_UPLOAD_SIZE: '1' })
  const wrong: [Readonly<Record<string, string>>, number, string][] = [
    [{ 'upload-length': '-1' }, 400, 'bad-request'],
    [{ 'upload-length': '1e3' }, 400, 'bad-request'],
    [{ 'upload-length': '0x10' }, 400, 'bad-request'],
    [{ 'upload-length': '99999999999999999999' }, 400, 'bad-request'],
    [{ 'upload-length': '5, 6' }, 400, 'bad-request'],
    [{ 'upload-length': '1048577' }, 413, 'body-too-large'],
    [{ 'upload-length': '5', 'tus-resumable': '0.2.2' }, 412, 'tus-version'],
    [{ 'upload-length': '5', 'upload-metadata': 'name a' }, 400, 'bad-request'],
    [{ 'upload-length': '5', 'upload-metadata': 'a,a' }, 400, 'bad-request'],
    [{ 'upload-length': '5', 'upload-metadata': '__proto__ e30=' }, 400, 'bad-request'],
    [{ 'upload-length': '5', 'upload-metadata': `name ${'A'.repeat(8_000)}` }, 400, 'bad-request'],
    [{ 'upload-length': '5', 'upload-concat': 'partial' }, 400, 'bad-request'],
    [{ 'upload-length': '5', 'upload-concat': `final;/api/uploads/${'0'.repeat(32)}` }, 400, 'bad-request'],
    [{ 'upload-defer-length': '1' }, 400, 'bad-request'],
    [{}, 400, 'bad-request'],
  ]
  for (const [headers, status, code] of wrong)
    await assertProblem(await client.post('/api/uploads', undefined, { ...tus, ...headers }), status, code)
  assert.equal((await client.post('/api/uploads', undefined, { 'upload-length': '5' })).status, 412)
  assert.equal(
    (await client.post('/api/uploads', 'x', { ...tus, 'upload-length': '5', 'content-type': 'text/csv' }))
      .status,
    415,
  )
  assert.deepEqual(existsSync(folder) ? readdirSync(folder) : [], [])

  const path = await added(client, 5)
  for (const [offset, status] of [
    ['-1', 400],
    ['1', 409],
    ['0.0', 400],
    ['99999999999999999999', 400],
    ['999999999999999', 409],
  ] as const)
    assert.equal((await send(client, path, offset, 'hello')).status, status, offset)
  await assertProblem(await client.patch(path, 'hello', stream), 400, 'bad-request')
  await assertProblem(await send(client, path, 0, 'hello!'), 413, 'body-too-large')
  await assertProblem(
    await send(client, path, 0, 'hello', { 'content-type': 'text/plain' }),
    415,
    'unsupported-media-type',
  )
  assert.equal((await head(client, path)).headers.get('upload-offset'), '0')
  for (const id of [
    '..%2f..%2fcarrel.db',
    '..%00',
    'held',
    `${'0'.repeat(31)}G`,
    '0'.repeat(32),
    `${idOf(path)}%2fdata`,
  ]) {
    assert.ok([400, 404].includes((await head(client, `/api/uploads/${id}`)).status), id)
    assert.ok([400, 404].includes((await send(client, `/api/uploads/${id}`, 0, 'x')).status), id)
    assert.ok([400, 404].includes((await remove(client, `/api/uploads/${id}`)).status), id)
  }
})

test('UP1 a body without a length is cut where the upload ends', async t => {
  const { client, folder } = await started(t)
  const path = await added(client, 4)
  const body = new ReadableStream<Uint8Array>({
    pull: controller => {
      controller.enqueue(Buffer.from('xy'))
      controller.enqueue(Buffer.from('zzzzzz'))
      controller.close()
    },
  })
  const { value } = await client.csrfPair()
  await client
    .request(path, {
      method: 'PATCH',
      body,
      duplex: 'half',
      headers: { ...stream, 'upload-offset': '0', 'x-xsrf-token': value },
    } as RequestInit)
    .catch(() => {})
  assert.equal(readFileSync(join(folder, idOf(path), 'data'), 'utf8'), 'xyzz')
})

test('UP1 of two requests at once that send the same upload, the later one goes on', async t => {
  const { client, folder } = await started(t)
  const whole = randomBytes(200_000)
  const path = await added(client, whole.length)
  const { value } = await client.csrfPair()
  // The first request doesn't end by itself: after most of the bytes, it sends one at a time.
  let sent = 150_000
  const gone = new AbortController()
  const body = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(whole.subarray(0, sent)),
    pull: async controller => {
      await delay(50)
      controller.enqueue(whole.subarray(sent, ++sent))
    },
  })
  const dripping = client
    .request(path, {
      method: 'PATCH',
      body,
      duplex: 'half',
      headers: { ...stream, 'upload-offset': '0', 'x-xsrf-token': value },
      signal: gone.signal,
    } as RequestInit)
    .catch(() => undefined)
  const data = join(folder, idOf(path), 'data')
  const onDisk = await until(
    'the first bytes on disk',
    () => statSync(data).size,
    size => size > 0,
  )
  // A request that doesn't stop within five seconds keeps the upload, and the client has to try again.
  const asked = await until(
    'an upload that another request lets go',
    () => head(client, path),
    ({ status }) => status === 200,
  )
  const offset = Number(asked.headers.get('upload-offset'))
  assert.ok(offset >= onDisk && offset <= sent, `${offset} of ${sent}`)
  assert.equal((await send(client, path, offset, whole.subarray(offset))).status, 204)
  gone.abort()
  await dripping
  assert.ok(readFileSync(data).equals(whole))
})

test('UP2 the number and size of the uploads of an eperson have limits, and so has the disk', async t => {
  const { client, service } = await started(t, { CARREL_UPLOAD_COUNT: '2', CARREL_UPLOAD_QUOTA: '1' })
  const half = 600 * 1024
  const first = await added(client, half)
  await assertProblem(await begin(client, half), 507, 'no-room')
  await added(client, 5)
  await assertProblem(await begin(client, 5), 507, 'no-room')
  assert.equal((await remove(client, first)).status, 204)
  const both = await Promise.all([begin(client, half), begin(client, half), begin(client, half)])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [201, 507, 507])
  const other = await service.addLoggedIn('other@example.org', { admin: true })
  await added(other, half)
  const { client: poor } = await started(t, { CARREL_UPLOAD_FREE: '10000000' })
  await assertProblem(await begin(poor, 5), 507, 'no-room')
})

test('UP2 uploads expire, but not while something is made of them; nothing else in their folder stays', async t => {
  const { client, folder, service, uuid } = await started(t)
  const [old, held, fresh] = [await added(client, 0), await added(client, 0), await added(client, 0)]
  const past = new Date(Date.now() - 10_000)
  for (const path of [old, held]) utimesSync(join(folder, idOf(path), 'data'), past, past)
  assert.ok(await createUploads(localUploads(service.config)).take(idOf(held), uuid))
  const owner = Buffer.from(JSON.stringify([(await import('node:os')).hostname(), 4_194_305, '1'])).toString(
    'base64url',
  )
  writeFileSync(join(folder, `unpacked.x.${owner}`), '')
  await localUploads(service.config).clear(5_000, Date.now())
  assert.deepEqual(readdirSync(folder).toSorted(), [idOf(held), idOf(fresh)].toSorted())
  assert.equal((await head(client, old)).status, 404)
})

test('UP2 only the owner of the service can read uploads', async t => {
  const { client, folder } = await started(t)
  const path = await added(client, 1)
  for (const [one, mode] of [
    [folder, 0o700],
    [join(folder, idOf(path)), 0o700],
    [join(folder, idOf(path), 'data'), 0o600],
    [join(folder, idOf(path), 'info.json'), 0o600],
  ] as const)
    assert.equal(statSync(one).mode & 0o777, mode)
})
