import assert from 'node:assert/strict'
import {
  type ApiDocument,
  documentFor,
  type JsonSchema,
  validatorAt,
  validatorIn,
} from '../../support/clients/api-document.ts'
import { everything } from '../../support/data/every-route.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, type Service, startService } from '../../support/service/service.ts'

const letters = [
  { id: 1, title: 'A', sent: '2026-01-02T03:04:05Z', more: { a: 1 }, open: true },
  { id: 2, title: null, sent: null, more: [1], open: false },
]

async function withLetters(service: Service): Promise<void> {
  await service.addRecords('letters', 'id', letters)
  await service.addRecords('sealed', 'id', [{ id: 1, unseen: 'x' }], 'admin')
}

test('OD1 the document has every address below the base URL, and an ETag', async t => {
  const service = await startService(t)
  const client = service.client()
  const response = await client.get('/api/openapi.json')
  const etag = response.headers.get('etag') ?? ''
  assert.match(etag, /^"[\w-]+"$/)
  const document = await documentFor(client)
  assert.equal(document.openapi, '3.1.1')
  assert.deepEqual(document.servers, [{ url: baseUrl }])
  for (const [path, method] of [
    ['/api/authn/login', 'post'],
    ['/api/core/items/{uuid}', 'get'],
    ['/api/query/v4/{entity}/{key}', 'put'],
    ['/health/live', 'get'],
  ] as const)
    assert.ok(document.paths[path]?.[method], path)
  const again = await client.get('/api/openapi.json', { 'if-none-match': etag })
  assert.equal(again.status, 304)
  await withLetters(service)
  assert.equal((await client.get('/api/openapi.json', { 'if-none-match': etag })).status, 200)
})

test('OD1 the query endpoints are where they are configured', async t => {
  const service = await startService(t, { env: { CARREL_QUERY_BASE: '/pdb/query/v4' } })
  const { paths } = await documentFor(service.client())
  assert.ok(paths['/pdb/query/v4/{entity}'])
  assert.ok(paths['/pdb/meta/v1/version'])
  assert.equal(paths['/api/query/v4/{entity}'], undefined)
})

test('OD2 everybody is shown the entities that they may read, with their fields, and no other', async t => {
  const service = await startService(t)
  await withLetters(service)
  const administrator = await service.addLoggedIn('root@example.org', { admin: true })
  const [open, all] = [await documentFor(service.client()), await documentFor(administrator)]
  assert.ok(open.paths['/api/query/v4/letters'])
  assert.equal(open.paths['/api/query/v4/sealed'], undefined)
  assert.doesNotMatch(JSON.stringify(open), /sealed|"unseen"/)
  assert.ok(all.paths['/api/query/v4/sealed/{key}'])
  assert.deepEqual(Object.keys(all.components.schemas['records.sealed']?.properties ?? {}), ['id', 'unseen'])
  const { properties = {} } = open.components.schemas['records.letters'] ?? {}
  assert.deepEqual(properties.sent, { type: ['string', 'null'], format: 'date-time' })
  assert.deepEqual(properties.id, { type: 'integer' })
})

test('OD2 records are as the schema of their entity says', async t => {
  const service = await startService(t)
  await withLetters(service)
  const client = await service.addLoggedIn('root@example.org', { admin: true })
  const faultsOf = validatorIn(await documentFor(client))
  for (const name of ['letters', 'sealed', 'epersons', 'groups', 'audit-events', 'items', 'bitstreams']) {
    const records = (await (await client.get(`/api/query/v4/${name}`)).json()) as unknown[]
    for (const record of records) assert.deepEqual(faultsOf(`records.${name}`, record), [], name)
  }
  assert.notDeepEqual(faultsOf('records.letters', { id: 'one' }), [])
  assert.notDeepEqual(faultsOf('records.letters', { id: 1, other: 1 }), [])
})

test('OD2 what a query of an entity answers is as its address says: records, rows, and explanations', async t => {
  const service = await startService(t)
  await withLetters(service)
  const client = service.client()
  const faultsAt = validatorAt(await documentFor(client))
  const address = '/api/query/v4/letters'
  const place = ['paths', address, 'get', 'responses', '200', 'content', 'application/json', 'schema']
  for (const asked of [
    {},
    { query: '["extract", ["title", ["function", "count"]], ["group_by", "title"]]' },
    { query: '["extract", ["more.a"]]' },
    { query: '["=", "id", 1]', explain: 'plan' },
  ]) {
    const response = await client.get(`${address}?${new URLSearchParams(asked)}`)
    assert.equal(response.status, 200)
    assert.deepEqual(faultsAt(place, await response.json()), [], JSON.stringify(asked))
  }
  assert.notDeepEqual(faultsAt(place, 'a text'), [])
})

