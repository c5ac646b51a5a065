import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { linksOf, list, listPath, problemOf, queryPath } from '../../support/clients/listings.ts'
import { addInventory, facts, nodes } from '../../support/data/inventory.ts'
import { type Engine, engines } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

async function withInventory(t: TestContext, engine: Engine) {
  const service = await startService(t, { engine })
  await addInventory(service)
  return service
}

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

for (const engine of engines)
  describe(`questions on ${engine}`, () => {
    test('Q14 a query at an entity lists the records that match, in pages with totals and links', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      const query = ['=', 'environment', 'production']
      assert.deepEqual(await list(client, 'nodes', { query }), [nodes[0], nodes[2]])
      const response = await client.get(
        listPath('nodes', {
          query,
          limit: 1,
          include_total: true,
          order_by: [{ field: 'certname', order: 'desc' }],
        }),
      )
      assert.deepEqual(await response.json(), [nodes[2]])
      assert.equal(response.headers.get('x-records'), '2')
      const { next = '', last } = linksOf(response)
      assert.deepEqual(await (await client.get(next)).json(), [nodes[0]])
      assert.equal(next, last)
    })

    test('Q14 at the base, an AST and PQL name the entity', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      for (const query of [
        '["from", "nodes", ["=", "environment", "testing"]]',
        ' ["from","nodes",["extract",["certname","environment","report_timestamp"],["=","environment","testing"]]]',
        'nodes { environment = "testing" }',
        "nodes[] { environment ~ '^test' }",
      ])
        assert.deepEqual(await list(client, '', { query }), [nodes[1]], query)
    })

    test('Q14 a query in a wrong place says where it belongs', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      const pql = await problemOf(await client.get(listPath('nodes', { query: 'nodes {}' })), 400)
      assert.match(pql.detail, /JSON array.*query base/)
      assert.equal(pql.parameter, 'query')
      await problemOf(await client.get(listPath('', { query: '["=","certname","a"]' })), 400)
      await problemOf(await client.get(listPath('nodes', { query: '["from","facts"]' })), 400)
      for (const query of ['{}', '5', '"x"', '[]', '["="]', '["=","certname","a"] []', '["=",'])
        await problemOf(await client.get(listPath('nodes', { query })), 400)
    })

    test('Q14 an empty query, and null, are no query', async t => {
      const service = await withInventory(t, engine)
      for (const query of ['', 'null', ' '])
        assert.deepEqual(await list(service.client(), 'nodes', { query }), nodes)
      assert.equal((await service.client().get(`${queryPath}/nodes?query`)).status, 200)
    })

    test('Q7 Q14 a mistake in a query is told by its place, in both languages', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      type Told = { pointer?: string; line?: number; column?: number; nearest?: string; legal?: unknown }
      const ast = (await problemOf(
        await client.get(
          listPath('nodes', { query: ['and', ['=', 'certname', 'a'], ['=', 'certnam', 'b']] }),
        ),
        400,
      )) as Told
      assert.deepEqual([ast.pointer, ast.nearest], ['/2/1', 'certname'])
      const pql = (await problemOf(
        await client.get(listPath('', { query: 'nodes {\n  certname =~ "a" }' })),
        400,
      )) as Told
      assert.deepEqual([pql.line, pql.column], [2, 12])
      const inCheck = (await problemOf(
        await client.get(listPath('', { query: 'nodes { certnam = "a" }' })),
        400,
      )) as Told & { marker?: string }
      assert.equal(inCheck.marker, 'nodes { certnam = "a" }\n        ^')
    })

    test('Q15 the form of a GET counts like its address, as curl sends it', async t => {
      const service = await withInventory(t, engine)
      const { hostname, port } = new URL(service.address)
      const { request } = await import('node:http')
      const ask = (path: string, body: string, headers: Record<string, string> = form) =>
        new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
          const sent = request({
            hostname,
            port,
            path,
            method: 'GET',
            headers: { ...headers, 'content-length': Buffer.byteLength(body) },
          })
          sent.on('response', async response => {
            let text = ''
            for await (const piece of response) text += piece
            resolve({ status: response.statusCode, body: text })
          })
          sent.on('error', reject)
          sent.end(body)
        })
      const body = `query=${encodeURIComponent('["=","environment","testing"]')}&limit=5`
      assert.deepEqual(JSON.parse((await ask(`${queryPath}/nodes`, body)).body), [nodes[1]])
      assert.deepEqual(JSON.parse((await ask(`${queryPath}/nodes?offset=1`, 'limit=1')).body), [nodes[1]])
      const twice = await ask(`${queryPath}/nodes?limit=2`, 'limit=1')
      assert.equal(twice.status, 400)
      assert.match(JSON.parse(twice.body).detail, /limit is given 2 times/)
      assert.equal((await ask(`${queryPath}/nodes`, 'nonsense=1')).status, 400)
      assert.equal((await ask(`${queryPath}/nodes`, 'query=%ff')).status, 400)
      assert.equal((await ask(`${queryPath}/nodes`, 'query=%zz')).status, 400)
      // A body of any other type in a GET is ignored.
      assert.deepEqual(JSON.parse((await ask(`${queryPath}/nodes`, '{"limit":1}', json)).body), nodes)
      assert.equal((await ask(`${queryPath}/nodes`, `query=${'x'.repeat(1_100_000)}`)).status, 413)
    })

    test('Q15 a POST takes the same as JSON or as a form: queries as JSON or text, numbers as numbers or text', async t => {
      const service = await withInventory(t, engine)
      const ask = async (path: string, body: unknown) => {
        const text = typeof body === 'string' ? body : JSON.stringify(body)
        const response = await fetch(service.address + path, { method: 'POST', body: text, headers: json })
        const answer = await response.text()
        assert.equal(response.status, 200, answer)
        return JSON.parse(answer)
      }
      const query = ['=', 'environment', 'production']
      assert.deepEqual(await ask(`${queryPath}/nodes`, { query }), [nodes[0], nodes[2]])
      assert.deepEqual(
        await ask(`${queryPath}/nodes`, { query: JSON.stringify(query), limit: '1', offset: 1 }),
        [nodes[2]],
      )
      assert.deepEqual(
        await ask(`${queryPath}/nodes`, {
          order_by: [{ field: 'certname', order: 'desc' }],
          limit: 1,
          include_total: 'true',
        }),
        [nodes[2]],
      )
      const byForm = await fetch(`${service.address}${queryPath}`, {
        method: 'POST',
        body: new URLSearchParams({ query: 'nodes { limit 1 }' }),
      })
      assert.deepEqual(await byForm.json(), [nodes[0]])
      assert.deepEqual(await ask(queryPath, { query: 'nodes { certname = "a.example.edu" }' }), [nodes[0]])
      assert.deepEqual(await ask(queryPath, { query: ['from', 'nodes', query], origin: 'puppet' }), [
        nodes[0],
        nodes[2],
      ])
      for (const nothing of ['', 'null', '{}', '{"query":null,"limit":null,"order_by":null}'])
        assert.deepEqual(await ask(`${queryPath}/nodes`, nothing), nodes, nothing)
    })

    test('Q15 a wrong body of a POST is a problem', async t => {
      const service = await withInventory(t, engine)
      const ask = (body: string, headers: Record<string, string> = json) =>
        fetch(`${service.address}${queryPath}/nodes`, { method: 'POST', body, headers })
      for (const body of ['[]', '5', '{', '{"query":["=","certname","a"]} 1', `${'['.repeat(60_000)}`])
        await problemOf(await ask(body), 400)
      await problemOf(await ask('{"limit":1,"nonsense":2}'), 400)
      await problemOf(await ask('{"query":["=","nothing",1]}'), 400)
      await problemOf(await ask('query=1', form), 400)
      assert.match((await problemOf(await ask('{"limit":1}', form), 415)).detail, /curl does with --json/)
      await problemOf(await ask('query=1', { 'content-type': 'text/plain' }), 415)
      await problemOf(await ask(`{"query":"${'x'.repeat(1_100_000)}"}`), 413)
    })

    test('Q15 C8 a POST needs no CSRF pair, and no cookie says who asks', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('secrets', 'id', [{ id: 1 }], 'eperson')
      await service.addEperson('reader@example.edu')
      const client = service.client()
      const token = await client.login('reader@example.edu')
      const ask = (headers: Record<string, string>) =>
        fetch(`${service.address}${queryPath}/secrets`, {
          method: 'POST',
          body: '{}',
          headers: { ...json, ...headers },
        })
      const answer = await ask({ authorization: `Bearer ${token}` })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('dspace-xsrf-token'), null)
      const { cookie, value } = await client.csrfPair()
      for (const cookies of [
        cookie,
        `${cookie}; Authorization=${token}; Authorization-cookie=${token}; authentication-token=${token}`,
      ])
        await problemOf(await ask({ cookie: cookies, 'x-xsrf-token': value }), 401)
    })

    test('Q22 rows have the members that were asked for, in every format', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      const query = ['extract', ['environment', ['function', 'count']], ['group_by', 'environment']]
      assert.deepEqual(await list(client, 'nodes', { query }), [
        { environment: 'production', count: 2 },
        { environment: 'testing', count: 1 },
      ])
      const path = listPath('nodes', { query, order_by: [{ field: 'count' }] })
      assert.equal(
        await (await client.get(path, { accept: 'text/csv' })).text(),
        'environment,count\r\ntesting,1\r\nproduction,2\r\n',
      )
      assert.equal(
        await (await client.get(path, { accept: 'application/x-ndjson' })).text(),
        '{"environment":"testing","count":1}\n{"environment":"production","count":2}\n',
      )
    })

    test('Q14 pretty indents what people read', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      const text = async (path: string) => (await client.get(path)).text()
      assert.equal(await text(listPath('nodes', { pretty: true })), `${JSON.stringify(nodes, null, 2)}\n`)
      assert.equal(await text(listPath('nodes', { pretty: true, query: ['=', 'certname', 'x'] })), '[]\n')
      assert.equal(await text(listPath('nodes', { pretty: false })), JSON.stringify(nodes))
      await problemOf(await client.get(listPath('nodes', { pretty: 'yes' })), 400)
    })

    test('Q23 ast_only translates, and runs nothing', async t => {
      const service = await withInventory(t, engine)
      const answer = await service.client().get(
        listPath('', {
          query: 'facts[value] { name = "kernel" and value != "x" limit 2 }',
          ast_only: true,
        }),
      )
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.deepEqual(await answer.json(), [
        'from',
        'facts',
        ['extract', ['value'], ['and', ['=', 'name', 'kernel'], ['not', ['=', 'value', 'x']]]],
        ['limit', 2],
      ])
    })

    test('Q8 Q10 a HEAD of a query has the headers of its GET, and an unchanged entity is a 304', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      const path = listPath('facts', { query: ['=', 'name', 'kernel'], include_total: true })
      const head = await client.request(path, { method: 'HEAD' })
      assert.deepEqual([head.status, head.headers.get('x-records'), await head.text()], [200, '3', ''])
      const tag = (await client.get(path)).headers.get('etag') ?? ''
      assert.match(tag, /^W\/"/)
      const again = await client.get(path, { 'if-none-match': tag })
      assert.deepEqual([again.status, await again.text()], [304, ''])
      assert.equal((await client.get(listPath('facts'), { 'if-none-match': tag })).status, 200)
      assert.equal((await client.get(path, { 'if-none-match': tag, accept: 'text/csv' })).status, 200)
      await service.addRecords('facts', ['certname', 'name'], facts.slice(1))
      assert.equal((await client.get(path, { 'if-none-match': tag })).status, 200)
      // Rows of a table can change at any time, so there is no entity tag.
      assert.equal((await client.get(listPath('items'))).headers.get('etag'), null)
    })

    test('Q26 explain tells the plan without running it; only administrators may run it', async t => {
      const service = await withInventory(t, engine)
      await service.addEperson('admin@example.edu', { admin: true })
      const client = service.client()
      const path = (explain: string) => listPath('nodes', { query: ['=', 'environment', 'x'], explain })
      for (const how of ['', 'true', 'plan']) {
        const answer = await client.get(path(how))
        assert.equal(answer.status, 200, await answer.clone().text())
        assert.equal(typeof (await answer.json()), 'object')
      }
      await problemOf(await client.get(path('everything')), 400)
      await problemOf(await client.get(path('analyze')), 403)
      await client.login('admin@example.edu')
      assert.equal((await client.get(path('analyze'))).status, 200)
    })

    test('Q26 timeout is a number of seconds', async t => {
      const service = await withInventory(t, engine)
      const client = service.client()
      for (const timeout of ['0', '5', '0.5', '100000'])
        assert.deepEqual(await list(client, 'nodes', { timeout }), nodes)
      for (const timeout of ['', '-1', 'soon', '1e3', '99999999'])
        await problemOf(await client.get(listPath('nodes', { timeout })), 400)
    })

    test('Q7 Q14 a parameter that no query has is a 400', async t => {
      const service = await withInventory(t, engine)
      const problem = await problemOf(await service.client().get(listPath('nodes', { qeury: '[]' })), 400)
      assert.equal(problem.nearest, 'query')
      await problemOf(await service.client().get(listPath('nodes', { ast_only: true })), 400)
      await problemOf(await service.client().get(`${queryPath}?limit=1`), 400)
    })
  })
