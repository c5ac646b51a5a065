import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folderOf } from '../../../src/config/files-place.ts'
import { change, changeTo, newItem, read, statusOf, upload } from '../../support/data/editing.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env })
  const admin = await service.addLoggedIn('root@example.org', { admin: true })
  const reader = await service.addLoggedIn('ruth@example.org')
  const nobody = service.client()
  return { service, admin, reader, nobody, item: await newItem(admin) }
}

const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex')

test('I6 bundles are added empty, by a name that the item has once, and deleted with their files', async t => {
  const { admin, item } = await started(t)
  const bundles = `${item.path}/bundles`
  const [license] = (await read(admin, bundles))._embedded.bundles ?? []
  assert.equal(license?.name, 'ORIGINAL')
  assert.equal((await change(admin, 'post', bundles, { name: 'ORIGINAL' })).status, 422)
  for (const name of ['', ' ', 'a\nb', 'x'.repeat(501), 7, '\ud800'])
    assert.equal((await change(admin, 'post', bundles, { name })).status, 422, JSON.stringify(name))
  const added = await change(admin, 'post', bundles, { name: 'TEXT', metadata: {} })
  assert.deepEqual([added.status, added.body.name, added.body.type], [201, 'TEXT', 'bundle'])
  const path = `/api/core/bundles/${added.body.uuid}`
  assert.deepEqual(await read(admin, path), added.body)
  assert.equal((await read(admin, `${path}/bitstreams`)).page.totalElements, 0)
  const { body: file } = await upload(admin, added.body.uuid, { name: 'a.txt', content: 'a' })
  assert.equal((await change(admin, 'delete', path)).status, 204)
  assert.deepEqual(
    [await statusOf(admin, path), await statusOf(admin, `/api/core/bitstreams/${file.uuid}`)],
    [404, 404],
  )
  assert.equal((await read(admin, bundles)).page.totalElements, 1)
})

test('I7 a file that is sent in a form is kept by its SHA-256, and read back as it was', async t => {
  const { admin, item, service } = await started(t)
  const bytes = new Uint8Array(3_000_000).map((_, at) => (at * 7919) % 251)
  const { status, body } = await upload(
    admin,
    item.bundle,
    { name: 'ignored.bin', content: bytes, type: 'application/pdf' },
    {
      name: 'Flüsse.pdf',
      metadata: { 'dc.description': [{ value: 'A scan', language: 'en' }] },
      bundleName: 'ORIGINAL',
    },
  )
  assert.equal(status, 201, JSON.stringify(body))
  assert.deepEqual(
    [body.name, body.sizeBytes, body.checkSum.value, body.metadata['dc.description']?.[0]?.value],
    ['Flüsse.pdf', bytes.length, sha256(bytes), 'A scan'],
  )
  const path = `/api/core/bitstreams/${body.uuid}`
  assert.deepEqual(await read(admin, path), body)
  const content = new Uint8Array(await (await admin.get(`${path}/content`)).arrayBuffer())
  assert.equal(sha256(content), sha256(bytes))
  assert.equal(
    ((await read(admin, `${path}/format`)) as unknown as { mimetype: string }).mimetype,
    'application/pdf',
  )
  assert.deepEqual(readdirSync(join(folderOf(service.config.files), 'incoming')), [])
  // Without properties, the bitstream gets the file's name without its path.
  const plain = await upload(admin, item.bundle, { name: '../../etc/notes.txt', content: '' })
  assert.deepEqual([plain.status, plain.body.name, plain.body.sizeBytes], [201, 'notes.txt', 0])
  // Names lose folders and invisible characters, however they are sent, and the answer shows it.
  for (const [given, name] of [
    ['..\\..\\evil.txt', 'evil.txt'],
    ['../../evil/other.txt', 'other.txt'],
    ['photo\u202egpj.exe', 'photogpj.exe'],
    ['nul\u0000.txt', '_nul.txt'],
  ] as const) {
    const sent = await upload(admin, item.bundle, { name: 'x', content: given }, { name: given })
    assert.deepEqual([sent.status, sent.body.name], [201, name], JSON.stringify(sent.body))
    const file = `/api/core/bitstreams/${sent.body.uuid}`
    const patched = await admin.patch(
      file,
      JSON.stringify([{ op: 'replace', path: '/metadata/dc.title/0/value', value: `/tmp/\u2066${given}` }]),
      { 'content-type': 'application/json-patch+json' },
    )
    assert.deepEqual([patched.status, patched.headers.get('x-name-changed')], [200, 'true'])
    assert.equal(((await patched.json()) as { name: string }).name, name)
    assert.equal(
      (
        await admin.request(file, {
          method: 'DELETE',
          headers: { 'x-xsrf-token': (await admin.csrfPair()).value },
        })
      ).status,
      204,
    )
  }
  const nothing = await upload(admin, item.bundle, { name: 'x', content: '' }, { name: '../..' })
  assert.equal(nothing.status, 422)
  assert.equal((await upload(admin, item.bundle, { name: 'notes.txt', content: 'other' })).status, 422)
})

