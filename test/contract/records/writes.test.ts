import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import type { Event } from '../../support/data/events.ts'
import { changeText } from '../../support/data/imports.ts'
import { startWithArtworks } from '../../support/data/record-writes.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, type Service } from '../../support/service/service.ts'

const path = '/api/query/v4/artworks'
const json = { 'content-type': 'application/json' }
const jsonPatch = { 'content-type': 'application/json-patch+json' }
const mergePatch = { 'content-type': 'application/merge-patch+json' }

const records = [
  { id: 'A1', title: 'Night', year: 1901, size: { height: 30, tags: ['oil'] } },
  { id: 'A2', title: 'Morning', year: 1903, size: null },
  { id: 'A3', title: 'Noon', year: null, size: null },
]

const started = (t: TestContext) => startWithArtworks(t, records)

const send = (client: Client, method: string, address: string, body: unknown, headers = {}) =>
  client.request(address, {
    method,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    headers: { ...json, ...headers },
  })
const put = (client: Client, key: string, body: unknown, headers = {}) =>
  send(client, 'PUT', `${path}/${key}`, body, headers)
const patch = (
  client: Client,
  key: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = mergePatch,
) => send(client, 'PATCH', `${path}/${key}`, body, headers)
const remove = (client: Client, key: string, headers = {}) =>
  client.request(`${path}/${key}`, { method: 'DELETE', headers })

const list = async (client: Client, query = '') =>
  (await client.get(`${path}${query}`)).json() as Promise<unknown[]>

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
  await assertProblem(await other.get(`${path}/A4`), 404, 'not-found')
  assert.deepEqual(await list(other), records)
})

test('R3 a PUT of what is there already changes nothing, and leaves no event', async t => {
  const { service, client } = await started(t)
  const before = await (await client.get(`${path}/A1`)).text()
  const same = await put(client, 'A1', before)
  assert.equal(same.status, 200)
  assert.equal(await same.text(), before)
  assert.deepEqual(await recordEvents(service), [])
})

test('R3 R5 a patch that changes nothing leaves the record, its tag and the audit trail as they are', async t => {
  const { service, client } = await started(t)
  const before = await client.get(`${path}/A1`)
  const [text, tag] = [await before.text(), before.headers.get('etag')]
  const { title } = JSON.parse(text) as { title: string }
  const same = { op: 'replace', path: '/title', value: title }
  for (const [body, type] of [
    [{}, mergePatch],
    [{ title }, mergePatch],
    [[], jsonPatch],
    [[{ op: 'test', path: '/title', value: title }], jsonPatch],
    [[same], jsonPatch],
    [
      [
        { op: 'remove', path: '/title' },
        { ...same, op: 'add' },
      ],
      jsonPatch,
    ],
  ] as const) {
    const answer = await patch(client, 'A1', body, type)
    assert.equal(answer.status, 200)
    assert.deepEqual([await answer.text(), answer.headers.get('etag')], [text, tag])
  }
  assert.deepEqual(await recordEvents(service), [])
})

test('R4 If-Match with the tag of a record fails when this record has changed, and not when another one has', async t => {
  const { client } = await started(t)
  const tag = (await client.get(`${path}/A1`)).headers.get('etag') ?? ''
  assert.equal((await put(client, 'A2', { title: 'Late morning' })).status, 200)
  const first = await patch(client, 'A1', { year: 1 }, { ...mergePatch, 'if-match': tag })
  assert.equal(first.status, 200)
  const late = await patch(client, 'A1', { year: 2 }, { ...mergePatch, 'if-match': tag })
  assert.equal(late.headers.get('etag'), first.headers.get('etag'))
  await assertProblem(late, 412, 'precondition-failed')
  await assertProblem(await remove(client, 'A1', { 'if-match': tag }), 412, 'precondition-failed')
  await assertProblem(await put(client, 'A1', {}, { 'if-match': tag }), 412, 'precondition-failed')
  await assertProblem(await put(client, 'A9', {}, { 'if-match': '*' }), 412, 'precondition-failed')
  assert.equal((await put(client, 'A9', {}, { 'if-none-match': '*' })).status, 201)
  await assertProblem(await put(client, 'A9', {}, { 'if-none-match': '*' }), 412, 'precondition-failed')
  const now = first.headers.get('etag') ?? ''
  assert.equal((await remove(client, 'A1', { 'if-match': `"other", ${now}` })).status, 204)
})

