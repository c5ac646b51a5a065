import assert from 'node:assert/strict'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { type Administrator, administrator } from '../../support/clients/administrator.ts'
import { list } from '../../support/clients/listings.ts'
import { test } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const rows = [
  { id: 1, title: 'One' },
  { id: 2, title: 'Two' },
]
const table = 'id,title\n1,One\n2,Two\n'
const ndjson = { 'content-type': 'application/x-ndjson' }

async function started(t: TestContext): Promise<{ service: Service; root: Administrator }> {
  const service = await startService(t)
  return { service, root: await administrator(service) }
}

async function uploaded({ client }: Administrator, text: string, length = text.length, name = 'books.csv') {
  const response = await client.post('/api/uploads', text, {
    'tus-resumable': '1.0.0',
    'content-type': 'application/offset+octet-stream',
    'upload-length': String(length),
    'upload-metadata': `filename ${btoa(name)}`,
  })
  assert.equal(response.status, 201, await response.text())
  return (response.headers.get('location') ?? '').split('/').at(-1) ?? ''
}

const uploadsIn = ({ dataFolder }: Service) => {
  const folder = join(dataFolder, 'uploads')
  return existsSync(folder) ? readdirSync(folder) : []
}

/** Returns the deleted files that this process holds open for imports. */
const held = () =>
  readdirSync('/proc/self/fd').filter(name => {
    try {
      return /\/upload-[\w-]+ \(deleted\)$/.test(readlinkSync(`/proc/self/fd/${name}`))
    } catch {
      return false
    }
  })

test('EA5 EA6 a finished upload is looked at as often as one likes, and gone when it is imported', async t => {
  const { service, root } = await started(t)
  const id = await uploaded(root, table)
  for (let n = 0; n < 2; n++) {
    const preview = await root.post(`/books/import?key=id&preview=true&upload=${id}`, undefined)
    assert.equal(preview.status, 200, JSON.stringify(preview.body))
    assert.deepEqual([preview.body.format, preview.body.records], ['csv', 2], 'its name tells the format')
  }
  const wrong = await root.ended(await root.post(`/books/import?key=nope&upload=${id}`, undefined))
  assert.equal(wrong.state, 'failed')
  const done = await root.ended(
    await root.post(`/books/import?key=id&read=anonymous&upload=${id}`, undefined),
  )
  assert.equal(done.state, 'completed', done.fault ?? '')
  assert.equal(done.parameters.file, 'books.csv')
  assert.deepEqual(await list(service.client(), 'books'), rows)
  await until(
    'the end of the upload',
    () => uploadsIn(service),
    names => names.length === 0,
  )
  assert.equal((await root.post(`/books/import?upload=${id}`, undefined)).status, 400)
})

test('EA5 nobody imports the upload of someone else, one that isn’t finished, or a path', async t => {
  const { service, root } = await started(t)
  const other = await administrator(service, 'other@example.org')
  const finished = await uploaded(root, table)
  const unfinished = await uploaded(root, table, table.length + 5)
  for (const [who, id] of [
    [other, finished],
    [root, unfinished],
    [root, '..'],
    [root, '%2e%2e%2fcarrel.db'],
    [root, `${finished}%00`],
    [root, ''],
  ] as const) {
    const { status, body } = await who.post(`/books/import?key=id&upload=${id}`, undefined)
    assert.deepEqual([status, body.parameter], [400, 'upload'], JSON.stringify(body))
  }
  assert.equal((await root.post(`/books/import?key=id&upload=${finished}`, table, ndjson)).status, 400)
  assert.equal((await root.send('GET', '/books')).status, 404)
})

test('EA7 imports wait for their turn, and one that is cancelled before it leaves neither a file nor a lock', async t => {
  const { service, root } = await started(t)
  const many = Array.from({ length: 60_000 }, (_, id) => JSON.stringify({ id, n: `text ${id}` })).join('\n')
  const running = [
    await root.post('/first/import?key=id', many, ndjson),
    await root.post('/second/import?key=id', many, ndjson),
  ]
  const upload = await uploaded(root, table)
  const waiting = [
    await root.post('/third/import?key=id', '{"id":1}', ndjson),
    await root.post(`/fourth/import?key=id&upload=${upload}`, undefined),
  ]
  for (const { status, body } of waiting) {
    assert.equal(status, 202)
    assert.equal(body.processStatus, 'SCHEDULED')
    await service.storage.processes.cancel(Number(body.processId), commandEvent('process.cancel'))
  }
  for (const answer of waiting) assert.equal((await root.ended(answer)).state, 'cancelled')
  for (const answer of running) assert.equal((await root.ended(answer)).state, 'completed')
  await until('the end of all files that are held', held, files => files.length === 0)
  // The upload is available again, and the names are free.
  const again = await until(
    'an import of the upload',
    () => root.post(`/fourth/import?key=id&upload=${upload}`, undefined),
    ({ status }) => {
      assert.ok(status === 202 || status === 400, String(status))
      return status === 202
    },
  )
  assert.equal((await root.ended(again)).state, 'completed')
  assert.equal((await root.imports('/third/import?key=id', '{"id":1}', ndjson)).state, 'completed')
})
