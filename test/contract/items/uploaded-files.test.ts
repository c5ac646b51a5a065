import assert from 'node:assert/strict'
import { change, newItem, read } from '../../support/data/editing.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

const tus = { 'tus-resumable': '1.0.0' }

test('I7 a file that was uploaded in pieces becomes one of a bundle, once and for its own eperson', async t => {
  const service = await startService(t)
  for (const name of ['root', 'other']) await service.addEperson(`${name}@example.org`, { admin: true })
  const root = await service.loggedIn('root@example.org')
  const other = await service.loggedIn('other@example.org')
  const { bundle } = await newItem(root)
  const begun = await root.post('/api/uploads', undefined, {
    ...tus,
    'upload-length': '11',
    'upload-metadata': `filename ${btoa('../letters/letter.txt')}`,
  })
  assert.equal(begun.status, 201, await begun.text())
  const path = (begun.headers.get('location') ?? '').slice(baseUrl.length)
  const id = path.split('/').at(-1) ?? ''
  const target = `/api/core/bundles/${bundle}/bitstreams?upload=${id}`
  const send = async (offset: number, text: string) => {
    const type = 'application/offset+octet-stream'
    const headers = { ...tus, 'content-type': type, 'upload-offset': String(offset) }
    assert.equal((await root.patch(path, text, headers)).status, 204)
  }
  await send(0, 'hello ')
  assert.equal((await change(root, 'post', target)).status, 422)
  await send(6, 'world')
  assert.equal((await change(other, 'post', target)).status, 422)
  // A refused request leaves the upload unchanged.
  assert.equal((await change(root, 'post', target, { name: '../' })).status, 422)
  const metadata = { 'dc.description': [{ value: 'Greetings' }] }
  const added = await change(root, 'post', target, { metadata })
  assert.equal(added.status, 201, JSON.stringify(added.body))
  assert.deepEqual([added.body.name, added.body.sizeBytes], ['letter.txt', 11])
  assert.equal(added.body.metadata['dc.description']?.[0]?.value, 'Greetings')
  const content = await root.get(`/api/core/bitstreams/${added.body.uuid}/content`)
  assert.equal(await content.text(), 'hello world')
  assert.equal((await change(root, 'post', target)).status, 422)
  assert.equal((await read(root, `/api/core/bundles/${bundle}/bitstreams`)).page.totalElements, 1)
})
