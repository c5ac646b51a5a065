import assert from 'node:assert/strict'
import { createProcesses } from '../../../src/admin/processes/processes.ts'
import { tidyProcesses } from '../../../src/cli/housekeeping.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Store } from '../../../src/features.ts'
import { OperatorError } from '../../../src/lib/errors.ts'
import { Overloaded } from '../../../src/lib/fair-queue.ts'
import type { NewProcess, ProcessState, Run } from '../../../src/model/processes.ts'
import { test, testOnOne } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const asked: NewProcess = { kind: 'verify', eperson: null, parameters: { entity: 'books' } }

const aborted = ({ signal }: Run) =>
  new Promise<null>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

/** Waits until the process is in this state. */
async function reaches({ processes }: Store, id: number, state: ProcessState) {
  const found = await until(
    `process ${id} in the state ${state}`,
    () => processes.one(id),
    one => one?.state === state,
  )
  assert.ok(found)
  return found
}

test('a process is kept with what it says, and what it makes', async t => {
  const { storage } = await startService(t)
  const runner = createProcesses(storage)
  const result = await runner.follow(
    asked,
    async run => {
      run.log('one\ttwo\u0000\n')
      run.progress({ done: 3, total: 4, unit: 'records' })
      return { records: 4 }
    },
    value => value,
  )
  assert.deepEqual(result, { records: 4 })
  const { rows, total } = await storage.processes.find(
    { order: { by: 'id', falling: true } },
    { offset: 0, limit: 5 },
  )
  assert.equal(total, 1)
  const [found] = rows
  assert.ok(found?.ended)
  const { id, begun, ended, ...rest } = found
  assert.deepEqual(rest, {
    ...asked,
    state: 'completed',
    progress: { done: 3, total: 4, unit: 'records' },
    result: { records: 4 },
    fault: null,
  })
  const { lines, left } = await storage.processes.lines(id, 0, 10)
  assert.deepEqual([lines.map(({ n, text }) => [n, text]), left], [[[1, 'one two  ']], 0])
})

testOnOne('a fault is told if it is meant for a reader, and is not otherwise', async t => {
  const { storage } = await startService(t)
  const reported: unknown[] = []
  const runner = createProcesses({ ...storage, report: (_, fault) => reported.push(fault) })
  for (const [fault, told] of [
    [new OperatorError('line 3 has no key'), 'line 3 has no key'],
    [new Error('secret'), 'The service failed. Its log says why.'],
  ] as const) {
    const { id } = await runner.start(asked, () => Promise.reject(fault))
    assert.equal((await reaches(storage, id, 'failed')).fault, told)
  }
  assert.deepEqual(
    reported.map(fault => (fault as Error).message),
    ['secret'],
  )
})

test('as many processes run at once as may; others wait, or are refused', async t => {
  const { storage } = await startService(t)
  const runner = createProcesses({ ...storage, atOnce: 1 })
  const ends: (() => void)[] = []
  const work = () => new Promise<null>(resolve => ends.push(() => resolve(null)))
  const first = await runner.start(asked, work)
  const others = await Promise.all(Array.from({ length: 20 }, () => runner.start(asked, work)))
  assert.equal(first.state, 'running')
  assert.ok(others.every(({ state }) => state === 'scheduled'))
  await assert.rejects(runner.start(asked, work), Overloaded)
  const next = Math.min(...others.map(({ id }) => id))
  ends[0]?.()
  await reaches(storage, next, 'running')
  const found = await storage.processes.find(
    { states: ['scheduled'], order: { by: 'id', falling: false } },
    { offset: 0, limit: 1 },
  )
  assert.equal(found.total, 19)
  await runner.close()
})

test('a process is cancelled wherever someone asks', async t => {
  const { storage } = await startService(t)
  const runner = createProcesses({ ...storage, atOnce: 1 })
  const running = await runner.start(asked, aborted)
  const waiting = await runner.start(asked, aborted)
  const event = commandEvent('process.cancel')
  assert.equal(await storage.processes.cancel(waiting.id, event), 'scheduled')
  assert.equal((await reaches(storage, waiting.id, 'cancelled')).fault, 'The process was cancelled.')
  assert.equal(await storage.processes.cancel(running.id, event), 'running')
  await reaches(storage, running.id, 'cancelled')
  assert.equal(await storage.processes.cancel(running.id, event), 'cancelled')
  assert.equal(await storage.processes.cancel(99, event), undefined)
})

