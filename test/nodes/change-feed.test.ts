import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { Client } from '../support/clients/client.ts'
import { type ChangeLine, feedPath, streamOf } from '../support/data/changes.ts'
import { putRecord } from '../support/data/record-writes.ts'
import { newDatabase, quickLogin } from '../support/service/nodes.ts'
import { serve } from '../support/service/process.ts'
import { startService } from '../support/service/service.ts'

test('Q39 Q41 a change made on one node reaches streams on another, and when that node is killed, they go on elsewhere with nothing lost and nothing twice', async t => {
  const { dataFolder } = await newDatabase(t, {})
  const node = await startService(t, { dataFolder })
  await node.addEperson('writer@example.org', { password: null })
  await node.addRecords('works', 'id', [{ id: 0, title: 'first' }])
  await node.storage.entities.changeWriteRule('works', 'eperson', commandEvent('entity.writers'))
  const writer = node.client()
  writer.token = await quickLogin(node, 'writer@example.org')
  const killed = await serve(t, dataFolder)
  const stream = await streamOf(new Client(killed.address), 'works')
  await stream.next()
  const writes = 60
  const writing = (async () => {
    for (let n = 1; n <= writes; n++) await putRecord(writer, 'works', n, { title: `${n}` })
  })()
  const heard: ChangeLine[] = [...(await stream.changes(writes / 3))]
  killed.signal('SIGKILL')
  await killed.ended
  // What came before the end was acknowledged with its id.
  for (let event = await stream.next(); event; event = await stream.next())
    if (event.event === undefined) heard.push(JSON.parse(event.data) as ChangeLine)
  const next = await streamOf(node.client(), 'works', { lastEventId: stream.id })
  heard.push(...(await next.changes(writes - heard.length)))
  await writing
  next.close()
  assert.deepEqual(
    heard.map(({ key }) => key),
    Array.from({ length: writes }, (_, at) => at + 1),
  )
  assert.equal((await node.client().get(feedPath('works', 'now'))).status, 200)
})
