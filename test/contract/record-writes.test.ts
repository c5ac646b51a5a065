import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import type { WriteRule } from '../../src/model/entities.ts'
import { assertProblem } from '../support/clients/answers.ts'
import type { Client } from '../support/clients/client.ts'
import { ruthEmail } from '../support/data/ruth.ts'
import { test } from '../support/service/engines.ts'
import { baseUrl, startService } from '../support/service/service.ts'

const path = '/api/query/v4/artworks'
const json = { 'content-type': 'application/json' }
const jsonPatch = { 'content-type': 'application/json-patch+json' }
const mergePatch = { 'content-type': 'application/merge-patch+json' }

const records = [
  { id: 'A1', title: 'Night', year: 1901, size: { height: 30, tags: ['oil'] } },
  { id: 'A2', title: 'Morning', year: 1903, size: null },
  { id: 'A3', title: 'Noon', year: null, size: null },
]

async function started(t: TestContext, write: WriteRule | null = 'group:curators') {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addEperson(ruthEmail, { groups: ['curators'] })
  await service.addEperson('reader@example.org')
  await service.addEperson('admin@example.org', { admin: true })
  await service.addRecords('artworks', 'id', records)
  await service.storage.entities.changeWriteRule('artworks', write, commandEvent('entity.writers'))
  const login = async (email: string) => {
    const client = service.client()
    await client.login(email)
    return client
  }
  return { service, login, client: await login(ruthEmail) }
}

const send = (client: Client, method: string, address: string, body: unknown, headers = {}) =>
  client.request(address, {
    method,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    headers: { ...json, ...headers },
  })
const put = (client: Client, key: string, body: unknown, headers = {}) =>
  send(client, 'PUT', `${path}/${key}`, body, headers)
const patch = (client: Client, key: string, body: unknown, headers: Readonly<Record<string, string>> = mergePatch) =>
  send(client, 'PATCH', `${path}/${key}`, body, headers)
const remove = (client: Client, key: string, headers = {}) =>
  client.request(`${path}/${key}`, { method: 'DELETE', headers })

const list = async (client: Client, query = '') => (await client.get(`${path}${query}`)).json() as Promise<unknown[]>

test('R1 R3 PUT makes a record (201 with Location) or replaces it (200), and everybody sees it at once', async t => {
  const { service, client } = await started(t)
  const made = await put(client, 'A4', { title: 'Dusk', year: 1904 })
  assert.equal(made.status, 201, await made.clone().text())
  assert.equal(made.headers.get('location'), `${baseUrl}${path}/A4`)
  assert.deepEqual(await made.json(), { title: 'Dusk', year: 1904, id: 'A4' })
  const other = service.client()
  const got = await other.get(`${path}/A4`)
  assert.equal(got.headers.get('etag'), made.headers.get('etag'))
  assert.deepEqual(await list(other, '?order_by=[{"field":"year","order":"desc"}]&include_total=true'), [
    records[2],
    { title: 'Dusk', year: 1904, id: 'A4' },
    records[1],
    records[0],
  ])
  const replaced = await put(client, 'A4', { id: 'A4', title: 'Dawn' })
  assert.equal(replaced.status, 200)
  assert.deepEqual(await (await other.get(`${path}/A4`)).json(), { id: 'A4', title: 'Dawn' })
  assert.deepEqual(await list(other, '?query=["=","title","Dusk"]'), [])
  assert.equal((await list(other, '?query=["=","title","Dawn"]')).length, 1)
  assert.equal((await remove(client, 'A4')).status, 204)
  assertProblem(await other.get(`${path}/A4`), 404, 'not-found')
  assert.deepEqual(await list(other), records)
})
