import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { assertShown, examplesIn, follow } from '../support/clients/document.ts'
import { addPuppetEntities, puppetEntities } from '../support/data/puppet.ts'
import { atEnd } from '../support/service/at-end.ts'
import { test, testOn } from '../support/service/engines.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

const commands = examplesIn('docs/how-to/puppetdb-clients.md').filter(({ language }) => language === 'sh')

const recordsOf = (entity: string): readonly object[] => puppetEntities[entity]?.[1] ?? []

const reportedNodes = () => recordsOf('nodes').map(one => ({ ...one, latest_report_corrective_change: null }))

/** An integer that a JavaScript number can't hold, but that PuppetDB sends as a number. */
const large = '9007199254740993'

/**
 * Data in PuppetDB's form: paths are arrays, an event may have no property, and some nodes are deactivated.
 */
const answers: Readonly<Record<string, (query: string | null) => readonly object[]>> = {
  'fact-contents': () =>
    recordsOf('fact-contents').map((one, n) => ({
      ...one,
      path: [(one as { name: string }).name],
      ...(n === 0 && { value: large }),
    })),
  'fact-paths': () =>
    recordsOf('fact-paths').map(one => ({ ...one, path: [(one as { path: string }).path] })),
  events: () =>
    recordsOf('events').map((one, n) => ({
      ...one,
      corrective_change: null,
      ...(n === 3 && { property: null }),
    })),
  catalogs: () => recordsOf('catalogs').map(one => ({ ...one, producer: 'puppet.example.edu' })),
  reports: () =>
    recordsOf('reports').map(one => ({ ...one, corrective_change: null, producer: 'puppet.example.edu' })),
  producers: () => [{ name: 'puppet.example.edu' }],
  nodes: query =>
    query === null
      ? reportedNodes()
      : [
          ...reportedNodes(),
          {
            ...reportedNodes()[0],
            certname: 'node-9.example.edu',
            deactivated: '2026-10-01T00:00:00.000Z',
          },
        ],
}

/** Starts a server in place of the PuppetDB from which the guide exports. */
async function startPuppetDb(t: TestContext): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost')
    const entity = pathname.replace('/pdb/query/v4/', '')
    const records = answers[entity]?.(searchParams.get('query')) ?? recordsOf(entity)
    response.statusCode = records.length === 0 ? 404 : 200
    response.end(JSON.stringify(records).replaceAll(`"${large}"`, large))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

testOn(
  'sqlite',
  'Q14 Q15 Q16 Q21 Q24 Q25 every command of docs/how-to/puppetdb-clients.md does what it says',
  async t => {
    const service = await startService(t, { env: { CARREL_QUERY_BASE: '/pdb/query/v4' } })
    await service.addEperson('reader@example.org')
    const puppetDb = await startPuppetDb(t)
    const there = commands.map(one => ({
      ...one,
      text: one.text.replaceAll('https://puppetdb.example.edu:8081', puppetDb),
    }))
    // The service is running already.
    const before = 'carrel() { test "$1" = serve || of_checkout "$@"; }\n'
    const given = await follow(service, there, { folder: temporaryFolder(t), before })
    assert.ok(commands.length > 10, `${commands.length} commands`)
    for (const [at, command] of commands.entries()) assertShown(command, given[at] ?? '')
    const base = `${service.address}/pdb/query/v4`
    assert.equal((await fetch(`${base}/nodes`)).status, 401)
    const reader = service.client()
    await reader.login('reader@example.org')
    const described = (await (await reader.get('/pdb/query/v4')).json()) as {
      name: string
      fields: { name: string; type: string }[]
    }[]
    for (const [entity, name] of [
      ['nodes', 'latest_report_corrective_change'],
      ['reports', 'corrective_change'],
      ['events', 'corrective_change'],
    ] as const) {
      const { fields = [] } = described.find(one => one.name === entity) ?? {}
      assert.equal(fields.find(one => one.name === name)?.type, 'boolean', entity)
    }
    assert.match(await (await reader.get('/pdb/query/v4/fact-contents')).text(), new RegExp(`: ?${large}\\b`))
    const gone = await reader.get('/pdb/query/v4/nodes/node-9.example.edu')
    assert.equal(gone.status, 200, 'a node that is gone has its address')
    assert.equal((await reader.get('/pdb/query/v4/nodes/node-9.example.edu/reports')).status, 200)
  },
)

/**
 * Differences in `docs/how-to/puppetdb-clients.md`: queries, each with the status of a problem or with the
 * records.
 */
const differences: readonly (readonly [query: string, given: number | readonly object[]])[] = [
  ['["from", "nodes", ["=", "certname", 5]]', 400],
  ['["from", "nodes", ["limit", 0]]', 400],
  ['nodes[nonsense()] { }', 400],
  ['nodes { certname ~ "(?=node)" }', 400],
  ['nodes { certname ~ "[[:<:]]node" }', 400],
  ['nodes { report_timestamp in ["yesterday"] }', 400],
  ['inventory { facts.match("os") = 1 }', 400],
  ['["from", "nodes", ["=", ["node", "active"], true]]', 400],
  ['facts[avg(value)] { }', [{ avg: 3 }]],
  ['nodes[count()] { ! latest_report_hash in reports[transaction_uuid] { } }', [{ count: 5 }]],
  [
    'facts[name, count_distinct(value)] { group by name having count_distinct(value) > 1 order by count_distinct(value) desc limit 1 }',
    [{ name: 'os', count_distinct: 6 }],
  ],
]

test('Q20 Q22 Q24 Q26 what docs/how-to/puppetdb-clients.md says of differences to PuppetDB holds', async t => {
  const service = await startService(t, { env: { CARREL_QUERY_BASE: '/pdb/query/v4' } })
  await addPuppetEntities(service)
  const client = service.client()
  for (const [query, given] of differences) {
    const response = await client.get(`/pdb/query/v4?${new URLSearchParams({ query })}`)
    const body: unknown = await response.json()
    if (typeof given === 'number') assert.equal(response.status, given, query)
    else assert.deepEqual(body, given, query)
  }
  assert.equal((await client.get('/pdb/query/v4/events?distinct_resources=true')).status, 400)
  for (const headers of [{}, { 'content-type': 'application/json', cookie: '' }]) {
    const refused = await fetch(`${service.address}/pdb/cmd/v1?command=replace_facts`, {
      method: 'POST',
      body: '{}',
      headers,
    })
    assert.equal(refused.status, 404)
    assert.doesNotMatch(await refused.text(), /CSRF/)
  }
  for (const path of ['/status/v1/simple', '/status/v1/simple/puppetdb-status']) {
    const simple = await client.get(path)
    assert.deepEqual([simple.status, await simple.text()], [200, 'running'])
  }
  assert.equal((await client.get('/status/v1/simple/nothing')).status, 404)
  const latest = (await (await client.get('/pdb/meta/v1/version/latest')).json()) as { newer: boolean }
  assert.equal(latest.newer, false)
})
