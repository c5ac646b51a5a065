import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { list } from '../../support/clients/listings.ts'
import { eventsOf } from '../../support/data/events.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

/** A table for imports of uploads that were interrupted and resumed. */
const table = 'id,"a, b",year\n1,One,1901\n2,Two,1902\n'

async function started(t: TestContext) {
  const service = await startService(t)
  return { service, root: await administrator(service) }
}

async function uploaded(client: Client): Promise<string> {
  const response = await client.post('/api/uploads', table, {
    'tus-resumable': '1.0.0',
    'content-type': 'application/offset+octet-stream',
    'upload-length': String(table.length),
    'upload-metadata': `filename ${btoa('records')}`,
  })
  assert.equal(response.status, 201)
  return (response.headers.get('location') ?? '').split('/').at(-1) ?? ''
}

const resume = (client: Client, id: string) => client.post(`/api/system/processes/${id}/resume`)
const resumedAs = async (client: Client, id: string) => {
  const answer = await resume(client, id)
  assert.equal(answer.status, 202, await answer.clone().text())
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

test('PR4 EA5 an import that did not come to its end is resumed with all its parameters', async t => {
  const { service, root } = await started(t)
  const upload = await uploaded(root.client)
  // With a key that the file doesn't have, nothing is imported, and nothing is lost.
  const wrong = await root.post(`/books/import?key=nope&upload=${upload}`, undefined)
  assert.equal((await root.ended(wrong)).state, 'failed')
  const once = await root.ended(await resumedAs(root.client, wrong.body.processId))
  assert.equal(once.state, 'failed', 'with the same key')
  assert.equal(once.parameters.resumes, wrong.body.processId)

  // The process that a killed service leaves behind.
  const query = 'key=%22a%2C+b%22&key=id&type=year%3Dtext&collation=a%2C+b%3Dsv&read=anonymous&format=csv'
  const left = { entity: 'books', mode: 'replace', file: 'records', key: 'a, b, id', upload, query }
  const { processes } = service.storage
  const begun = await processes.begin(
    { kind: 'import', eperson: root.uuid, parameters: left },
    { owner: 'x', atOnce: null, waiting: 1 },
  )
  assert.ok(begun && 'id' in begun)
  await assertProblem(await resume(root.client, String(begun.id)), 422, 'process-state')
  await processes.interrupt(['x'])
  const done = await root.ended(await resumedAs(root.client, String(begun.id)))
  assert.equal(done.state, 'completed', done.fault ?? '')
  assert.equal(done.parameters.query?.includes('upload'), false)
  assert.deepEqual(await list(service.client(), 'books'), [
    { 'a, b': 'One', id: 1, year: '1901' },
    { 'a, b': 'Two', id: 2, year: '1902' },
  ])
  const { key, fields } = (await root.send('GET', '/books')).body
  assert.deepEqual(key, ['a, b', 'id'])
  assert.equal(fields.find(({ name }: { name: string }) => name === 'a, b')?.collation, 'sv')
  assert.equal((await eventsOf(root.client, 'process.resume')).length, 2)
  assert.equal((await eventsOf(root.client, 'entity.import')).length, 1)
})

test('PR4 Q11 a process keeps a rule with the UUID of the eperson, and not with their address', async t => {
  const { service, root } = await started(t)
  const { uuid, email } = await service.addEperson('ruth@example.org')
  const upload = await uploaded(root.client)
  const asked = `/books/import?key=nope&read=eperson:${email}&upload=${upload}`
  const wrong = await root.post(asked, undefined)
  const { parameters } = await root.ended(wrong)
  assert.equal(parameters.read, `eperson:${uuid}`)
  assert.equal(new URLSearchParams(parameters.query).get('read'), `eperson:${uuid}`)
  await service.storage.people.changeEperson(
    uuid,
    { email: 'else@example.org' },
    commandEvent('eperson.change'),
  )
  await service.addEperson(email)
  const again = await root.ended(await resumedAs(root.client, wrong.body.processId))
  assert.equal(again.parameters.read, `eperson:${uuid}`)
})

test('PR4 an import is resumed by the eperson of the upload, while that is there and nobody else imports', async t => {
  const { service, root } = await started(t)
  const other = await administrator(service, 'other@example.org')
  const ruth = service.client()
  await service.addEperson('ruth@example.org')
  await ruth.login('ruth@example.org')
  const body = await root.ended(
    await root.post('/books/import?key=nope', table, { 'content-type': 'text/csv' }),
  )
  assert.equal(body.state, 'failed')
  const all = await service.storage.processes.find(
    { kind: 'import', order: { by: 'id', falling: true } },
    { offset: 0, limit: 1 },
  )
  const ofBody = String(all.rows[0]?.id)
  const refused = await assertProblem(await resume(root.client, ofBody), 422, 'process-state')
  assert.match(refused.detail, /^Only an import of an upload can be resumed/)

  const upload = await uploaded(root.client)
  const failed = await root.post(`/books/import?key=nope&read=admin&upload=${upload}`, undefined)
  await root.ended(failed)
  const { processId: id } = failed.body
  await assertProblem(await resume(other.client, id), 404, 'not-found')
  await assertProblem(await resume(ruth, id), 403, 'access-denied')
  const rival = await service.storage.processes.begin(
    { kind: 'import', eperson: null, parameters: { entity: 'books' } },
    { owner: 'x', atOnce: null, waiting: 1 },
  )
  assert.ok(rival && 'id' in rival)
  await assertProblem(await resume(root.client, id), 409, 'entity-conflict')
  await service.storage.processes.interrupt(['x'])
  // The refusals have left the upload usable.
  assert.equal((await root.ended(await resumedAs(root.client, id))).state, 'failed')
  const gone = await root.client.delete(`/api/uploads/${upload}`, undefined, { 'tus-resumable': '1.0.0' })
  assert.equal(gone.status, 204)
  const none = await assertProblem(await resume(root.client, id), 404, 'not-found')
  assert.match(none.detail, /^You have no finished upload of this id/)
})