test('I7 nobody sends a file to an item that they may not change, nor anything that a file can’t be', async t => {
  const { admin, reader, nobody, item } = await started(t)
  const file = { name: 'a.txt', content: 'a' }
  assert.equal((await upload(reader, item.bundle, file)).status, 403)
  assert.equal((await upload(nobody, item.bundle, file)).status, 401)
  assert.equal((await upload(admin, item.uuid, file)).status, 404)
  for (const properties of [
    { name: 'x'.repeat(501) },
    { name: 7 },
    { metadata: { 'dc.source': [{ value: 'x' }] } },
    { metadata: { 'dc.title': [{ value: 'a' }], 'dc.description': [{ value: 'a' }, { value: 'b' }] } },
    { metadata: [] },
  ])
    assert.equal((await upload(admin, item.bundle, file, properties)).status, 422, JSON.stringify(properties))
  assert.equal((await read(admin, `/api/core/bundles/${item.bundle}/bitstreams`)).page.totalElements, 0)
})

test('I8 a file larger than it may be, or more than all may have, is refused and leaves nothing', async t => {
  const { admin, item, service } = await started(t, { CARREL_UPLOAD_SIZE: '1', CARREL_FILES_QUOTA: '2' })
  const megabyte = 1024 * 1024
  const send = (name: string, size: number) =>
    upload(admin, item.bundle, { name, content: new Uint8Array(size).fill(name.charCodeAt(0)) })
  assert.equal((await send('a', megabyte)).status, 201)
  assert.equal((await send('b', megabyte + 1)).status, 413)
  assert.equal((await send('c', 4 * megabyte)).status, 413)
  assert.equal((await send('d', megabyte)).status, 201)
  assert.equal((await send('e', 1)).status, 507)
  assert.deepEqual(readdirSync(join(folderOf(service.config.files), 'incoming')), [])
  const [first] =
    (await read(admin, `/api/core/bundles/${item.bundle}/bitstreams`))._embedded.bitstreams ?? []
  assert.equal((await change(admin, 'delete', `/api/core/bitstreams/${first?.uuid}`)).status, 204)
  assert.equal((await send('e', 1)).status, 201)
})

test('I9 a file gets another name, description and format; nothing else of it can be changed', async t => {
  const { admin, item } = await started(t)
  const { body } = await upload(admin, item.bundle, { name: 'a.txt', content: 'a' })
  await upload(admin, item.bundle, { name: 'b.txt', content: 'b' })
  const path = `/api/core/bitstreams/${body.uuid}`
  const patched = await change(admin, 'patch', path, [
    { op: 'replace', path: '/metadata/dc.title/0/value', value: 'c.txt' },
    { op: 'add', path: '/metadata/dc.description', value: [{ value: 'Notes', language: null, place: 0 }] },
  ])
  assert.equal(patched.status, 200, JSON.stringify(patched.body))
  assert.deepEqual(
    [patched.body.name, patched.body.metadata['dc.description']?.[0]?.value],
    ['c.txt', 'Notes'],
  )
  for (const operation of [
    { op: 'replace', path: '/metadata/dc.title/0/value', value: 'b.txt' },
    { op: 'remove', path: '/metadata/dc.title' },
    { op: 'add', path: '/metadata/dc.title/-', value: { value: 'second' } },
    { op: 'add', path: '/metadata/dc.format/-', value: { value: 'x' } },
    { op: 'replace', path: '/name', value: 'x' },
  ])
    assert.equal((await change(admin, 'patch', path, [operation])).status, 422, JSON.stringify(operation))
  const formats = 'http://repo.example.edu/api/core/bitstreamformats'
  assert.equal(await changeTo(admin, 'put', `${path}/format`, `${formats}/application~pdf`), 200)
  assert.equal(
    ((await read(admin, `${path}/format`)) as unknown as { mimetype: string }).mimetype,
    'application/pdf',
  )
  for (const address of [`${formats}/nothing`, formats, '', `${formats}/a~b\n${formats}/a~c`])
    assert.equal(await changeTo(admin, 'put', `${path}/format`, address), 422, address)
  assert.equal(
    (await change(admin, 'patch', path, [{ op: 'remove', path: '/metadata/dc.description' }])).status,
    200,
  )
  assert.equal((await read(admin, path)).metadata['dc.description'], undefined)
})

