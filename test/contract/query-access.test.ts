import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import type { Client } from '../support/clients/client.ts'
import { list, listPath, problemOf, queryPath } from '../support/clients/listings.ts'
import { asNewItem } from '../support/data/policies.ts'
import { from, withSpecialGroups } from '../support/service/configuration.ts'
import { engines } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'

const rules = { open: 'anonymous', shared: 'eperson', readers: 'group:Readers', closed: 'admin' } as const
/** Everybody may read these, and sees in them what is there for them. */
const byRow = ['items', 'bitstreams']
const builtIn = ['epersons', 'groups', 'audit-events', ...byRow]
const entities = [...Object.keys(rules), ...builtIn]

/** Who may read what; everybody else is refused. */
const mayRead = {
  anonymous: ['open', ...byRow],
  eperson: ['open', 'shared', 'audit-events', ...byRow],
  reader: ['open', 'shared', 'readers', 'audit-events', ...byRow],
  administrator: entities,
} as const

for (const engine of engines)
  describe(`access to entities on ${engine}`, () => {
    test('Q11 each entity is read by those whom it names, and by administrators', async t => {
      const { clients } = await withEntities(t, engine)
      for (const [who, client] of Object.entries(clients))
        for (const entity of mayRead[who as keyof typeof clients])
          assert.ok((await list(client, entity)).length > 0, `${who} reads ${entity}`)
    })

    test('Q11 a caller who is not logged in gets a 401 with the ways to log in, others a 403', async t => {
      const { clients } = await withEntities(t, engine)
      for (const [who, client] of Object.entries(clients))
        for (const entity of entities) {
          if ((mayRead[who as keyof typeof clients] as readonly string[]).includes(entity)) continue
          for (const method of ['GET', 'HEAD']) {
            const response = await client.request(listPath(entity), { method })
            const status = who === 'anonymous' ? 401 : 403
            assert.equal(response.status, status, `${who} ${method} ${entity}`)
            assert.equal(
              response.headers.get('www-authenticate'),
              status === 401 ? 'password realm="Carrel"' : null,
            )
            assert.equal(response.headers.get('x-records'), null)
            await response.arrayBuffer()
          }
        }
    })

    test('Q11 a refusal comes before the parameters are looked at, and tells nothing of the fields', async t => {
      const { clients } = await withEntities(t, engine)
      for (const query of ['?limit=x', '?order_by=[{"field":"nothing"}]', '?include_total=true&limit=1']) {
        const anonymous = await clients.anonymous.get(listPath('closed') + query)
        assert.equal(anonymous.headers.get('x-records'), null)
        assert.ok(!JSON.stringify(await problemOf(anonymous, 401)).includes('secret field'))
        const eperson = await clients.eperson.get(listPath('closed') + query)
        assert.ok(!JSON.stringify(await problemOf(eperson, 403)).includes('secret field'))
      }
    })

    test('Q11 a token that no longer holds is no token', async t => {
      const { clients } = await withEntities(t, engine)
      await clients.eperson.post('/api/authn/logout')
      await problemOf(await clients.eperson.get(listPath('shared')), 401)
      assert.equal((await list(clients.eperson, 'open')).length, 3)
    })

    test('Q11 a short-lived token in the address reads what its eperson may read', async t => {
      const { clients } = await withEntities(t, engine)
      const path = async (entity: string) =>
        listPath(entity, { limit: 1, 'authentication-token': await clients.reader.shortLivedToken() })
      assert.equal((await clients.anonymous.get(await path('readers'))).status, 200)
      assert.equal((await clients.anonymous.get(await path('closed'))).status, 403)
    })

    test('Q11 membership counts from the moment it is given until the moment it is taken', async t => {
      const { service, clients } = await withEntities(t, engine)
      await problemOf(await clients.eperson.get(listPath('readers')), 403)
      await service.storage.accounts.join('Readers', 'ruth@example.org', commandEvent('group.join'))
      assert.equal((await list(clients.eperson, 'readers')).length, 3)
      await service.storage.accounts.leave('Readers', 'ruth@example.org', commandEvent('group.leave'))
      await problemOf(await clients.eperson.get(listPath('readers')), 403)
    })

    test('Q11 G1 a special group opens what is for its members, also to those who are not logged in', async t => {
      const env = withSpecialGroups(t, { ip: [{ group: 'Readers', ranges: ['10.0.0.0/8'] }] })
      const { clients } = await withEntities(t, engine, env)
      const inside = await clients.anonymous.get(listPath('readers'), from('10.1.2.3'))
      assert.equal(((await inside.json()) as unknown[]).length, 3)
      await problemOf(await clients.anonymous.get(listPath('readers'), from('11.1.2.3')), 401)
      await problemOf(await clients.eperson.get(listPath('readers'), from('11.1.2.3')), 403)
    })

    test('Q11 B3 an administrator who acts on behalf of an eperson reads as that eperson', async t => {
      const { clients, ruth } = await withEntities(t, engine, { CARREL_LOGIN_ON_BEHALF_OF: 'true' })
      const headers = { 'x-on-behalf-of': ruth.uuid }
      assert.equal((await clients.administrator.get(listPath('shared'), headers)).status, 200)
      await problemOf(await clients.administrator.get(listPath('closed'), headers), 403)
      const listed = (await (await clients.administrator.get(queryPath, headers)).json()) as {
        name: string
      }[]
      assert.deepEqual(listed.map(entity => entity.name).sort(), [...mayRead.eperson].sort())
    })

    test('Q11 X-Records counts what the caller may see', async t => {
      const { clients } = await withEntities(t, engine)
      for (const [who, client] of Object.entries(clients))
        for (const entity of mayRead[who as keyof typeof clients]) {
          const response = await client.get(listPath(entity, { include_total: true, limit: 1 }))
          assert.equal(response.headers.get('x-records'), String((await list(client, entity)).length))
          await response.arrayBuffer()
        }
    })

    test('Q12 the root lists to each caller the entities that it may read, and no others', async t => {
      const { clients } = await withEntities(t, engine)
      for (const [who, client] of Object.entries(clients)) {
        const listed = await list<{ name: string; key: string; fields: { name: string }[] }>(client, '')
        const legal = mayRead[who as keyof typeof clients]
        assert.deepEqual(listed.map(entity => entity.name).sort(), [...legal].sort(), who)
        for (const { name, key, fields } of listed) {
          const [record = {}] = await list(client, name, { limit: 1 })
          assert.deepEqual(
            Object.keys(record),
            fields.map(field => field.name),
          )
          assert.ok(key in record)
        }
      }
    })

    test('Q8 Q11 the 404 of an unknown entity lists to each caller only what it may read', async t => {
      const { clients } = await withEntities(t, engine)
      for (const [who, client] of Object.entries(clients)) {
        const { legal } = await problemOf(await client.get(listPath('nothing')), 404)
        assert.ok(Array.isArray(legal))
        assert.deepEqual(legal.toSorted(), [...mayRead[who as keyof typeof clients]].sort())
      }
    })

    test('Q11 Q13 records of epersons show neither passwords nor keys', async t => {
      const { clients } = await withEntities(t, engine)
      const text = await (await clients.administrator.get(listPath('epersons'))).text()
      assert.ok(!/argon2|session|stamp|secret of/.test(text))
    })

    test('Q11 an import with another rule changes who may read at once', async t => {
      const { service, clients } = await withEntities(t, engine)
      await service.addRecords('open', 'id', [{ id: 1 }], 'admin')
      await problemOf(await clients.anonymous.get(listPath('open')), 401)
      await service.addRecords('closed', 'id', [{ id: 1 }], 'anonymous')
      assert.deepEqual(await list(clients.anonymous, 'closed'), [{ id: 1 }])
    })
  })

