import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folderOf } from '../../../src/config/files-place.ts'
import type { Client } from '../../support/clients/client.ts'
import {
  change,
  changeTo,
  newItem,
  read,
  replaceContent,
  statusOf,
  upload,
} from '../../support/data/editing.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env })
  const admin = await service.addLoggedIn('root@example.org', { admin: true })
  const reader = await service.addLoggedIn('ruth@example.org')
  const nobody = service.client()
  const item = await newItem(admin)
  const { body: file } = await upload(admin, item.bundle, { name: 'a.txt', content: 'first' })
  return { service, admin, reader, nobody, item, file, path: `/api/core/bitstreams/${file.uuid}` }
}

const contentOf = async (client: Client, path: string) => (await client.get(`${path}/content`)).text()
const mimeTypeOf = async (client: Client, path: string) =>
  ((await read(client, `${path}/format`)) as unknown as { mimetype: string }).mimetype

test('I16 the content of a file is replaced, and everything else of it stays', async t => {
  const { admin, item, file, path, service } = await started(t)
  const primary = `/api/core/bundles/${item.bundle}/primaryBitstream`
  await changeTo(admin, 'post', primary, `http://repo.example.edu${path}`)
  await upload(admin, item.bundle, { name: 'other.txt', content: 'other' })
  await change(admin, 'patch', path, [
    { op: 'add', path: '/metadata/dc.description', value: [{ value: 'Notes' }] },
  ])
  const anybody = '00000000-0000-8000-8000-000000000000'
  const policies = `/api/authz/resourcepolicies?resource=${file.uuid}&group=${anybody}`
  assert.equal((await change(admin, 'post', policies, { action: 'READ' })).status, 201)
  const before = await read(admin, path)

  const replaced = await replaceContent(admin, file.uuid, { name: 'b.pdf', content: 'the second' })
  assert.equal(replaced.status, 200, JSON.stringify(replaced.body))
  const now = await read(admin, path)
  assert.deepEqual(now, {
    ...before,
    sizeBytes: 10,
    checkSum: { ...before.checkSum, value: replaced.body.checkSum.value },
  })
  assert.notEqual(now.checkSum.value, before.checkSum.value)
  // DSpace's interface drops cached responses whose addresses contain this value.
  const { 'dspace.bitstream.isReplacementOf': of, ...metadata } = replaced.body.metadata
  assert.deepEqual({ ...replaced.body, metadata }, now)
  assert.deepEqual(of, [
    { value: 'a.txt', language: null, authority: '/bitstreams', confidence: 600, place: 0 },
  ])
  // The readers of the file stay the same.
  assert.equal(await contentOf(service.client(), path), 'the second')
  // The type is that of the new content, whatever the name of the file is.
  assert.equal(await mimeTypeOf(admin, path), 'application/pdf')
  assert.equal((await read(admin, primary)).uuid, file.uuid)
  const bundle = await read(admin, `/api/core/bundles/${item.bundle}/bitstreams`)
  assert.deepEqual(
    bundle._embedded.bitstreams?.map(({ name }) => name),
    ['a.txt', 'other.txt'],
  )
  assert.deepEqual(readdirSync(join(folderOf(service.config.files), 'incoming')), [])
})

test('I16 with replaceName the file is called as what was sent, unless another one is', async t => {
  const { admin, item, file, path } = await started(t)
  await upload(admin, item.bundle, { name: 'b.txt', content: 'other' })
  const send = (name: string, query: string) =>
    replaceContent(admin, file.uuid, { name, content: name }, query)
  assert.equal((await send('../../c.csv', '?replaceName=true')).body.name, 'c.csv')
  assert.equal((await send('d.txt', '?replaceName=false')).body.name, 'c.csv')
  assert.equal((await send('b.txt', '?replaceName=true')).status, 422)
  assert.equal((await send('e.txt', '?replaceName=perhaps')).status, 400)
  assert.equal((await send('x'.repeat(501), '?replaceName=true')).status, 422)
  assert.equal(await contentOf(admin, path), 'd.txt')
})

test('I16 who may not change the item replaces nothing, nor does who has seen another content', async t => {
  const { admin, reader, nobody, file, path } = await started(t)
  const sent = { name: 'a.txt', content: 'second' }
  assert.equal((await replaceContent(reader, file.uuid, sent)).status, 403)
  assert.equal((await replaceContent(nobody, file.uuid, sent)).status, 401)
  assert.equal((await replaceContent(admin, '00000000-0000-4000-8000-000000000000', sent)).status, 404)
  const type = { 'content-type': 'text/plain' }
  assert.equal((await admin.put(`${path}/content`, 'second', type)).status, 415)
  const seen = { 'if-match': `"${file.checkSum.value}"` }
  assert.equal(await contentOf(admin, path), 'first')
  assert.equal((await replaceContent(admin, file.uuid, sent, '', seen)).status, 200)
  assert.equal((await replaceContent(admin, file.uuid, { ...sent, content: 'third' }, '', seen)).status, 412)
  // Of several clients with the same tag, only one succeeds.
  const now = { 'if-match': `"${(await read(admin, path)).checkSum.value}"` }
  const answers = await Promise.all(
    ['x', 'y', 'z'].map(content => replaceContent(admin, file.uuid, { ...sent, content }, '', now)),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 412, 412])
})

test('I16 I8 a quota counts the new content in the place of the old one', async t => {
  const { admin, item, file, path } = await started(t, { CARREL_UPLOAD_SIZE: '1', CARREL_FILES_QUOTA: '2' })
  const megabyte = 1024 * 1024
  const bytes = (size: number) => new Uint8Array(size).fill(1)
  const send = (size: number) => replaceContent(admin, file.uuid, { name: 'a', content: bytes(size) })
  assert.equal((await send(megabyte)).status, 200)
  assert.equal((await upload(admin, item.bundle, { name: 'b', content: bytes(megabyte) })).status, 201)
  assert.equal((await send(megabyte)).status, 200)
  assert.equal((await send(megabyte + 1)).status, 413)
  assert.equal((await send(10)).status, 200)
  const { body } = await upload(admin, item.bundle, { name: 'c', content: bytes(megabyte - 10) })
  assert.equal((await send(11)).status, 507)
  assert.equal((await read(admin, path)).sizeBytes, 10)
  assert.equal((await change(admin, 'delete', `/api/core/bitstreams/${body.uuid}`)).status, 204)
  assert.equal((await send(11)).status, 200)
  assert.equal(await statusOf(admin, `${path}/content`), 200)
})

test('I16 a replaced content is in the audit trail with what was before and after', async t => {
  const { admin, file } = await started(t)
  await replaceContent(admin, file.uuid, { name: 'b.txt', content: 'second' }, '?replaceName=true')
  await replaceContent(admin, file.uuid, { name: 'b.txt', content: 'second' }, '?replaceName=true')
  const query = encodeURIComponent('["=", "event", "bitstream.change"]')
  const answer = await admin.get(`/api/query/v4/audit-events?query=${query}`)
  const events = (await answer.json()) as readonly {
    changes: Record<'before' | 'after', { name: string; size: number; sha256: string }>
  }[]
  // The second request changed nothing.
  assert.deepEqual(
    events.map(({ changes: { before, after } }) => [before.name, before.size, after.name, after.size]),
    [['a.txt', 5, 'b.txt', 6]],
  )
  assert.equal(events[0]?.changes.before.sha256, file.checkSum.value)
})