test('OD1 every operation has an answer for when it is not refused, or for all, and every component is used', async t => {
  const service = await startService(t)
  const document = await documentFor(service.client())
  const lacking = Object.values(document.paths)
    .flatMap(operations => Object.values(operations))
    .filter(({ responses }) => !Object.keys(responses).some(one => one === 'default' || one.startsWith('2')))
  assert.deepEqual(
    lacking.map(({ operationId }) => operationId),
    [],
  )
  const text = JSON.stringify(document)
  const unused = (['schemas', 'responses', 'headers', 'parameters'] as const).flatMap(kind =>
    Object.keys(document.components[kind])
      .map(name => `#/components/${kind}/${name}`)
      .filter(reference => !text.includes(`"${reference}"`)),
  )
  assert.deepEqual(unused, [])
})

test('OD2 a document of very many fields ends', async t => {
  const service = await startService(t)
  const wide = Object.fromEntries(Array.from({ length: 1_800 }, (_, n) => [`field ${n}`, n]))
  for (let n = 0; n < 13; n++) await service.addRecords(`wide${n}`, 'field 0', [wide])
  const { components } = await documentFor(service.client())
  const shown = Object.keys(components.schemas).filter(name => name.startsWith('records.wide'))
  assert.ok(shown.length > 5 && shown.length < 12, `${shown.length}`)
})

test('OD2 operations and schemas of entities have names of their own, in every case that generators use', async t => {
  const service = await startService(t)
  const names = ['items-2', 'items2', 'audit-event-s', 'a', 'a-', 'a2', 'a-2', 'records']
  for (const name of names) await service.addRecords(name, 'id', [{ id: 1 }])
  const { paths, components } = await documentFor(service.client())
  const operations = Object.values(paths).flatMap(methods =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  for (const all of [operations, Object.keys(components.schemas)]) {
    const plain = all.map(name => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase())
    assert.deepEqual(
      all.filter((_, at) => plain.indexOf(plain[at] ?? '') !== at),
      [],
    )
  }
  for (const name of names) {
    const { responses } = paths[`/api/query/v4/${name}/{key}`]?.get ?? {}
    const [, component = ''] =
      /"#\/components\/schemas\/(records[^"]*)"/.exec(JSON.stringify(responses)) ?? []
    assert.deepEqual(components.schemas[component]?.required, ['id'], name)
  }
})

test('OD1 the document is packed for those who take it, is the same bytes until something changes, and is another after that', async t => {
  const service = await startService(t)
  await withLetters(service)
  const administrator = await service.addLoggedIn('root@example.org', { admin: true })
  const open = service.client()
  const ask = async (client: typeof open, encoding: string, tag?: string) => {
    const response = await client.get('/api/openapi.json', {
      'accept-encoding': encoding,
      ...(tag === undefined ? {} : { 'if-none-match': tag }),
    })
    return {
      status: response.status,
      tag: response.headers.get('etag') ?? '',
      encoding: response.headers.get('content-encoding'),
      vary: response.headers.get('vary'),
      text: await response.text(),
    }
  }
  const [plain, packed] = [await ask(open, 'identity'), await ask(open, 'gzip, br')]
  assert.deepEqual([plain.encoding, packed.encoding], [null, 'gzip'])
  assert.match(packed.vary ?? '', /Origin.*Accept-Encoding/)
  assert.equal(packed.text, plain.text)
  assert.notEqual(packed.tag, plain.tag, 'each encoding has a tag of its own')
  for (const [encoding, one] of [
    ['identity', plain],
    ['gzip', packed],
  ] as const) {
    assert.deepEqual(await ask(open, encoding), one)
    assert.equal((await ask(open, encoding, one.tag)).status, 304)
    assert.equal((await ask(administrator, encoding, one.tag)).status, 200, 'who may read more')
  }
  await service.addRecords('letters', 'id', [{ id: 1, other: true }])
  const after = await ask(open, 'gzip', packed.tag)
  assert.equal(after.status, 200)
  assert.match(after.text, /"other"/)
  // There are more sets of rights than documents in the cache, and each caller still gets the right one.
  for (let n = 0; n < 12; n++) {
    await service.addRecords(`more${n}`, 'id', [{ id: n }])
    assert.match((await ask(open, 'gzip')).text, new RegExp(`/more${n}/`))
  }
  assert.equal((await ask(administrator, 'gzip')).text.includes('sealed'), true)
  assert.equal((await ask(open, 'gzip')).text.includes('sealed'), false)
})

test('OD4 the reference page and its files come from the service alone', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const prefix of ['/api', '/server/api']) {
    const response = await client.get(`${prefix}/docs`)
    assert.equal(response.status, 200)
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.doesNotMatch(policy, /unsafe|http|\*/)
    const addresses = [...(await response.text()).matchAll(/(?:href|src)="([^"]*)"/g)].map(
      ([, one = '']) => one,
    )
    assert.deepEqual(
      addresses.filter(one => !one.startsWith(`${prefix}/`)),
      ['data:,'],
    )
    for (const address of addresses.filter(one => one.startsWith('/'))) {
      const file = await client.get(address)
      assert.equal(file.status, 200, address)
      await file.arrayBuffer()
    }
  }
  const first = await client.get('/api/docs/swagger-ui.css')
  const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
  await first.arrayBuffer()
  assert.equal((await client.get('/api/docs/swagger-ui.css', headers)).status, 304)
  assert.equal((await client.get('/api/docs/package.json')).status, 404)
})

