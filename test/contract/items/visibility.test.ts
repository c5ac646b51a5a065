import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Client } from '../../support/clients/client.ts'
import { change, read, statusOf } from '../../support/data/editing.ts'
import { addItem, anyEperson, everybody, putItem } from '../../support/data/repository.ts'
import { test } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

async function started(t: TestContext) {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  await service.addEperson('ed@example.org', { groups: ['Editors'] })
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  const [admin, editor, reader, nobody] = [0, 1, 2, 3].map(() => service.client()) as [
    Client,
    Client,
    Client,
    Client,
  ]
  await admin.login('root@example.org')
  await editor.login('ed@example.org')
  await reader.login('ruth@example.org')
  const item = await putItem(service, 'x/1', everybody, [
    { name: 'open.txt', content: 'rivers' },
    { name: 'closed.txt', readers: anyEperson },
  ])
  await putItem(service, 'x/2', everybody, [{ name: 'other.txt' }])
  const groups = await service.storage.people.listGroups()
  const editors = groups.find(one => one.name === 'Editors')?.uuid ?? ''
  const write = `/api/authz/resourcepolicies?resource=${item.uuid}&group=${editors}`
  const path = `/api/core/items/${item.uuid}`
  const set = async (name: 'withdrawn' | 'discoverable', value: boolean, client = admin) =>
    (await change(client, 'patch', path, [{ op: 'replace', path: `/${name}`, value }])).status
  const allow = async () =>
    assert.equal((await change(admin, 'post', write, { action: 'WRITE' })).status, 201)
  return { service, admin, editor, reader, nobody, item, path, set, allow }
}

/** Tries everything that shows an item or its files. @returns what this client sees */
async function seenBy(client: Client, item: { uuid: string; identifier: string }, files: readonly string[]) {
  const query = async (path: string, ast?: unknown) => {
    const response = await client.get(
      `/api/query/v4/${path}${ast === undefined ? '' : `?query=${encodeURIComponent(JSON.stringify(ast))}`}`,
    )
    return (await response.json()) as Record<string, unknown>[]
  }
  const lists: boolean[] = []
  const inPage = async (path: string, name: string, uuid: string) => {
    const page = await read(client, path)
    const there = (page._embedded[name] ?? []).some(one => one.uuid === uuid)
    return [there, page.page.totalElements] as const
  }
  const [inItems, items] = await inPage('/api/core/items', 'items', item.uuid)
  lists.push(inItems)
  const counted = await client.get('/api/query/v4/items?include_total=true&limit=1')
  assert.equal(Number(counted.headers.get('x-records')), items)
  await counted.arrayBuffer()
  lists.push((await query('items')).some(one => one.uuid === item.uuid))
  lists.push((await query('items', ['=', 'uuid', item.uuid])).length === 1)
  lists.push((await client.get(`/api/query/v4/items/${item.uuid}`)).status === 200)
  const [{ count } = {}] = await query('items', ['extract', [['function', 'count']]])
  assert.equal(count, items)
  lists.push(
    (
      await query('bitstreams', [
        'in',
        'item',
        ['from', 'items', ['extract', 'uuid', ['=', 'uuid', item.uuid]]],
      ])
    ).length > 0,
  )
  const fileLists: boolean[] = []
  const byAddress = [await statusOf(client, `/api/core/items/${item.uuid}`)]
  byAddress.push(await statusOf(client, `/api/core/items/${item.uuid}/bundles`))
  byAddress.push(await statusOf(client, `/api/pid/find?id=${encodeURIComponent(item.identifier)}`))
  byAddress.push(await statusOf(client, `/api/dso/find?uuid=${item.uuid}`))
  const ofFiles: number[] = []
  for (const uuid of files) {
    const [inFiles] = await inPage('/api/core/bitstreams', 'bitstreams', uuid)
    fileLists.push(inFiles, (await query('bitstreams', ['=', 'uuid', uuid])).length === 1)
    for (const below of ['', '/content', '/bundle', '/accessStatus'])
      ofFiles.push(await statusOf(client, `/api/core/bitstreams/${uuid}${below}`))
  }
  return {
    lists: [...new Set(lists)],
    fileLists: fileLists.join(),
    byAddress: [...new Set(byAddress)],
    ofFiles: ofFiles.join(),
  }
}

const filesOf = (item: { files: ReadonlyMap<string, { uuid: string }> }) =>
  ['open.txt', 'closed.txt'].map(name => item.files.get(name)?.uuid ?? '')

const both = 'true,true,true,true'
const four = (status: number) => Array.from({ length: 4 }, () => status).join()

test('I10 a withdrawn item is there for administrators and those who may change it, in no other list, query or address', async t => {
  const { admin, editor, reader, nobody, item, set, allow } = await started(t)
  await allow()
  const files = filesOf(item)
  const all = { lists: [true], fileLists: both, byAddress: [200], ofFiles: `${four(200)},${four(200)}` }
  const none = (status: number) => ({
    lists: [false],
    fileLists: 'false,false,false,false',
    byAddress: [status],
    ofFiles: `${four(status)},${four(status)}`,
  })
  const open = {
    lists: [true],
    fileLists: 'true,true,false,false',
    byAddress: [200],
    ofFiles: `${four(200)},${four(401)}`,
  }
  for (const client of [admin, editor, reader]) assert.deepEqual(await seenBy(client, item, files), all)
  assert.deepEqual(await seenBy(nobody, item, files), open)
  assert.equal(await set('withdrawn', true, editor), 200)
  for (const client of [admin, editor]) assert.deepEqual(await seenBy(client, item, files), all)
  assert.deepEqual(await seenBy(reader, item, files), none(403))
  assert.deepEqual(await seenBy(nobody, item, files), none(401))
  assert.equal(await set('withdrawn', true), 200)
  assert.equal(await set('withdrawn', false), 200)
  assert.deepEqual(await seenBy(nobody, item, files), open)
})

