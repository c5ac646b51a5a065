import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { newItem, upload } from '../support/data/editing.ts'
import { itemFiles, zipOf } from '../support/data/packed.ts'
import { bucketSettings, startBucket } from '../support/service/bucket.ts'
import { newDatabase } from '../support/service/nodes.ts'
import { carrel, serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const librarian = 'librarian@example.org'

test('F5 T4 three nodes share a bucket and no folder: files go up on one, come down on another, a logout holds on all, and each may be killed', async t => {
  const bucket = await startBucket(t)
  const env = bucketSettings(bucket)
  const { dataFolder } = await newDatabase(t, {})
  const first = await startService(t, { dataFolder, env })
  await first.addEperson(librarian, { admin: true })
  const start = async () => {
    const node = await serve(t, dataFolder, { env })
    return { node, client: new Client(node.address) }
  }
  const nodes = [await start(), await start(), await start()]
  const logIn = async () => {
    const token = await first.client().login(librarian)
    for (const { client } of nodes) client.token = token
  }
  await logIn()
  const { bundle } = await newItem(nodes[0]?.client ?? first.client())
  const stored: { readonly path: string; readonly content: Buffer<ArrayBuffer> }[] = []
  async function send(client: Client, size: number): Promise<void> {
    const content = randomBytes(size)
    const { status, body } = await upload(client, bundle, { name: `${stored.length}.bin`, content })
    assert.equal(status, 201, JSON.stringify(body))
    stored.push({ path: `/api/core/bitstreams/${body.uuid}/content`, content })
  }
  async function expectAll(client: Client): Promise<void> {
    for (const { path, content } of stored) {
      const whole = await client.get(path)
      assert.equal(whole.status, 200)
      assert.ok(Buffer.from(await whole.arrayBuffer()).equals(content))
      const part = await client.get(path, { range: 'bytes=5-1004' })
      assert.equal(part.status, 206)
      assert.ok(Buffer.from(await part.arrayBuffer()).equals(content.subarray(5, 1_005)))
    }
  }

  for (const at of nodes.keys()) {
    const [killed, other, third] = [nodes[at], nodes[(at + 1) % 3], nodes[(at + 2) % 3]]
    assert.ok(killed && other && third)
    await send(killed.client, 2_000)
    await send(killed.client, 6_000_000)
    // An upload is under way when the node dies.
    const broken = send(killed.client, 30_000_000).catch(() => 'broken')
    killed.node.signal('SIGKILL')
    await killed.node.ended
    assert.equal(await broken, 'broken')
    await send(other.client, 6_000_000)
    await expectAll(third.client)
    nodes[at] = await start()
    await logIn()
  }

  const [one, two, three] = nodes
  const [{ path } = { path: '' }] = stored
  assert.ok(one && two && three)
  const leased = await one.client.get(path)
  const lease = leased.headers.getSetCookie().find(cookie => cookie.startsWith('CARREL-LEASE=')) ?? ''
  const cookie = lease.split(';')[0] ?? ''
  const byLease = async () => (await fetch(two.node.address + path, { headers: { cookie } })).status
  assert.deepEqual([leased.status, await byLease()], [200, 200])
  assert.equal((await three.client.post('/api/authn/logout')).status, 204)
  for (const { client } of nodes) assert.equal((await client.get(path)).status, 401)
  assert.equal(await byLease(), 401)

  const { stdout } = await carrel(dataFolder, ['files', 'verify'], { env })
  assert.match(stdout, new RegExp(`^${stored.length} files read .*: all intact`))
})

const tus = { 'tus-resumable': '1.0.0' }

for (const kind of ['folder', 'bucket'] as const)
  test(`UP5 UP3 with a ${kind} that nodes share, an upload goes on at another node, also when the first was killed, and an import and an ingest of it run there`, async t => {
    const shared =
      kind === 'folder' ? { CARREL_FILES: temporaryFolder(t) } : bucketSettings(await startBucket(t))
    const env = { ...shared, CARREL_UPLOAD_COUNT: '3' }
    const { dataFolder, url } = await newDatabase(t, {})
    const first = await startService(t, { dataFolder, env })
    await first.addEperson(librarian, { admin: true })
    const token = await first.client().login(librarian)
    // Each node has a data folder of its own.
    const start = async () => {
      const node = await serve(t, temporaryFolder(t, 'sqlite'), { env: { ...env, CARREL_DATABASE_URL: url } })
      const client = new Client(node.address)
      client.token = token
      return { node, client }
    }
    const [one, two, three] = [await start(), await start(), await start()]
    const begin = async ({ client }: typeof one, size: number, name: string) => {
      const answer = await client.post('/api/uploads', undefined, {
        ...tus,
        'upload-length': String(size),
        'upload-metadata': `filename ${btoa(name)}`,
      })
      return { answer, path: new URL(answer.headers.get('location') ?? 'http://none').pathname }
    }
    const offsetAt = async ({ client }: typeof one, path: string) => {
      const answer = await client.request(path, { method: 'HEAD', headers: tus })
      return answer.status === 200 ? Number(answer.headers.get('upload-offset')) : answer.status
    }
    const send = ({ client }: typeof one, path: string, offset: number, body: Uint8Array<ArrayBuffer>) =>
      client.patch(path, body, {
        ...tus,
        'content-type': 'application/offset+octet-stream',
        'upload-offset': String(offset),
      })

    const records = Buffer.from(
      Array.from({ length: 200_000 }, (_, id) => `{"id": ${id}, "title": "${id} of many"}\n`).join(''),
    )
    const { path } = await begin(one, records.length, 'books.ndjson')
    assert.equal((await send(one, path, 0, records.subarray(0, 3_000_000))).status, 204)
    assert.equal(await offsetAt(two, path), 3_000_000)
    assert.equal((await send(two, path, 3_000_000, records.subarray(3_000_000, 4_000_000))).status, 204)
    // A node is killed while it receives a piece.
    const broken = send(one, path, 4_000_000, records.subarray(4_000_000, 5_500_000)).catch(() => undefined)
    one.node.signal('SIGKILL')
    await one.node.ended
    await broken
    const after = await until(
      'a free upload',
      () => offsetAt(three, path),
      at => at >= 4_000_000,
    )
    assert.ok(after <= 5_500_000)
    // Two nodes send the rest at the same time: one of them gets it, and each byte is in its place.
    const both = await Promise.all([two, three].map(node => send(node, path, after, records.subarray(after))))
    assert.ok(
      both.some(({ status }) => status === 204),
      `${both.map(({ status }) => status)}`,
    )
    assert.equal(await offsetAt(two, path), records.length)
    const id = path.split('/').at(-1) ?? ''
    const imported = await two.client.post(
      `/api/admin/entities/books/import?upload=${id}&key=id`,
      undefined,
      { prefer: 'respond-async' },
    )
    assert.ok([200, 201, 202].includes(imported.status), await imported.text())
    await until(
      'the records',
      async () =>
        (await three.client.get('/api/query/v4/books?limit=1&include_total=true')).headers.get('x-records'),
      total => total === '200000',
    )
    await until(
      'an upload that is used up',
      () => offsetAt(three, path),
      at => at === 404,
    )

    // The limits hold over all nodes.
    const begun = []
    for (const node of [two, three, two, three]) begun.push(await begin(node, 10, 'a'))
    assert.deepEqual(
      begun.map(({ answer }) => answer.status),
      [201, 201, 201, 507],
    )
    const listed = (await (await three.client.get('/api/uploads')).json()) as {
      page: { totalElements: number }
    }
    assert.equal(listed.page.totalElements, 3)
    const [mine] = begun
    assert.ok(mine)
    const removed = await three.client.request(mine.path, {
      method: 'DELETE',
      headers: { ...tus, 'x-xsrf-token': (await three.client.csrfPair()).value },
    })
    assert.equal(removed.status, 204)
    assert.equal(await offsetAt(two, mine.path), 404)

    const archive = zipOf(itemFiles('item_000'))
    const sent = await begin(two, archive.length, 'one.zip')
    assert.equal((await send(three, sent.path, 0, archive)).status, 204)
    const ingested = await two.client.post(
      `/api/admin/ingest?upload=${sent.path.split('/').at(-1)}&read=anonymous`,
    )
    assert.equal(ingested.status, 202, await ingested.text())
    await until(
      'the item',
      async () =>
        ((await (await three.client.get('/api/core/items')).json()) as { page: { totalElements: number } })
          .page.totalElements,
      count => count === 1,
    )
  })

test('UP5 a file that is made of an upload is there and acknowledged, though the bucket removes nothing then', async t => {
  const bucket = await startBucket(t)
  const { dataFolder } = await newDatabase(t, {})
  const service = await startService(t, { dataFolder, env: bucketSettings(bucket) })
  await service.addEperson(librarian, { admin: true })
  const client = service.client()
  await client.login(librarian)
  const { bundle } = await newItem(client)
  const begun = await client.post('/api/uploads', 'abc', {
    ...{ ...tus, 'upload-length': '3', 'upload-metadata': `filename ${btoa('a')}` },
    'content-type': 'application/offset+octet-stream',
  })
  const id = begun.headers.get('location')?.split('/').at(-1)
  assert.equal(begun.status, 201)
  const isRemoval = ({ method, path }: { readonly method: string; readonly path: string }) =>
    method === 'DELETE' && path.includes('/uploads/')
  bucket.line.fault = seen => (isRemoval(seen) ? { status: 403 } : undefined)
  const made = await client.post(`/api/core/bundles/${bundle}/bitstreams?upload=${id}`)
  assert.equal(made.status, 201, await made.clone().text())
  assert.ok(bucket.line.requests.some(isRemoval))
  const { uuid } = (await made.json()) as { uuid: string }
  assert.equal(await (await client.get(`/api/core/bitstreams/${uuid}/content`)).text(), 'abc')
})

test('UP5 without a place that nodes share, a node says that an upload may be on another one, and what would be right', async t => {
  const { dataFolder, url } = await newDatabase(t, {})
  const first = await startService(t, { dataFolder })
  await first.addEperson(librarian, { admin: true })
  const client = first.client()
  await client.login(librarian)
  const begun = await client.post('/api/uploads', undefined, { ...tus, 'upload-length': '10' })
  const { pathname } = new URL(begun.headers.get('location') ?? '')
  const node = await serve(t, temporaryFolder(t, 'sqlite'), { env: { CARREL_DATABASE_URL: url } })
  const other = new Client(node.address)
  other.token = client.token
  const answer = await other.patch(pathname, 'abc', {
    ...{ ...tus, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
  })
  const { detail, code } = (await answer.json()) as { detail: string; code: string }
  assert.deepEqual([answer.status, code], [404, 'not-found'])
  assert.match(
    detail,
    /on this node, \S+\. Nodes share uploads if CARREL_FILES names .* all requests of an upload to one node/,
  )
})
