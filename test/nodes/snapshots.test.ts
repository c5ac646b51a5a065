import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import type { RecordEntity } from '../../src/storage/entities.ts'
import { fold } from '../../src/storage/records/folding.ts'
import { listPath } from '../support/clients/listings.ts'
import { importText, ndjson } from '../support/data/imports.ts'
import { recordPath } from '../support/data/record-writes.ts'
import { type Answered, adminOf, ask, bearer, startNodes } from '../support/service/nodes.ts'
import type { Service } from '../support/service/service.ts'

test('Q35 a snapshot that one node gives is read on another, while all of them write and fold', async t => {
  const { nodes } = await startNodes(t, 2)
  const [one, other] = nodes
  assert.ok(one && other)
  const token = await adminOf(one)
  const records = Array.from({ length: 50 }, (_, at) => ({ id: at, title: `work ${at}` }))
  await importText(one, ndjson(records), { entity: 'works', key: 'id', read: 'anonymous' })
  await one.storage.entities.changeWriteRule('works', 'admin', commandEvent('entity.writers'))
  let isOver = false
  const write = async (writer: number) => {
    for (let n = 0; !isOver; n++) {
      const id = (7 * n + writer) % 60
      const isDeletion = n % 5 === 4
      const answer = await ask(nodes[writer % 2] ?? one, recordPath('works', id), {
        method: isDeletion ? 'DELETE' : 'PUT',
        headers: { ...bearer(token), ...(!isDeletion && { 'content-type': 'application/json' }) },
        ...(!isDeletion && { body: JSON.stringify({ id, title: `by ${writer} at ${n}` }) }),
      })
      assert.ok([200, 201, 204, 404].includes(answer.status), answer.text)
    }
  }
  const writers = Promise.all([0, 1].map(write))
  const order = { order_by: [{ field: 'title' }], include_total: true }
  const taken: { readonly snapshot: string; readonly text: string }[] = []
  const read = async (node: typeof one, snapshot: string) => {
    const { status, text, headers } = await ask(node, listPath('works', { ...order, snapshot }))
    assert.equal(status, 200, text)
    assert.equal(headers['x-snapshot'], snapshot)
    return text
  }
  for (let n = 0; n < 24; n++) {
    const here: Service = n % 2 === 0 ? one : other
    const there: Service = here === one ? other : one
    const { text, headers }: Answered = await ask(here, listPath('works', order))
    const snapshot = String(headers['x-snapshot'])
    taken.push({ snapshot, text })
    assert.equal(await read(there, snapshot), text)
    if (n % 6 === 5) {
      const entity = (await there.storage.entities.all()).get('works') as RecordEntity
      await fold(entity, there.storage.entities)
    }
  }
  isOver = true
  await writers
  assert.ok(new Set(taken.map(({ snapshot }) => snapshot)).size > 12)
  for (const { snapshot, text } of taken)
    for (const node of nodes) assert.equal(await read(node, snapshot), text)
})