test('I9 files are moved within their bundle, and one of them stands for all', async t => {
  const { admin, item } = await started(t)
  const uuids = new Map<string, string>()
  for (const name of ['a', 'b', 'c', 'd'])
    uuids.set(name, (await upload(admin, item.bundle, { name, content: name })).body.uuid)
  const bundle = `/api/core/bundles/${item.bundle}`
  const names = async () =>
    ((await read(admin, `${bundle}/bitstreams`))._embedded.bitstreams ?? []).map(one => one.name).join('')
  const move = (from: number, to: number) => ({
    op: 'move',
    from: `/_links/bitstreams/${from}/href`,
    path: `/_links/bitstreams/${to}/href`,
  })
  assert.equal((await change(admin, 'patch', bundle, [move(3, 0)])).status, 200)
  assert.equal(await names(), 'dabc')
  assert.equal((await change(admin, 'patch', bundle, [move(0, 3), move(0, 1)])).status, 200)
  assert.equal(await names(), 'bacd')
  for (const wrong of [move(4, 0), move(0, 4), { op: 'remove', path: '/_links/bitstreams/0/href' }])
    assert.equal((await change(admin, 'patch', bundle, [wrong])).status, 422)
  assert.equal(await names(), 'bacd')

  const primary = `${bundle}/primaryBitstream`
  const address = (name: string) => `http://repo.example.edu/api/core/bitstreams/${uuids.get(name)}`
  assert.equal(await statusOf(admin, primary), 204)
  assert.equal(await changeTo(admin, 'post', primary, address('c')), 201)
  assert.equal((await read(admin, primary)).name, 'c')
  assert.equal(await changeTo(admin, 'put', primary, address('d')), 200)
  assert.equal((await read(admin, primary)).name, 'd')
  const other = await newItem(admin)
  assert.equal(
    await changeTo(admin, 'put', `/api/core/bundles/${other.bundle}/primaryBitstream`, address('d')),
    422,
  )
  assert.equal((await change(admin, 'delete', primary)).status, 204)
  assert.equal(await statusOf(admin, primary), 204)
  await changeTo(admin, 'post', primary, address('a'))
  assert.equal((await change(admin, 'delete', `/api/core/bitstreams/${uuids.get('a')}`)).status, 204)
  assert.equal(await statusOf(admin, primary), 204)
})

test('I9 files are deleted one by one or many at once, all or none', async t => {
  const { admin, reader, item } = await started(t)
  const uuids: string[] = []
  for (const name of ['a', 'b', 'c', 'd'])
    uuids.push((await upload(admin, item.bundle, { name, content: name })).body.uuid)
  const [first = '', ...others] = uuids
  const removal = (uuid: string) => ({ op: 'remove', path: `/bitstreams/${uuid}` })
  assert.equal((await change(reader, 'patch', '/api/core/bitstreams', uuids.map(removal))).status, 403)
  assert.equal((await change(admin, 'delete', `/api/core/bitstreams/${first}`)).status, 204)
  const some = [...others, first].map(removal)
  assert.equal((await change(admin, 'patch', '/api/core/bitstreams', some)).status, 404)
  assert.equal((await read(admin, `/api/core/bundles/${item.bundle}/bitstreams`)).page.totalElements, 3)
  assert.equal(
    (await change(admin, 'patch', '/api/core/bitstreams', [{ op: 'add', path: '/bitstreams/x' }])).status,
    422,
  )
  assert.equal((await change(admin, 'patch', '/api/core/bitstreams', others.map(removal))).status, 204)
  assert.equal((await read(admin, `/api/core/bundles/${item.bundle}/bitstreams`)).page.totalElements, 0)
})
