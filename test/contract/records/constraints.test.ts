import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Administrator, administrator } from '../../support/clients/administrator.ts'
import type { Client } from '../../support/clients/client.ts'
import { list } from '../../support/clients/listings.ts'
import { changeText, importText } from '../../support/data/imports.ts'
import { test } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

const constraints = {
  state: { required: true, default: 'kept', oneOf: ['kept', 'shown'] },
  code: { unique: true },
  artist_id: { references: 'artists' },
  title: { required: true },
}

interface Started {
  readonly service: Service
  readonly root: Administrator
  readonly client: Client
}

async function started(t: TestContext): Promise<Started> {
  const service = await startService(t)
  await service.addRecords('artists', 'id', [
    { id: 1, name: 'Ruth' },
    { id: 2, name: 'Zoë' },
  ])
  await service.addRecords('artworks', 'id', [
    { id: 7, title: 'Ribbon', artist_id: 1, state: 'shown', code: 'a', part_of: null },
    { id: 8, title: 'Sea', artist_id: null, state: 'kept', code: null, part_of: 7 },
  ])
  const root = await administrator(service)
  for (const [name, change] of [
    ['artworks', { fields: constraints, write: 'admin' }],
    ['artists', { write: 'admin' }],
  ] as const) {
    const answer = await root.send('PATCH', `/${name}`, change)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  return { service, root, client: root.client }
}

// biome-ignore lint/suspicious/noExplicitAny: what a test expects, it asserts.
type Body = any

async function write(client: Client, method: string, path: string, body?: unknown): Promise<[number, Body]> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const response = await client.request(`/api/query/v4/${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': type } }),
  })
  const text = await response.text()
  return [response.status, text === '' ? null : JSON.parse(text)]
}

test('R14 a record that lacks a value gets the default, or is refused at its field', async t => {
  const { client } = await started(t)
  const [status, made] = await write(client, 'PUT', 'artworks/9', { title: 'Hat' })
  assert.equal(status, 201, JSON.stringify(made))
  assert.deepEqual(made, { id: 9, title: 'Hat', state: 'kept' })
  for (const [body, pointer] of [
    [{ state: 'kept' }, '/title'],
    [{ title: null }, '/title'],
    [{ title: 'Hat', state: 'lost' }, '/state'],
    [{ title: 'Hat', code: 'a' }, '/code'],
    [{ title: 'Hat', artist_id: 99 }, '/artist_id'],
  ] as const) {
    const [refused, problem] = await write(client, 'PUT', 'artworks/10', body)
    assert.equal(refused, 422, JSON.stringify(problem))
    assert.equal(problem.code, 'record-refused')
    assert.equal(problem.pointer, pointer)
  }
  const [, lost] = await write(client, 'PUT', 'artworks/10', { title: 'Hat', state: 'lost' })
  assert.deepEqual(lost.legal, ['kept', 'shown'])
  // The default is for new records only.
  assert.equal((await write(client, 'PATCH', 'artworks/9', { state: 'shown' }))[1].state, 'shown')
  assert.equal((await write(client, 'PATCH', 'artworks/9', { state: null }))[1].pointer, '/state')
  assert.equal((await write(client, 'PATCH', 'artworks/9', { title: null }))[0], 422)
  // A record may be written again with the value that it has.
  assert.equal((await write(client, 'PATCH', 'artworks/7', { title: 'Ribbons', code: 'a' }))[0], 200)
})

test('R14 a record that others reference is not deleted, and the answer names them to those who may know', async t => {
  const { client, root } = await started(t)
  const [status, problem] = await write(client, 'DELETE', 'artists/1')
  assert.equal(status, 409)
  assert.equal(problem.code, 'record-referenced')
  assert.deepEqual(problem.referenced, { entity: 'artworks', field: 'artist_id', keys: ['7'] })
  assert.equal((await write(client, 'DELETE', 'artists/2'))[0], 204)
  assert.equal((await write(client, 'PATCH', 'artworks/7', { artist_id: null }))[0], 200)
  assert.equal((await write(client, 'DELETE', 'artists/1'))[0], 204)
  // A record may reference itself, and go with that.
  const own = await root.send('PATCH', '/artworks', { fields: { part_of: { references: 'artworks' } } })
  assert.equal(own.status, 200, JSON.stringify(own.body))
  assert.equal((await write(client, 'DELETE', 'artworks/7'))[0], 409)
  assert.equal((await write(client, 'PUT', 'artworks/11', { title: 'Self', part_of: 11 }))[0], 201)
  assert.equal((await write(client, 'DELETE', 'artworks/11'))[0], 204)
})

test('R14 of many writers at once, one gets a unique value', async t => {
  const { client, service } = await started(t)
  const writes = Array.from({ length: 24 }, (_, n) =>
    write(client, 'PUT', `artworks/${100 + n}`, { title: `${n}`, code: `c${n % 3}` }),
  )
  const statuses = (await Promise.all(writes)).map(([status]) => status)
  assert.equal(statuses.filter(status => status === 201).length, 3, statuses.join())
  assert.equal(statuses.filter(status => status === 422).length, 21, statuses.join())
  const codes = (await list<{ code?: string }>(service.client(), 'artworks')).flatMap(
    ({ code }) => code ?? [],
  )
  assert.deepEqual(codes.toSorted(), ['a', 'c0', 'c1', 'c2'])
})

test('R14 a record that is referenced and deleted at once stays, or was never referenced', async t => {
  const { client, service } = await started(t)
  for (let n = 0; n < 12; n++) {
    const id = 1_000 + n
    assert.equal((await write(client, 'PUT', `artists/${id}`, { name: 'New' }))[0], 201)
    const [[referenced], [deleted]] = await Promise.all([
      write(client, 'PUT', `artworks/${id}`, { title: 'x', artist_id: id }),
      write(client, 'DELETE', `artists/${id}`),
    ])
    assert.ok(
      (referenced === 201 && deleted === 409) || (referenced === 422 && deleted === 204),
      `${referenced} and ${deleted}`,
    )
  }
  const artists = new Set((await list<{ id: number }>(service.client(), 'artists')).map(({ id }) => id))
  for (const { artist_id: id } of await list<{ artist_id?: number | null }>(service.client(), 'artworks'))
    assert.ok(id === undefined || id === null || artists.has(id))
})

test('R14 R10 several records that are changed in one step are held to what is declared, too', async t => {
  const { client } = await started(t)
  const change = (query: string, body: unknown) =>
    write(client, 'PATCH', `artworks?${new URLSearchParams({ query })}`, body)
  for (const [body, pointer] of [
    [{ code: 'b' }, '/code'],
    [{ artist_id: 99 }, '/artist_id'],
    [{ state: 'lost' }, '/state'],
  ] as const) {
    const [status, problem] = await change('["null?", "id", false]', body)
    assert.equal(status, 422, JSON.stringify(problem))
    assert.equal(problem.pointer, pointer)
    assert.match(problem.detail, /^The record "[78]": .*Nothing was changed\.$/)
  }
  assert.deepEqual(
    (await list(client, 'artworks')).map(({ code, artist_id }) => [code, artist_id]),
    [
      ['a', 1],
      [null, null],
    ],
  )
  const [status, answer] = await change('["=", "id", 8]', { code: 'b', artist_id: 2 })
  assert.deepEqual([status, answer.changed], [200, 1])
  const [referenced] = await write(
    client,
    'DELETE',
    `artists?${new URLSearchParams({ query: '["=", "id", 2]' })}`,
  )
  assert.equal(referenced, 409)
})

const rules = { entity: 'artworks', key: 'id' } as const

/** Asserts that an import is refused with these words, and changes nothing. */
async function refused(service: Service, work: () => Promise<unknown>, ...words: readonly RegExp[]) {
  const before = await list(service.client(), 'artworks')
  const error = await work().then(
    () => assert.fail('it was imported'),
    (thrown: Error & { readonly details?: readonly string[] }) => thrown,
  )
  const told = [error.message, ...(error.details ?? [])].join('\n')
  for (const word of words) assert.match(told, word)
  assert.deepEqual(await list(service.client(), 'artworks'), before)
}

const lines = (...records: readonly object[]) => records.map(record => JSON.stringify(record)).join('\n')

test('D17 an import fills in defaults, and names the lines of what its entity does not allow', async t => {
  const { service } = await started(t)
  const faulty = lines(
    { id: 1, title: 'a', code: 'x' },
    { id: 2, title: 'b', code: 'y', state: 'lost' },
    { id: 3, code: 'z' },
  )
  await refused(
    service,
    () => importText(service, faulty, rules),
    /line 2: the field "state" has the value "lost", which is none of those that it may have: "kept", "shown"/,
    /line 3: the field "title" needs a value/,
  )
  await refused(
    service,
    () =>
      importText(service, lines({ id: 1, title: 'a', code: 'x' }, { id: 2, title: 'b', code: 'x' }), rules),
    /line 2: the field "code" is unique, and has the value "x" again, as on line 1/,
  )
  await refused(
    service,
    () => importText(service, lines({ id: 1, title: 'a' }, { id: 2, title: 'b', artist_id: 99 }), rules),
    /line 2: the field "artist_id" references artists, which has no record 99/,
  )
  // Fields with constraints keep their types.
  await refused(
    service,
    () => importText(service, lines({ id: 1, title: 'a', artist_id: 'one' }), rules),
    /line 1: .*artist_id/,
  )
  await importText(
    service,
    lines({ id: 1, title: 'a', artist_id: 2, code: 'x' }, { id: 2, title: 'b' }),
    rules,
  )
  const states = (await list<{ state: string }>(service.client(), 'artworks')).map(({ state }) => state)
  assert.deepEqual(states, ['kept', 'kept'])
})

test('D17 an update and a deletion by file hold to the same', async t => {
  const { service } = await started(t)
  const change = (content: string, kind: 'update' | 'delete', entity = 'artworks') =>
    changeText(service, content, { entity, kind })
  await refused(
    service,
    () => change(lines({ id: 8, title: 'Sea', code: 'a' }, { id: 9, state: 'lost', title: 'c' }), 'update'),
    /line 1: the field "state" needs a value/,
    /line 2: the field "state"/,
  )
  await refused(
    service,
    () =>
      change(
        lines({ id: 8, title: 'Sea', state: 'kept', code: 'a' }, { id: 9, title: 'c', artist_id: 77 }),
        'update',
      ),
    /line 1: the field "code" is unique, and has the value "a" again, as the record 7/,
    /line 2: the field "artist_id" references artists/,
  )
  await refused(
    service,
    () =>
      change(
        lines({ id: 8, title: 'x', state: 'kept', code: 'b' }, { id: 9, title: 'c', code: 'b' }),
        'update',
      ),
    /line 2: the field "code" is unique, and has the value "b" again, as line 1/,
  )
  // Two records of the file exchange a value.
  await change(
    lines(
      { id: 7, title: 'Ribbon', state: 'shown', code: 'b' },
      { id: 8, title: 'Sea', state: 'kept', code: 'a', artist_id: 1 },
    ),
    'update',
  )
  await refused(
    service,
    () => change('{"id":1}', 'delete', 'artists'),
    /artworks references records of artists/,
  )
  await change('{"id":2}', 'delete', 'artists')
  await refused(
    service,
    () => importText(service, lines({ id: 2, name: 'Zoë' }), { entity: 'artists', key: 'id' }),
    /artworks references records of artists that would go, in its field "artist_id": 1/,
  )
})

test('EA12 a constraint that records don’t fit is refused with their number and the first of them', async t => {
  const { service, root } = await started(t)
  await importText(
    service,
    lines(
      { id: 1, part: 'a', of: 1, set: null },
      { id: 2, part: 'a', of: 9, set: 'x' },
      { id: 3, part: 'b', of: 1 },
    ),
    { entity: 'parts', key: 'id' },
  )
  const fields = {
    set: { required: true },
    part: { unique: true, oneOf: ['a'] },
    of: { references: 'artists' },
  }
  const misfits = [
    { field: 'of', constraint: 'references', count: 1, examples: ['2'] },
    { field: 'part', constraint: 'oneOf', count: 1, examples: ['b'] },
    { field: 'part', constraint: 'unique', count: 1, examples: ['a'] },
    { field: 'set', constraint: 'required', count: 2, examples: ['1', '3'] },
  ]
  const byField = (found: readonly { field: string; constraint: string }[]) =>
    found.toSorted((one, other) =>
      `${one.field} ${one.constraint}`.localeCompare(`${other.field} ${other.constraint}`),
    )
  const preview = await root.send('PATCH', '/parts?preview=true', { fields })
  assert.equal(preview.status, 200, JSON.stringify(preview.body))
  assert.deepEqual(byField(preview.body.misfits), misfits)
  const refusal = await root.send('PATCH', '/parts', { fields })
  assert.equal(refusal.status, 422)
  assert.deepEqual(byField(refusal.body.misfits), misfits)
  const good = { set: { default: 'y' }, part: { oneOf: ['a', 'b'] } }
  assert.deepEqual((await root.send('PATCH', '/parts?preview=true', { fields: good })).body, { misfits: [] })
  assert.equal((await root.send('PATCH', '/parts', { fields: good })).status, 200)
})