test('R4 of many who change a record with the same tag, one succeeds; without tags, every patch counts', async t => {
  const { client } = await started(t)
  const tag = (await client.get(`${path}/A1`)).headers.get('etag') ?? ''
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      patch(client, 'A1', { year: n }, { ...mergePatch, 'if-match': tag }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, ...Array(11).fill(412)])
  await put(client, 'A2', { size: { tags: [] } })
  const added = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      patch(client, 'A2', [{ op: 'add', path: '/size/tags/-', value: n }], jsonPatch),
    ),
  )
  assert.deepEqual(
    added.map(({ status }) => status),
    Array(12).fill(200),
  )
  const { size } = (await (await client.get(`${path}/A2`)).json()) as { size: { tags: number[] } }
  assert.deepEqual(
    size.tags.toSorted((one, other) => one - other),
    [...Array(12).keys()],
  )
})

test('R5 a merge patch (RFC 7396) and a JSON Patch (RFC 6902) change what they name, with all digits', async t => {
  const { service, client } = await started(t)
  await service.addRecords('digits', 'id', [{ id: 'D', n: 0, more: {} }])
  await service.storage.entities.changeWriteRule('digits', 'eperson', commandEvent('entity.writers'))
  const at = '/api/query/v4/digits/D'
  const merge = await send(
    client,
    'PATCH',
    at,
    '{"n":12345678901234567890,"more":{"a":[1.10000000000000000001,null],"b":null}}',
    mergePatch,
  )
  assert.equal(
    await merge.text(),
    '{"id":"D","n":12345678901234567890,"more":{"a":[1.10000000000000000001,null]}}',
  )
  const operations = `[{"op":"test","path":"/n","value":12345678901234567890},
    {"op":"copy","from":"/more/a","path":"/more/b"},{"op":"move","from":"/more/a/0","path":"/more/c"},
    {"op":"replace","path":"/more/b/1","value":{"__proto__":{"x":1},"~/":2}},
    {"op":"add","path":"/more/b/1/__proto__/y","value":98765432109876543210},
    {"op":"remove","path":"/more/b/1/~0~1"},{"op":"add","path":"/more/b/-","value":"end"},
    {"op":"test","path":"/more/a","value":[null]}]`
  const patched = await send(client, 'PATCH', at, operations, jsonPatch)
  assert.equal(
    await patched.text(),
    '{"id":"D","n":12345678901234567890,"more":{"a":[null],"b":[1.10000000000000000001,{"__proto__":{"x":1,"y":98765432109876543210}},"end"],"c":1.10000000000000000001}}',
  )
  assert.equal(({} as Record<string, unknown>).x, undefined)
  assert.equal(
    await (await client.get(at)).text(),
    await (await send(client, 'PATCH', at, '{}', mergePatch)).text(),
  )
  await assertProblem(await patch(client, 'none', {}), 404, 'not-found')
})

test('R5 a patch that can’t be applied is refused as a whole, and names its operation', async t => {
  const { client } = await started(t)
  const good = { op: 'replace', path: '/title', value: 'X' }
  for (const wrong of [
    5,
    { path: '/title', value: 1 },
    { op: 'add', value: 1 },
    { op: 'add', path: 'title', value: 1 },
    { op: 'add', path: '/title~2', value: 1 },
    { op: 'add', path: '/title' },
    { op: 'remove', path: '/none' },
    { op: 'replace', path: '/none', value: 1 },
    { op: 'replace', path: '/constructor/name', value: 1 },
    { op: 'add', path: '/__proto__/polluted', value: 1 },
    { op: 'test', path: '/title', value: 'Night' },
    { op: 'move', from: '/size', path: '/size/inner' },
    { op: 'copy', from: '/none', path: '/title' },
    { op: 'add', path: '/size/tags/2', value: 1 },
    { op: 'add', path: '/size/tags/01', value: 1 },
    { op: 'remove', path: '/size/tags/-' },
    { op: 'add', path: '/title/x', value: 1 },
  ]) {
    const problem = await assertProblem(
      await patch(client, 'A1', [good, wrong], jsonPatch),
      422,
      'record-refused',
    )
    assert.match(problem.detail, /^Operation 1 of the patch/, JSON.stringify(wrong))
    assert.equal((problem as unknown as { operation: number }).operation, 1)
  }
  for (const wrong of [{}, '"text"', Array(501).fill(good)])
    await assertProblem(await patch(client, 'A1', wrong, jsonPatch), 422, 'record-refused')
  for (const wrong of [[], 5, null])
    await assertProblem(await patch(client, 'A1', JSON.stringify(wrong)), 422, 'record-refused')
  // Each operation copies everything before it.
  const bomb = Array.from({ length: 40 }, (_, n) => ({ op: 'copy', from: '/size', path: `/size/c${n}` }))
  await assertProblem(await patch(client, 'A1', bomb, jsonPatch), 422, 'record-refused')
  // Each operation nests the result of the one before.
  const nest = JSON.parse(`${'['.repeat(900)}${']'.repeat(900)}`) as unknown
  const copies = Array.from({ length: 7 }, (_, n) => ({
    op: 'copy',
    from: '/size',
    path: `/size${'/0'.repeat(900 * 2 ** n - 1)}/-`,
  }))
  const deep = [{ op: 'add', path: '/size', value: nest }, ...copies]
  await assertProblem(await patch(client, 'A1', deep, jsonPatch), 422, 'record-refused')
  await assertProblem(await patch(client, 'A1', deep.slice(0, 2), jsonPatch), 422, 'record-refused')
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
  assert.deepEqual(await (await client.get(`${path}/A1`)).json(), records[0])
})

