import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { list, listPath, problemOf } from '../../support/clients/listings.ts'
import { asNewItem } from '../../support/data/policies.ts'
import { type Engine, engines } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const rules = { open: 'anonymous', shared: 'eperson', readers: 'group:Readers', closed: 'admin' } as const
/** Entities that everyone may read, with rows filtered by the caller's rights. */
const byRow = ['items', 'bitstreams']
const builtIn = ['epersons', 'groups', 'audit-events', ...byRow]
const entities = [...Object.keys(rules), ...builtIn]

/** The entities that each kind of caller may read; all others are refused. */
const mayRead = {
  anonymous: ['open', ...byRow],
  eperson: ['open', 'shared', 'audit-events', ...byRow],
  reader: ['open', 'shared', 'readers', 'audit-events', ...byRow],
  administrator: entities,
} as const

for (const engine of engines)
  describe(`access to entities on ${engine}`, () => {
    test('Q8 Q11 Q12 each entity is listed, named and counted for those whom it names and for administrators; others get 401 or 403', async t => {
      const { clients } = await withEntities(t, engine)
      for (const [who, client] of Object.entries(clients)) {
        const legal: readonly string[] = mayRead[who as keyof typeof clients]
        const root = await list<{ name: string; key: string; fields: { name: string }[] }>(client, '')
        assert.deepEqual(root.map(({ name }) => name).sort(), [...legal].sort(), who)
        const unknown = await problemOf(await client.get(listPath('nothing')), 404)
        assert.deepEqual((unknown.legal as string[]).toSorted(), [...legal].sort(), who)
        for (const { name, key, fields } of root) {
          const answer = await client.get(listPath(name, { include_total: true, limit: 1 }))
          const [record = {}] = (await answer.json()) as object[]
          assert.deepEqual(
            Object.keys(record),
            fields.map(field => field.name),
          )
          assert.ok(key in record)
          assert.equal(answer.headers.get('x-records'), String((await list(client, name)).length))
        }
        for (const entity of entities.filter(one => !legal.includes(one)))
          for (const method of ['GET', 'HEAD']) {
            const response = await client.request(listPath(entity, { include_total: true }), { method })
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

    test('Q11 Q13 records of epersons show neither passwords nor keys', async t => {
      const { clients } = await withEntities(t, engine)
      const text = await (await clients.administrator.get(listPath('epersons'))).text()
      assert.ok(!/argon2|session|stamp|secret of/.test(text))
    })
  })

async function withEntities(t: TestContext, engine: Engine) {
  const service = await startService(t, { engine })
  await service.addEperson('ruth@example.org')
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
    eperson: await service.loggedIn('ruth@example.org'),
    reader: await service.loggedIn('reader@example.org'),
    administrator: await service.loggedIn('root@example.org'),
  }
  await service.storage.repository.putItems(
    [asNewItem({ ...anItem, bitstreams: [{ name: 'a.txt', readers: null }] })],
    commandEvent('item.add'),
    [],
  )
  return { clients }
}

const anItem = { identifier: 'test/1', title: 'One', issued: null, readers: [{ reader: 'anonymous' }] }