test('a service that stops interrupts what runs and what waits', async t => {
  const { storage } = await startService(t)
  const runner = createProcesses({ ...storage, atOnce: 1 })
  const { id } = await runner.start(asked, aborted)
  const waiting = await runner.start(asked, aborted)
  await runner.close()
  for (const one of [id, waiting.id]) assert.equal((await storage.processes.one(one))?.state, 'interrupted')
  await assert.rejects(runner.start(asked, aborted), Overloaded)
})

test('what nobody has heard of for a minute counts as interrupted, and its owner gives it up', async t => {
  const { storage } = await startService(t)
  const { processes } = storage
  const place = { owner: JSON.stringify(['elsewhere', 1, null]), atOnce: null, waiting: 0 }
  const lost = await processes.begin(asked, place)
  assert.ok(lost && 'state' in lost)
  assert.equal(lost.state, 'running')
  await tidyProcesses(processes, Date.now())
  assert.equal((await processes.one(lost.id))?.state, 'running', 'another machine may still run it')
  await processes.interrupt([place.owner])
  const news = { progress: null, lines: [], written: 0 }
  assert.equal(await processes.keep(lost.id, place.owner, news), 'lost')
  const how = { state: 'completed', result: null, fault: null } as const
  assert.equal(await processes.end(lost.id, place.owner, how, news), false)
  assert.equal((await processes.one(lost.id))?.state, 'interrupted')
})

test('what a program of this machine left is interrupted at once, also if its number was given again', async t => {
  const { storage } = await startService(t)
  const { processes } = storage
  const { hostname } = await import('node:os')
  const place = { owner: JSON.stringify([hostname(), process.pid, '1']), atOnce: null, waiting: 0 }
  const lost = await processes.begin(asked, place)
  assert.ok(lost && 'id' in lost)
  const runner = createProcesses(storage)
  const own = await runner.start(asked, aborted)
  await tidyProcesses(processes, Date.now())
  assert.equal((await processes.one(lost.id))?.state, 'interrupted')
  assert.equal((await processes.one(own.id))?.state, 'running')
  await runner.close()
})

test('a log keeps its first lines and counts the others; a line is no longer than it may be', async t => {
  const { storage } = await startService(t)
  const runner = createProcesses(storage)
  await runner.follow(
    asked,
    async run => {
      run.log('x'.repeat(5_000))
      for (let n = 0; n < 2_500; n++) run.log(`line ${n}`)
      return null
    },
    value => value,
  )
  const [{ id } = { id: 0 }] = (
    await storage.processes.find({ order: { by: 'id', falling: true } }, { offset: 0, limit: 1 })
  ).rows
  const { lines, left } = await storage.processes.lines(id, 0, 5_000)
  assert.deepEqual([lines.length, left, lines[0]?.text.length], [2_000, 501, 1_000])
})

test('only processes that have ended are removed, and old ones are pruned', async t => {
  const { storage } = await startService(t)
  const { processes } = storage
  const runner = createProcesses(storage)
  const { id } = await runner.start(asked, aborted)
  const event = commandEvent('process.delete')
  assert.equal(await processes.remove(id, event), 'running')
  assert.ok(await processes.one(id))
  await processes.cancel(id, commandEvent('process.cancel'))
  await reaches(storage, id, 'cancelled')
  assert.equal(await processes.remove(id, event), 'cancelled')
  assert.equal(await processes.one(id), undefined)
  assert.equal(await processes.remove(id, event), undefined)
  for (let n = 0; n < 5; n++)
    await runner.follow(
      asked,
      async () => null,
      value => value,
    )
  await processes.prune('2000-01-01T00:00:00.000Z', 3)
  const all = { order: { by: 'id', falling: true } } as const
  assert.equal((await processes.find(all, { offset: 0, limit: 9 })).total, 3)
  await processes.prune('9999-01-01T00:00:00.000Z', 3)
  assert.equal((await processes.find(all, { offset: 0, limit: 9 })).total, 0)
})
