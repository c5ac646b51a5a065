import assert from 'node:assert/strict'
import type { Client } from '../../packages/client/src/index.ts'
import { commandEvent } from '../../src/cli/store.ts'
import { ruth, startClientWorld } from '../support/clients/carrel-client.ts'
import { test } from '../support/service/engines.ts'

interface Work {
  readonly id: number
  readonly title: string
}
type Works = { readonly works: Work }

test('CL16 changes come as they happen, once each and in order, although the connection breaks in the middle of an event', async t => {
  const { line, openAs, service } = await startClientWorld(t)
  await service.addRecords('works', 'id', [{ id: 1, title: 'one' }])
  await service.storage.entities.changeWriteRule('works', 'eperson', commandEvent('entity.writers'))
  const client = (await openAs(ruth)) as unknown as Client<Works>
  const works = client.entity('works')
  const { snapshot } = await works.query().page()
  let broken = 0
  line.fault = ({ path }) =>
    path.includes('/changes') && broken++ < 3 ? { answerBreaksAfter: 600 + 97 * broken } : undefined
  const writes = 12
  const writing = (async () => {
    for (let id = 2; id < writes; id++) await works.put(id, { id, title: 'é'.repeat(id) })
    await works.delete(1)
  })()
  const heard: string[] = []
  for await (const change of works.changes({ since: snapshot })) {
    heard.push(`${change.change} ${change.key}`)
    if (change.change === 'deleted') break
    assert.deepEqual(change.record, { id: change.key, title: 'é'.repeat(Number(change.key)) })
    assert.ok(change.snapshot)
  }
  await writing
  assert.deepEqual(heard, [...Array.from({ length: writes - 2 }, (_, at) => `added ${at + 2}`), 'deleted 1'])
  assert.ok(broken > 1, 'the connection broke')
  await assert.rejects(
    async () => {
      for await (const _ of works.changes({ since: 'nothing' })) break
    },
    { code: 'bad-parameter' },
  )
  const controller = new AbortController()
  const following = (async () => {
    for await (const _ of works.changes({ signal: controller.signal })) break
  })()
  controller.abort(new Error('enough'))
  await assert.rejects(following, { message: 'enough' })
})

test('CL16 a loop over pages holds still while others write, unless it should not; a state that is gone is said so', async t => {
  const { openAs, service } = await startClientWorld(t)
  const records = Array.from({ length: 30 }, (_, at) => ({ id: at, title: `work ${at}` }))
  await service.addRecords('works', 'id', records)
  await service.storage.entities.changeWriteRule('works', 'eperson', commandEvent('entity.writers'))
  const client = (await openAs(ruth)) as unknown as Client<Works>
  const works = client.entity('works')
  const ids = async (options: { readonly pinned?: boolean }) => {
    const seen: number[] = []
    let gone = 0
    for await (const { records } of works.query().pages(10, options)) {
      seen.push(...records.map(({ id }) => id))
      await works.delete(gone++)
    }
    await service.addRecords('works', 'id', records)
    return seen
  }
  assert.deepEqual(
    await ids({}),
    records.map(({ id }) => id),
  )
  assert.notDeepEqual(
    await ids({ pinned: false }),
    records.map(({ id }) => id),
  )
  await assert.rejects(
    async () => {
      for await (const _ of works.query().pages(10))
        await service.storage.entities
          .drop('works', commandEvent('entity.drop'))
          .then(() => service.addRecords('works', 'id', records))
    },
    { code: 'snapshot-expired' },
  )
})