async function withEntities(
  t: Parameters<typeof startService>[0],
  engine: (typeof engines)[number],
  env: Readonly<Record<string, string>> = {},
) {
  const service = await startService(t, { engine, env })
  const ruth = await service.addEperson('ruth@example.org')
  await service.addEperson('reader@example.org', { groups: ['Readers'] })
  await service.addEperson('root@example.org', { admin: true })
  for (const [entity, read] of Object.entries(rules))
    await service.addRecords(
      entity,
      'id',
      [1, 2, 3].map(id => ({ id, 'secret field': 'x' })),
      read,
    )
  const clients = {
    anonymous: service.client(),
    eperson: await loggedIn(service, 'ruth@example.org'),
    reader: await loggedIn(service, 'reader@example.org'),
    administrator: await loggedIn(service, 'root@example.org'),
  }
  await service.storage.repository.putItems(
    [asNewItem({ ...anItem, bitstreams: [{ name: 'a.txt', readers: null }] })],
    commandEvent('item.add'),
  )
  return { service, clients, ruth }
}

const anItem = { identifier: 'test/1', title: 'One', issued: null, readers: [{ reader: 'anonymous' }] }

async function loggedIn(service: Service, email: string): Promise<Client> {
  const client = service.client()
  await client.login(email)
  return client
}
