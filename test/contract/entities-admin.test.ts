import assert from 'node:assert/strict'
import { administrator } from '../support/clients/administrator.ts'
import { list } from '../support/clients/listings.ts'
import { test } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

test('EA1 an entity that is new is made, filled by an import, changed and deleted', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const made = await root.send('PUT', '/books', {
    key: 'id',
    fields: [{ name: 'id', type: 'integer' }, 'title'],
    read: 'anonymous',
    description: 'What is on the shelves.',
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  console.log(made.body)
  const done = await root.imports('/books/import', '{"id":1,"title":"One"}\n{"id":2,"title":"Two"}', {
    'content-type': 'application/x-ndjson',
  })
  console.log(done)
  assert.equal(done.state, 'completed', done.fault ?? '')
  assert.deepEqual(await list(service.client(), 'books'), [
    { id: 1, title: 'One' },
    { id: 2, title: 'Two' },
  ])
  const preview = await root.post('/books/import?preview=true', 'id,title\n3,Three\n4,\n', {
    'content-type': 'text/csv',
  })
  console.dir(preview.body, { depth: 9 })
  const collated = await root.send('PATCH', '/books', { collations: { title: 'sv' } })
  console.log(await root.ended(collated))
  console.dir((await root.send('GET', '/books')).body, { depth: 9 })
  assert.equal((await root.send('DELETE', '/books')).status, 204)
})
