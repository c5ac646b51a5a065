import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { localUploads } from '../../../src/admin/uploads/open-uploads.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Client } from '../../support/clients/client.ts'
import { sendHalf } from '../../support/clients/half-sent.ts'
import { postJson } from '../../support/clients/people.ts'
import { change, newItem, read } from '../../support/data/editing.ts'
import { test } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

/** The eperson who sends bodies slowly, while their account changes. */
const email = 'curator@example.org'

async function started(t: TestContext) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addEperson('admin@example.org', { admin: true })
  const { uuid } = await service.addEperson(email, { admin: true })
  const admin = await service.loggedIn('admin@example.org')
  const client = await service.loggedIn(email)
  const item = await newItem(admin)
  return { service, admin, client, uuid, item }
}

/** @returns a function that sends the rest, and returns status and code of the answer */
async function half(client: Client, path: string, type: string, body: string, headers = {}) {
  const sent = await sendHalf(client, path, { type, body, headers })
  return {
    end: async () => {
      const { status, code } = await sent.end()
      return [status, code] as const
    },
  }
}

const form =
  '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' +
  `${'text '.repeat(1000)}\r\n--b--\r\n`
const records = `id\n${Array.from({ length: 1000 }, (_, at) => at).join('\n')}\n`

const ends = {
  'a logout': ({ sessions }: Service['storage'], uuid: string) =>
    sessions.logout(uuid, commandEvent('logout')),
  'being disabled': ({ people }: Service['storage']) =>
    people.setEnabled(email, false, commandEvent('eperson.disable')),
}

for (const [what, end] of Object.entries(ends))
  test(`I7 EA7 UP3 what is still arriving counts for nothing after ${what}`, async t => {
    const { service, admin, client, uuid, item } = await started(t)
    const sent = [
      await half(
        client,
        `/api/core/bundles/${item.bundle}/bitstreams`,
        'multipart/form-data; boundary=b',
        form,
      ),
      await half(client, '/api/admin/entities/birds/import?key=id', 'text/csv', records),
      await half(client, '/api/admin/ingest', 'application/zip', 'PK'.repeat(1000)),
    ]
    await end(service.storage, uuid)
    for (const one of sent) assert.deepEqual(await one.end(), [401, 'authentication-required'])
    const files = await read(admin, `/api/core/bundles/${item.bundle}/bitstreams`)
    assert.equal(files.page.totalElements, 0)
    assert.equal((await read(admin, '/api/system/processes')).page.totalElements, 0)
    assert.deepEqual(await localUploads(service.config).list(), [])
  })

test('I7 EA7 UP3 someone who loses the right while a body arrives is refused, and a refreshed token is not', async t => {
  const { service, client, item } = await started(t)
  const { people } = service.storage
  const file = () =>
    half(client, `/api/core/bundles/${item.bundle}/bitstreams`, 'multipart/form-data; boundary=b', form)
  const first = await file()
  await client.refresh()
  assert.equal((await first.end())[0], 201)
  const sent = [
    await file(),
    await half(client, '/api/admin/entities/birds/import?key=id', 'text/csv', records),
    await half(client, '/api/admin/ingest', 'application/zip', 'PK'.repeat(1000)),
  ]
  await people.leave('Administrator', email, commandEvent('group.leave'))
  for (const one of sent) assert.deepEqual(await one.end(), [403, 'access-denied'])
})

test('K5 a file that is still arriving counts for nothing once its access token is revoked, but for a logout', async t => {
  const { client, item } = await started(t)
  const wanted = { name: 'script', methods: ['GET', 'POST'], parts: ['items'] }
  const made = (await (await postJson(client, '/api/authn/tokens', wanted)).json()) as {
    token: string
    id: string
  }
  const path = `/api/core/bundles/${item.bundle}/bitstreams`
  const send = () =>
    half(client, path, 'multipart/form-data; boundary=b', form, { authorization: `Bearer ${made.token}` })
  const [kept, lost] = [await send(), await send()]
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  assert.equal((await kept.end())[0], 201)
  await client.login(email)
  assert.equal((await client.delete(`/api/authn/tokens/${made.id}`)).status, 204)
  assert.deepEqual(await lost.end(), [401, 'authentication-required'])
})

test('S5 a file that is still arriving counts for nothing once the alert allows administrators only, but from one who acts', async t => {
  const { service, admin, client, item } = await started(t)
  const { uuid } = await service.addEperson('ruth@example.org', { groups: ['Writers'] })
  const [group] = await service.storage.people.ensureGroups(['Writers'])
  const policy = `/api/authz/resourcepolicies?resource=${item.uuid}&group=${group?.uuid}`
  assert.equal((await change(admin, 'post', policy, { action: 'WRITE' })).status, 201)
  const ruth = await service.loggedIn('ruth@example.org')
  const path = `/api/core/bundles/${item.bundle}/bitstreams`
  const type = 'multipart/form-data; boundary=b'
  const lost = await half(ruth, path, type, form)
  const kept = await half(client, path, type, form, { 'x-on-behalf-of': uuid })
  const alert = { message: 'x', allowSessions: 'admin', countdownTo: null, active: true } as const
  await service.storage.alerts.add(alert, commandEvent('alert.change'))
  assert.deepEqual(await lost.end(), [401, 'authentication-required'])
  assert.equal((await kept.end())[0], 201)
})

test('B4 a file that arrives on behalf of someone ends with the session of who acts', async t => {
  const { service, admin, client, item } = await started(t)
  const { uuid: ruth } = await service.addEperson('ruth@example.org', { groups: ['Writers'] })
  const [group] = await service.storage.people.ensureGroups(['Writers'])
  const policy = `/api/authz/resourcepolicies?resource=${item.uuid}&group=${group?.uuid}`
  assert.equal((await change(admin, 'post', policy, { action: 'WRITE' })).status, 201)
  const path = `/api/core/bundles/${item.bundle}/bitstreams`
  const acting = { 'x-on-behalf-of': ruth }
  const send = () => half(client, path, 'multipart/form-data; boundary=b', form, acting)
  const [kept, lost] = [await send(), await send()]
  assert.equal((await kept.end())[0], 201)
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  assert.deepEqual(await lost.end(), [401, 'authentication-required'])
})