test('R6 a record keeps to the types and fields of the entity, and its key can’t change', async t => {
  const { client } = await started(t)
  const refused = async (answer: Promise<Response>, detail: RegExp) => {
    const problem = await assertProblem(await answer, 422, 'record-refused')
    assert.match(problem.detail, detail)
    return problem
  }
  await refused(
    put(client, 'A1', { year: 'old' }),
    /"year" of artworks is integer, and the value is text: "old"/,
  )
  await refused(put(client, 'A1', { year: 1.5 }), /is integer, and the value is number/)
  const unknown = await refused(
    put(client, 'A1', { titel: 'X' }),
    /artworks has no field "titel". Did you mean "title"\?/,
  )
  assert.equal((unknown as unknown as { nearest: string }).nearest, 'title')
  await refused(
    patch(client, 'A1', { id: 'A2' }),
    /The key id is not that of the address; it can’t be changed/,
  )
  await refused(patch(client, 'A1', { id: null }), /The key field "id" is missing or null/)
  await refused(put(client, 'A1', { id: 'A2' }), /not that of the address/)
  for (const wrong of ['[]', '"text"', 'null', '12345678901234567890'])
    await refused(put(client, 'A1', wrong), /A record is a JSON object/)
  await refused(
    patch(client, 'A1', [{ op: 'replace', path: '', value: 5 }], jsonPatch),
    /A record is a JSON object/,
  )
  for (const wrong of ['', '{', '{"a":1}}', '[1', `${'['.repeat(1_001)}${']'.repeat(1_001)}`])
    await assertProblem(await put(client, 'A1', wrong), 400, 'bad-request')
  await assertProblem(
    await client.request(`${path}/A1`, {
      method: 'PUT',
      headers: json,
      body: new Uint8Array([0x22, 0xff, 0x22]),
    }),
    400,
    'bad-request',
  )
  const large = (length: number) => ({ title: 'x'.repeat(length) })
  await assertProblem(await put(client, 'A1', large(1024 * 1024)), 413, 'body-too-large')
  assert.equal((await put(client, 'A2', large(600_000))).status, 200)
  await assertProblem(
    await patch(client, 'A2', { size: { more: 'y'.repeat(600_000) } }),
    413,
    'body-too-large',
  )
  const wrongType = await send(client, 'PATCH', `${path}/A1`, {}, json)
  assert.equal(
    wrongType.headers.get('accept-patch'),
    'application/json-patch+json, application/merge-patch+json',
  )
  await assertProblem(wrongType, 415, 'unsupported-media-type')
  await assertProblem(await send(client, 'PUT', `${path}/A1`, {}, mergePatch), 415, 'unsupported-media-type')
  await assertProblem(
    await send(client, 'PUT', `${path}/A1`, 'a', { 'content-type': 'text/plain' }),
    415,
    'unsupported-media-type',
  )
  await assertProblem(await put(client, 'A1?limit=1', {}), 400, 'bad-parameter')
  await assertProblem(await put(client, 'A1/more', {}), 404, 'not-found')
  assert.equal((await send(client, 'PUT', path, {})).status, 405)
  assert.deepEqual(await (await client.get(`${path}/A1`)).json(), records[0])
})

