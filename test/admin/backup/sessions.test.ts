import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Client } from '../../support/clients/client.ts'
import { assertDone, backUp, emptyPlace, restore } from '../../support/data/backups.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { begunOf } from '../../support/data/sessions.ts'
import { createDatabase } from '../../support/service/databases.ts'
import { allEngines, test, testOn, useDatabase } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'

const json = { 'content-type': 'application/json' }

async function loggedIn(service: Service): Promise<Client> {
  const client = service.client()
  await client.login(ruthEmail)
  return client
}

/**
 * Creates a session that is the only one left, a session that was ended alone, a normal session, and an
 * access token.
 */
async function used(service: Service) {
  await service.addEperson(ruthEmail)
  const [kept, gone] = [await loggedIn(service), await loggedIn(service)]
  assert.equal((await kept.delete('/api/authn/sessions')).status, 204)
  const [ended, usual] = [await loggedIn(service), await loggedIn(service)]
  assert.equal((await kept.delete(`/api/authn/sessions/${begunOf(ended.token ?? '')}`)).status, 204)
  const made = await usual.post('/api/authn/tokens', '{"name":"job","networks":["127.0.0.1"]}', json)
  const { token } = (await made.json()) as { token: string }
  const list = async (client: Client) => (await client.get('/api/authn/sessions')).text()
  return {
    alive: [kept.token, usual.token, token],
    dead: [gone.token, ended.token],
    usual,
    token,
    list: await list(usual),
    assertSame: async (copy: Service, alive: boolean) => {
      const client = copy.client()
      for (const one of [kept.token, usual.token, token]) assert.equal(await client.isLoggedIn(one), alive)
      for (const one of [gone.token, ended.token]) assert.equal(await client.isLoggedIn(one), false)
      if (!alive) return
      client.token = usual.token
      assert.equal(await list(client), await list(usual))
      assert.equal(await client.isLoggedIn(await client.refresh()), true)
      await client.login(ruthEmail)
    },
  }
}

test('N1 K5 D8 a restore ends sessions and access tokens, or keeps them as they were', async t => {
  const service = await startService(t)
  const { assertSame } = await used(service)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  await backUp(service.dataFolder, folder)
  for (const engine of allEngines) {
    const place = emptyPlace(t, engine)
    assertDone(await restore(place, folder, '--keep-sessions'))
    await assertSame(await startService(t, { dataFolder: place }), true)
    const empty = emptyPlace(t, engine)
    assertDone(await restore(empty, folder))
    await assertSame(await startService(t, { dataFolder: empty }), false)
  }
})

testOn('sqlite', 'N1 K5 D2 a copy has the sessions and access tokens of the store', async t => {
  const service = await startService(t)
  const { assertSame } = await used(service)
  const url = await createDatabase(t)
  const address = new URL(url)
  const { password } = address
  address.password = ''
  const done = await carrel(service.dataFolder, ['copy', '--to', address.href], {
    env: { PGPASSWORD: decodeURIComponent(password) },
  })
  assert.equal(done.code, 0, done.stderr)
  const place = temporaryFolder(t, 'sqlite')
  useDatabase(t, place, async () => url)
  await assertSame(await startService(t, { dataFolder: place }), true)
})
