import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Metadata } from '../../../src/model/items.ts'

import { addItem, anyEperson } from '../../support/data/repository.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const provenance = 'dc.description.provenance'

/** Metadata whose hidden email addresses sort in reverse to everything else. */
const metadataOf = (n: number): Metadata => ({
  'dc.contributor.author': [{ value: `Author ${n}`, language: null }],
  [provenance]: [
    { value: `Made available by person${9 - n}@example.org`, language: 'en' },
    { value: 'Approved "twice" \\ ü\u2028\u0001', language: null },
  ],
  'dc.description': [{ value: `Über ${n} "quoted" \\ \u0001`, language: 'de' }],
  'dc.description.provenances': [{ value: 'another field', language: null }],
  'dc.title': [{ value: `Title ${n}`, language: null }],
  'dc.type': [{ value: n % 2 === 0 ? 'Thesis' : 'Article', language: null }],
})

const count = 6

async function start(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env } })
  const ruth = await service.addEperson('ruth@example.org')
  await service.addEperson('admin@example.org', { admin: true })
  const uuids: string[] = []
  for (let n = 0; n < count; n++) {
    const readers = n === 0 ? { readers: anyEperson } : {}
    const { uuid } = await addItem(service, { identifier: `a/${n}`, metadata: metadataOf(n), ...readers })
    uuids.push(uuid)
  }
  await addItem(service, {
    identifier: 'a/only',
    metadata: { [provenance]: metadataOf(1)[provenance] ?? [] },
  })
  const client = await service.loggedIn('ruth@example.org')
  const admin = await service.loggedIn('admin@example.org')
  return { service, uuids, ruth, client, admin, stranger: service.client() }
}

const listPath = (parameters: Readonly<Record<string, string>> = {}) =>
  `/api/query/v4/items?${new URLSearchParams(parameters)}`
const by = (field: string, order: 'asc' | 'desc' = 'asc') => ({
  order_by: JSON.stringify([{ field, order }]),
})

test('Q19 provenance is hidden in bodies and lists from everybody but administrators', async t => {
  const { uuids, ruth, client, admin, stranger } = await start(t)
  const acting = { 'x-on-behalf-of': ruth.uuid }
  const paths = [
    `/api/core/items/${uuids[1]}`,
    '/api/core/items',
    `/api/dso/find?uuid=${uuids[1]}`,
    '/api/pid/find?id=a/1',
    listPath(),
    listPath({ limit: '5', include_total: 'true' }),
    listPath(by('metadata')),
    `${listPath(by('metadata', 'desc'))}&limit=3`,
  ]
  for (const path of paths) {
    const shown = [
      await stranger.get(path),
      await client.get(path),
      await admin.get(path, acting),
      await stranger.get(path, { accept: 'text/csv' }),
    ]
    for (const [n, response] of shown.entries()) {
      if (response.status === 406) continue
      assert.equal(response.status, 200, path)
      const text = await response.text()
      assert.ok(!text.includes('Made available') && !text.includes(`${provenance}"`), `${n} ${path}: ${text}`)
      assert.ok(text.includes('dc.description.provenances'), path)
    }
    assert.ok((await (await admin.get(path)).text()).includes('Made available'), path)
  }
})

test('Q19 what is not hidden is as it was, byte for byte, and totals stay', async t => {
  const { client, admin } = await start(t)
  const bodyOf = async (one: typeof client, format: string) => {
    const response = await one.get(listPath({ include_total: 'true' }), { accept: format })
    assert.equal(response.headers.get('x-records'), String(count + 1))
    return response.text()
  }
  const records = JSON.parse(await bodyOf(admin, 'application/json')) as Record<string, unknown>[]
  const expected = records.map(record => {
    const { [provenance]: _, ...metadata } = record.metadata as Metadata
    return JSON.stringify({ ...record, metadata, readers: null })
  })
  assert.equal(await bodyOf(client, 'application/x-ndjson'), `${expected.join('\n')}\n`)
})

test('Q19 an order by metadata does not depend on what is hidden', async t => {
  const { client, admin } = await start(t, { CARREL_HIDDEN_METADATA: `${provenance}, dc.contributor.author` })
  const orderSeen = async (one: typeof client, order: 'asc' | 'desc') => {
    const response = await one.get(listPath(by('metadata', order)))
    const records = (await response.json()) as { identifier: string; metadata: Metadata }[]
    return records.map(({ identifier, metadata }) => [identifier, JSON.stringify(metadata)] as const)
  }
  for (const order of ['asc', 'desc'] as const) {
    const seen = await orderSeen(client, order)
    const sorted = seen.map(([, text]) => text).toSorted()
    assert.deepEqual(
      seen.map(([, text]) => text),
      order === 'asc' ? sorted : sorted.reverse(),
    )
    assert.ok(seen.every(([, text]) => !/Author|Made available/.test(text)))
  }
  // For administrators, records differ first in a field that is hidden from others, and still the order is equal.
  const names = (list: Awaited<ReturnType<typeof orderSeen>>) =>
    list.map(([name]) => name).filter(name => name !== 'a/only')
  assert.deepEqual(names(await orderSeen(admin, 'asc')), names(await orderSeen(client, 'asc')))
})

test('Q19 what lists show and sort by is hidden with the field that it comes from', async t => {
  const { uuids, client, admin } = await start(t, {
    CARREL_HIDDEN_METADATA: 'dc.title,dc.type,dc.contributor.author,dc.date.issued',
  })
  const keys = [...uuids].toSorted()
  for (const field of ['title', 'type', 'authors', 'issued', 'metadata'])
    for (const order of ['asc', 'desc'] as const) {
      const response = await client.get(listPath(by(field, order)))
      const records = (await response.json()) as Record<string, unknown>[]
      assert.equal(records.length, count + 1)
      for (const { title, type, authors, issued } of records)
        assert.deepEqual([title, type, authors, issued], [null, null, [], null])
      if (field !== 'metadata')
        assert.deepEqual(
          records.map(({ uuid }) => uuid).filter(uuid => keys.includes(String(uuid))),
          keys,
          `${field} ${order}`,
        )
    }
  const body = (await (await client.get(`/api/core/items/${uuids[1]}`)).json()) as Record<string, unknown>
  assert.equal(body.name, null)
  const full = (await (await admin.get(`/api/core/items/${uuids[1]}`)).json()) as Record<string, unknown>
  assert.equal(full.name, 'Title 1')
})

test('Q19 CARREL_HIDDEN_METADATA=none hides nothing', async t => {
  const { uuids, stranger } = await start(t, { CARREL_HIDDEN_METADATA: 'none' })
  for (const path of [`/api/core/items/${uuids[1]}`, listPath(), '/api/core/items?size=50'])
    assert.ok((await (await stranger.get(path)).text()).includes('Made available'), path)
})