test('I11 an item that is not discoverable is in no list and no query, and is read by its address', async t => {
  const { admin, editor, reader, nobody, item, set, allow } = await started(t)
  await allow()
  const files = filesOf(item)
  const all = { lists: [true], fileLists: both, byAddress: [200], ofFiles: `${four(200)},${four(200)}` }
  const unlisted = { ...all, lists: [false], fileLists: 'false,false,false,false' }
  assert.equal(await set('discoverable', false), 200)
  for (const client of [admin, editor]) assert.deepEqual(await seenBy(client, item, files), all)
  assert.deepEqual(await seenBy(reader, item, files), unlisted)
  assert.deepEqual(await seenBy(nobody, item, files), { ...unlisted, ofFiles: `${four(200)},${four(401)}` })
  const [bundle] = (await read(nobody, `/api/core/items/${item.uuid}/bundles`))._embedded.bundles ?? []
  const shown = await read(nobody, `/api/core/bundles/${bundle?.uuid}/bitstreams`)
  assert.deepEqual(
    (shown._embedded.bitstreams ?? []).map(one => one.name),
    ['open.txt'],
  )
  // Both states at the same time, and back.
  assert.equal(await set('withdrawn', true), 200)
  assert.equal(await statusOf(reader, `/api/core/items/${item.uuid}`), 403)
  assert.equal(await set('withdrawn', false), 200)
  assert.deepEqual(await seenBy(reader, item, files), unlisted)
  assert.equal(await set('discoverable', true), 200)
  assert.deepEqual(await seenBy(reader, item, files), all)
})

test('I3 Q19 what someone does not see changes neither the tag nor the time that they see', async t => {
  const { service, admin, editor, reader, nobody, item, path, set, allow } = await started(t)
  await allow()
  const provenance = 'dc.description.provenance'
  const files = await service.storage.repository.bitstreamsOf(item.uuid)
  const closed = files.find(({ name }) => name === 'closed.txt')?.uuid ?? ''
  const open = files.find(({ name }) => name === 'open.txt')?.uuid ?? ''
  const seen = async (client: Client) => {
    const response = await client.get(path)
    const { lastModified } = (await response.json()) as { lastModified: string }
    const [row] = (await (await client.get('/api/query/v4/items?query=["=","identifier","x/1"]')).json()) as {
      modified: string
    }[]
    return [response.headers.get('etag') ?? '', lastModified, row?.modified]
  }
  const add = (field: string, client = admin, headers = {}) =>
    change(
      client,
      'patch',
      path,
      [{ op: 'add', path: `/metadata/${field}/-`, value: { value: 'x', language: null } }],
      headers,
    )
  const describe = (file: string) => [
    { op: 'add', path: '/metadata/dc.description', value: [{ value: `of ${file}`, language: null }] },
  ]
  const others = [editor, reader, nobody]
  const before = await Promise.all(others.map(seen))
  const ofAdmin = await seen(admin)
  assert.equal((await add(provenance)).status, 200)
  assert.equal((await change(admin, 'patch', `/api/core/bitstreams/${closed}`, describe(closed))).status, 200)
  const readers = `/api/authz/resourcepolicies?resource=${closed}&group=${await groupOf(service, 'Editors')}`
  assert.equal((await change(admin, 'post', readers, { action: 'READ' })).status, 201)
  assert.deepEqual(await Promise.all(others.map(seen)), before)
  assert.notEqual((await seen(admin))[0], ofAdmin[0])
  // The caller's tag still stands for the part that they see, and hidden changes of others are kept.
  const tag = before[0]?.[0] ?? ''
  const changed = await add('dc.subject', editor, { 'if-match': tag })
  assert.equal(changed.status, 200)
  assert.equal((await add('dc.subject', editor, { 'if-match': tag })).status, 412)
  assert.deepEqual((await seen(editor))[0], changed.headers.get('etag'))
  const metadata = (await read(admin, path)).metadata
  assert.deepEqual([metadata[provenance]?.length, metadata['dc.subject']?.length], [1, 1])
  for (const work of [
    () => change(admin, 'patch', `/api/core/bitstreams/${open}`, describe(open)).then(one => one.status),
    () => set('discoverable', false),
  ]) {
    const [, time] = await seen(nobody)
    assert.equal(await work(), 200)
    assert.notEqual((await seen(nobody))[1], time)
  }
})

test('I3 Q19 an ingest that changes only what is hidden does not change the time of an item', async t => {
  const service = await startService(t)
  const put = async (provenance: string, title: string, content: string) => {
    const metadata = {
      'dc.description.provenance': [{ value: provenance, language: null }],
      'dc.title': [{ value: title, language: null }],
    }
    const files = [
      { name: 'open.txt', content: 'rivers' },
      { name: 'closed.txt', content, readers: [] },
    ]
    const { uuid } = await addItem(service, { identifier: 'y/1', metadata, files })
    const item = await service.storage.repository.item(uuid)
    return item?.modified
  }
  const first = await put('one', 'Rivers', 'one')
  assert.equal(await put('two', 'Rivers', 'one'), first)
  assert.equal(await put('two', 'Rivers', 'two'), first)
  assert.notEqual(await put('two', 'Lakes', 'two'), first)
})

const groupOf = async ({ storage }: Service, name: string) =>
  (await storage.people.listGroups()).find(one => one.name === name)?.uuid ?? ''
