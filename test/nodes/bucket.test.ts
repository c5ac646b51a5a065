import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { newItem, upload } from '../support/data/editing.ts'
import { bucketSettings, startBucket } from '../support/service/bucket.ts'
import { newDatabase } from '../support/service/nodes.ts'
import { carrel, serve } from '../support/service/process.ts'
import { startService } from '../support/service/service.ts'

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
