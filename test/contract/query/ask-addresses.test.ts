import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { list, listPath, problemOf, queryPath } from '../../support/clients/listings.ts'
import { addInventory, facts, nodes, resources } from '../../support/data/inventory.ts'
import { type Engine, engines } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

async function withInventory(t: TestContext, engine: Engine) {
  const service = await startService(t, { engine })
  await addInventory(service)
  return service
}

const first = 'a.example.edu'

for (const engine of engines)
  describe(`addresses of records on ${engine}`, () => {
    test('Q16 a key is the address of its record, with an entity tag', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      const path = listPath(`nodes/${first}`)
      const response = await client.get(path)
      assert.deepEqual(await response.json(), nodes[0])
      const tag = response.headers.get('etag') ?? ''
      assert.match(tag, /^"/)
      assert.equal((await client.get(path, { 'if-none-match': tag })).status, 304)
      const head = await client.request(path, { method: 'HEAD' })
      assert.deepEqual([head.status, head.headers.get('etag')], [200, tag])
      assert.equal(
        await (await client.get(`${path}?pretty=true`)).text(),
        `${JSON.stringify(nodes[0], null, 2)}\n`,
      )
    })

    test('Q16 a key that no record has is a 404, and so is one that none could have', async t => {
      const service = await withInventory(t, engine)
      await service.addRecords('numbers', 'id', [{ id: 1 }])
      const client = service.client()
      const problem = (await problemOf(await client.get(listPath('nodes/x.example.edu')), 404)) as {
        error?: string
      }
      assert.match(problem.error ?? '', /^No information is known about nodes "x\.example\.edu"/)
      for (const key of ['2', 'one', '1.5', '01', '1e0', '9'.repeat(400)])
        await problemOf(await client.get(listPath(`numbers/${key}`)), 404)
      assert.equal((await client.get(listPath('numbers/1'))).status, 200)
      await problemOf(await client.get(listPath('numbers/1?limit=1')), 400)
      await problemOf(await client.get(listPath('nothing/1')), 404)
      await problemOf(await client.get(listPath('epersons/1')), 401)
    })

    test('Q16 a key may have any characters, and several parts', async t => {
      const service = await startService(t, { engine })
      const keys = ['a/b', 'a,b', 'ü 🎉', '%41', 'x?y#z', '"', "'; --"]
      await service.addRecords(
        'odd',
        'id',
        keys.map(id => ({ id })),
      )
      const pairs = [
        { one: 'a', two: 1, value: 'x' },
        { one: 'a,b', two: 2, value: 'y' },
        { one: 'a\\', two: 3, value: 'z' },
      ]
      await service.addRecords('pairs', ['one', 'two'], pairs)
      const client = service.client()
      for (const id of keys)
        assert.deepEqual(
          await (await client.get(listPath(`odd/${encodeURIComponent(id)}`))).json(),
          { id },
          id,
        )
      for (const pair of pairs) {
        const part = pair.one.replace(/[\\,]/g, '\\$&')
        const answer = await client.get(listPath(`pairs/${encodeURIComponent(part)},${pair.two}`))
        assert.deepEqual(await answer.json(), pair)
      }
      const problem = await problemOf(await client.get(listPath('pairs/a')), 404)
      assert.match(problem.detail, /2 parts.*one,two/)
    })

    test('Q16 Q21 what belongs to a record has an address, and can be queried there', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      assert.deepEqual(
        await list(client, `nodes/${first}/facts`),
        facts.filter(one => one.certname === first).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      )
      assert.deepEqual(await list(client, `nodes/${first}/facts`, { query: ['=', 'name', 'cores'] }), [
        facts[1],
      ])
      assert.deepEqual(
        await list(client, `nodes/${first}/facts`, { query: ['extract', ['name'], ['=', 'name', 'cores']] }),
        [{ name: 'cores' }],
      )
      // A record that doesn't exist has no related records, as in PuppetDB.
      await problemOf(await client.get(listPath('nodes/nobody/facts')), 404)
      const problem = await problemOf(await client.get(listPath(`nodes/${first}/items`)), 404)
      assert.match(problem.detail, /no relation to "items".*facts/)
    })

    test("Q24 PuppetDB's addresses narrow facts and resources", async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      const named = (name: string) => facts.filter(one => one.name === name)
      assert.deepEqual(await list(client, 'facts/kernel'), named('kernel'))
      assert.deepEqual(await list(client, 'facts/kernel/Darwin'), [facts[6]])
      // A number in an address matches the number, or its text.
      assert.deepEqual(await list(client, 'facts/cores/4'), [facts[1], facts[7]])
      assert.deepEqual(await list(client, 'facts/virtual/true'), [facts[5]])
      assert.deepEqual(await list(client, `nodes/${first}/facts/kernel`), [facts[0]])
      assert.deepEqual(await list(client, `nodes/${first}/facts/kernel/Linux`), [facts[0]])
      assert.deepEqual(await list(client, 'resources/Package'), resources.slice(1))
      for (const title of ['%2Fetc%2Fmotd', '/etc/motd'])
        assert.deepEqual(await list(client, `resources/File/${title}`), [resources[0]], title)
      assert.deepEqual(await list(client, `nodes/${first}/resources/Package/vim`), [resources[1]])
      assert.deepEqual(await list(client, `nodes/${first}/facts/a/b/c`), [])
      await problemOf(await client.get(listPath(`nodes/${first}/events/a`)), 404)
    })

    test('Q24 fact-names are texts, in order and in pages', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      const all = ['cores', 'kernel', 'os', 'virtual']
      assert.deepEqual(await list(client, 'fact-names'), all)
      const page = await client.get(listPath('fact-names', { limit: 2, offset: 1, include_total: true }))
      assert.deepEqual([await page.json(), page.headers.get('x-records')], [all.slice(1, 3), '4'])
      assert.deepEqual(
        await list(client, 'fact-names', { order_by: [{ field: 'name', order: 'desc' }] }),
        all.toReversed(),
      )
    })

    test('Q24 names may have hyphens or underscores', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('fact_paths', 'id', [{ id: 1 }])
      for (const name of ['fact_paths', 'fact-paths'])
        assert.deepEqual(await list(service.client(), name), [{ id: 1 }], name)
      await addInventory(service)
      assert.deepEqual(await list(service.client(), 'fact_names'), ['cores', 'kernel', 'os', 'virtual'])
      const counts = { summarize_by: 'certname' }
      for (const name of ['event_counts', 'aggregate_event_counts'])
        assert.deepEqual(
          await list(service.client(), name, counts),
          await list(service.client(), name.replaceAll('_', '-'), counts),
        )
    })

    test('Q24 event-counts count by class, resource and node', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      const count = (
        title: string | null,
        failures: number,
        successes: number,
        noops: number,
        skips: number,
      ) => ({
        subject_type: 'containing_class',
        subject: { title },
        failures,
        successes,
        noops,
        skips,
      })
      const counted = await list(client, 'event-counts', { summarize_by: 'containing_class' })
      assert.deepEqual(counted, [count('Editors', 1, 2, 0, 0), count(null, 0, 0, 1, 1)])
      assert.deepEqual(
        await list(client, 'event-counts', {
          summarize_by: 'containing_class',
          counts_filter: ['>', 'failures', 0],
        }),
        [count('Editors', 1, 2, 0, 0)],
      )
      const [vim] = await list(client, 'event-counts', {
        summarize_by: 'resource',
        query: ['=', 'certname', first],
        order_by: [{ field: 'failures', order: 'desc' }],
        limit: 1,
      })
      assert.deepEqual(vim, {
        subject_type: 'resource',
        subject: { type: 'Package', title: 'vim' },
        failures: 1,
        successes: 1,
        noops: 0,
        skips: 0,
      })
      assert.deepEqual(await list(client, 'aggregate-event-counts', { summarize_by: 'certname,resource' }), [
        { summarize_by: 'certname', failures: 1, successes: 2, noops: 1, skips: 1, total: 3 },
        { summarize_by: 'resource', failures: 1, successes: 1, noops: 1, skips: 1, total: 2 },
      ])
      for (const wrong of [
        {},
        { summarize_by: 'nothing' },
        { summarize_by: 'certname', counts_filter: '["=","x",1]' },
      ])
        await problemOf(await client.get(listPath('event-counts', wrong)), 400)
    })

    test("Q24 PuppetDB's clients learn version, time and state", async t => {
      const service = await withInventory(t, engine)
      const get = async (path: string) =>
        (await service.client().get(path)).json() as Promise<Record<string, unknown>>
      const prefix = queryPath.replace('/query/v4', '')
      assert.match(String((await get(`${prefix}/meta/v1/version`)).version), /^\d+\.\d+\.\d+$/)
      const { server_time } = await get(`${prefix}/meta/v1/server-time`)
      assert.ok(Math.abs(Date.parse(String(server_time)) - Date.now()) < 60_000)
      const status = (await get('/status/v1/services'))['puppetdb-status'] as { state?: string }
      assert.equal(status.state, 'running')
      const metric = await get('/metrics/v2/read/puppetlabs.puppetdb.population:name=num-nodes')
      assert.deepEqual([metric.status, metric.value], [200, { Value: 3 }])
      assert.equal((await get('/metrics/v2/read/java.lang:type=Memory')).status, 404)
    })

    test('Q11 Q16 nobody learns by an address what a list would not tell', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('secrets', 'id', [{ id: 1 }], 'admin')
      await service.addEperson('reader@example.edu')
      const client = service.client()
      for (const path of ['secrets/1', 'secrets/2', 'secrets/1/items'])
        await problemOf(await client.get(listPath(path)), 401)
      await client.login('reader@example.edu')
      for (const path of ['secrets/1', 'secrets/2', 'secrets/1/items'])
        await problemOf(await client.get(listPath(path)), 403)
      const own = await list(client, 'audit-events')
      assert.ok(own.length > 0)
      await problemOf(await client.get(listPath('audit-events/1000000')), 404)
    })
  })