test('R6 a key of several fields, and one with any characters, are written at the addresses that read them', async t => {
  const { service, client } = await started(t)
  await service.addRecords('pairs', ['name', 'n'], [{ name: 'a', n: 1, x: 'y' }])
  await service.storage.entities.changeWriteRule('pairs', 'eperson', commandEvent('entity.writers'))
  const at = (key: string) => `/api/query/v4/pairs/${encodeURIComponent(key)}`
  for (const name of ['a/b', 'ä, c', 'x\\y', '%', 'null']) {
    const key = `${name.replaceAll(/[\\,]/g, '\\$&')},2`
    const made = await send(client, 'PUT', at(key), { x: name })
    assert.equal(made.status, 201, name)
    assert.deepEqual(await made.json(), { x: name, name, n: 2 })
    const own = made.headers.get('location')?.slice(baseUrl.length) ?? ''
    assert.deepEqual(await (await client.get(own)).json(), { x: name, name, n: 2 })
  }
  await assertProblem(await send(client, 'PUT', at('a,b'), {}), 404, 'not-found')
  await assertProblem(await send(client, 'PUT', at('a'), {}), 404, 'not-found')
})

test('R2 writers write only what they may read, what is there, and nothing built in', async t => {
  const { service, client } = await started(t)
  const admin = await service.loggedIn('admin@example.org')
  const { entities } = service.storage
  await entities.changeReadRule('artworks', 'admin', commandEvent('entity.access'))
  await assertProblem(await put(client, 'A1', { title: 'X' }), 403, 'access-denied')
  await assertUnauthorized(await put(service.client(), 'A1', { title: 'X' }))
  await assertProblem(await send(client, 'PUT', '/api/query/v4/nothing/1', {}), 404, 'unknown-entity')
  await assertProblem(await send(admin, 'PUT', '/api/query/v4/items/1', {}), 403, 'not-writable')
})

test('R2 a group that may write can’t be deleted, and an import keeps the rule', async t => {
  const { service, client } = await started(t)
  const use = await service.storage.people.deleteGroup('curators', commandEvent('group.delete'))
  assert.deepEqual(use, { entities: ['artworks'], items: 0, bitstreams: 0 })
  await service.addRecords('artworks', 'id', records.slice(0, 1))
  assert.equal((await put(client, 'A1', { title: 'Z' })).status, 200)
})

test('R7 every write is an event with what was there and what is there now', async t => {
  const { service, client } = await started(t)
  await put(client, 'A4', { title: 'x'.repeat(2_000) })
  await patch(client, 'A4', { title: 'Y', year: 3 })
  await remove(client, 'A4')
  await assertProblem(await put(client, 'A4', { year: 'x' }), 422, 'record-refused')
  assert.deepEqual(
    (await recordEvents(service)).map(({ event, object, outcome }) => [event, object, outcome]),
    ['record.delete', 'record.change', 'record.put'].map(event => [event, 'artworks/A4', 'success']),
  )
})

test('R8 an import, an update by file and a dropped entity leave no written record behind', async t => {
  const { service, client } = await started(t)
  await put(client, 'A4', { title: 'Dusk' })
  await changeText(service, '{"id":"A5","title":"Five"}\n', { entity: 'artworks', kind: 'update' })
  assert.deepEqual((await list(client)).length, 5)
  await put(client, 'A6', { title: 'Six' })
  await changeText(service, '{"id":"A4"}\n', { entity: 'artworks', kind: 'delete' })
  assert.deepEqual(await list(client, '?order_by=[{"field":"title"}]&limit=2'), [
    { id: 'A5', title: 'Five' },
    { ...records[1] },
  ])
  await service.addRecords('artworks', 'id', records)
  assert.deepEqual(await list(client), records)
  await put(client, 'A4', { title: 'Dusk' })
  await service.storage.entities.drop('artworks', commandEvent('entity.drop'))
  await service.addRecords('artworks', 'id', records.slice(1))
  assert.deepEqual(await list(client), records.slice(1))
})

/** Returns the events of records, newest first. */
async function recordEvents(service: Service): Promise<readonly Event[]> {
  const admin = await service.loggedIn('admin@example.org')
  const response = await admin.get('/api/query/v4/audit-events?order_by=[{"field":"id","order":"desc"}]')
  return ((await response.json()) as Event[]).filter(({ event }) => event.startsWith('record.'))
}
