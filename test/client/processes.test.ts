import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  cancelProcess,
  followProcess,
  getProcess,
  type ProcessEvent,
  startProcess,
} from '../../packages/client/src/processes.ts'
import { createProcesses } from '../../src/admin/processes/processes.ts'
import { root, ruth, startClientWorld } from '../support/clients/carrel-client.ts'
import { test } from '../support/service/engines.ts'

test('CL11 a process is begun, and followed to its end', async t => {
  const { openAs } = await startClientWorld(t)
  const client = await openAs(root)
  const { processId } = await startProcess(client, 'verify')
  const events: ProcessEvent[] = []
  for await (const event of followProcess(client, processId)) events.push(event)
  const end = events.at(-1)
  assert.ok(end?.event === 'end')
  assert.equal(end.state, 'completed')
  assert.ok(end.result)
  assert.equal((await getProcess(client, processId)).state, 'completed')
  await assert.rejects(startProcess(client, 'nothing'), { code: 'not-found' })
  await assert.rejects(startProcess(await openAs(ruth), 'verify'), { code: 'access-denied' })
})

test('CL11 after a broken line, following goes on with the line of the log that comes next', async t => {
  const { line, openAs, service } = await startClientWorld(t)
  const client = await openAs(root)
  const runner = createProcesses(service.storage)
  let begun = (_id: number) => {}
  const id = new Promise<number>(resolve => {
    begun = resolve
  })
  const lines = 6
  const work = runner.follow(
    { kind: 'verify', eperson: null, parameters: {} },
    async run => {
      begun(run.id)
      for (let n = 1; n <= lines; n++) {
        run.log(`line ${n}`)
        await sleep(300)
      }
      return null
    },
    () => null,
  )
  let broken = 0
  line.fault = ({ path }) =>
    path.endsWith('/events') && broken++ < 2 ? { answerBreaksAfter: 250 } : undefined
  const log: string[] = []
  for await (const event of followProcess(client, await id)) if (event.event === 'log') log.push(event.text)
  await work
  assert.deepEqual(
    log,
    Array.from({ length: lines }, (_, n) => `line ${n + 1}`),
  )
  assert.ok(broken > 2)
})

test('CL11 a process is cancelled, and a signal ends following it', async t => {
  const { openAs, service } = await startClientWorld(t)
  const client = await openAs(root)
  const runner = createProcesses(service.storage)
  let begun = (_id: number) => {}
  const id = new Promise<number>(resolve => {
    begun = resolve
  })
  const work = runner
    .follow(
      { kind: 'verify', eperson: null, parameters: {} },
      run => {
        begun(run.id)
        return new Promise<null>((_, reject) =>
          run.signal.addEventListener('abort', () => reject(run.signal.reason)),
        )
      },
      () => null,
    )
    .catch(() => 'cancelled')
  const leaving = new AbortController()
  await assert.rejects(async () => {
    for await (const _ of followProcess(client, await id, { signal: leaving.signal }))
      leaving.abort(new Error('left'))
  }, /left/)
  await cancelProcess(client, await id)
  const states: string[] = []
  for await (const event of followProcess(client, await id))
    if (event.event === 'end') states.push(event.state)
  await work
  assert.deepEqual(states, ['cancelled'])
})