/** Makes a value that a schema of the document allows, with its required members. */
function exampleOf(schema: JsonSchema, { components }: ApiDocument): unknown {
  const of = (one: JsonSchema | undefined) => (one ? exampleOf(one, { components } as ApiDocument) : 'x')
  if (schema.$ref !== undefined) return of(components.schemas[schema.$ref.split('/').at(-1) ?? ''])
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return of(schema.anyOf[0])
  const [type] = [schema.type ?? 'object'].flat()
  if (type === 'array') return [of(schema.items)]
  if (type === 'integer' || type === 'number') return 1
  if (type === 'boolean') return true
  if (type === 'null') return null
  if (type !== 'object') return examples[schema.format ?? ''] ?? 'x'
  return Object.fromEntries((schema.required ?? []).map(name => [name, of(schema.properties?.[name])]))
}

const examples: Readonly<Record<string, string>> = {
  uuid: '8d2c6c34-9d6e-4f0b-8f3e-1f2f8e6f1a01',
  email: 'someone@example.org',
  uri: 'https://example.org/',
  'date-time': '2026-01-02T03:04:05Z',
}

/** Bodies that a schema allows: with the required members only, and with each of the others beside them. */
function bodiesOf(schema: JsonSchema, document: ApiDocument): readonly unknown[] {
  const whole =
    schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1) ?? '']
  const least = exampleOf(schema, document)
  if (!whole?.properties) return [least]
  const others = Object.entries(whole.properties).filter(([name]) => !whole.required?.includes(name))
  return [least, ...others.map(([name, one]) => ({ ...(least as object), [name]: exampleOf(one, document) }))]
}

test('OD1 what a route answers to bodies that the document allows is in the document', async t => {
  const world = await everything(t)
  const document = await documentFor(world.admin)
  let sent = 0
  for (const { method, url } of world.routes) {
    const operation = document.paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
    const schema = operation?.requestBody?.content['application/json']?.schema
    // A login ends the clients' own sessions; deleting needs no body.
    if (!schema || url.endsWith('/login') || !['POST', 'PUT', 'PATCH'].includes(method)) continue
    for (const body of bodiesOf(schema, document))
      for (const client of [world.service.client(), world.reader]) {
        const { value } = await client.csrfPair()
        const headers = { 'content-type': 'application/json', 'x-xsrf-token': value }
        // The answer is compared with the document when the test ends.
        await (await client.request(world.at(url), { method, headers, body: JSON.stringify(body) })).text()
        sent++
      }
  }
  assert.ok(sent > 150, `${sent} requests`)
})

test('OD1 an operation takes each token by one way, and its answer has one type, so that generated clients work', async t => {
  const service = await startService(t)
  await withLetters(service)
  const document = await documentFor(service.client())
  const opened: string[] = []
  for (const [path, methods] of Object.entries(document.paths))
    for (const { operationId, security, responses, description } of Object.values(methods)) {
      const schemes = security.flatMap(one => Object.keys(one))
      assert.deepEqual(
        schemes.filter(one => one !== 'shortLivedToken'),
        schemes.includes('bearer') ? ['bearer'] : [],
        operationId,
      )
      if (schemes.includes('shortLivedToken')) opened.push(path)
      for (const answer of Object.values(responses) as Answered[]) {
        const types = Object.keys(answer.content ?? {})
        // The others are in words, and where the tests read them.
        assert.ok(types.length <= 1, `${operationId} answers with ${types}`)
        for (const type of Object.keys(answer['x-other-content'] ?? {}))
          assert.ok(answer.description?.includes(type), `${operationId} does not say ${type}`)
      }
      if (operationId === 'addItem') assert.match(description, /Needs a CSRF pair/)
    }
  assert.deepEqual(opened, ['/api/core/bitstreams/{uuid}/content'])
  assert.match(
    document.info.description,
    /as the cookie `DSPACE-XSRF-COOKIE` and in the header `X-XSRF-TOKEN`/,
  )
  for (const path of ['/api/query/v4/{entity}', '/api/query/v4/letters']) {
    const { content = {} } = (document.paths[path]?.get?.responses['200'] ?? {}) as Answered
    assert.deepEqual(Object.keys(content), ['application/json'])
  }
})

test('OD1 whatever needs a UUID in its address is 404 without one', async t => {
  const world = await everything(t)
  let asked = 0
  for (const { method, url } of world.routes) {
    if (method !== 'GET' || !url.includes('/:uuid')) continue
    for (const text of ['x', '0', `${world.ids.item}0`, 'null']) {
      const response = await world.admin.get(world.at(url.replace('/:uuid', `/${text}`)))
      assert.equal(response.status, 404, `${url} with ${text}: ${await response.text()}`)
      asked++
    }
  }
  assert.ok(asked > 60, `${asked} requests`)
})

interface Answered {
  readonly description?: string
  readonly content?: object
  readonly 'x-other-content'?: object
}
