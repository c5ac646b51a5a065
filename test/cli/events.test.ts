import assert from 'node:assert/strict'
import { withoutBar } from '../support/data/archives.ts'
import { addEvents, storedEvents, tamper, withStorage } from '../support/data/trail.ts'
import { assertRefused } from '../support/service/commands.ts'
import { test } from '../support/service/engines.ts'
import { carrel, type Finished } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

function assertDone({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.match(withoutBar(stderr), /^(carrel: the last checkpoint is \d+:[0-9a-f]{64}\n)?$/)
  return stdout
}

test('D9 D8 events verify prints the last checkpoint, and its exit code tells whether there are faults', async t => {
  const dataFolder = temporaryFolder(t)
  await withStorage(dataFolder, storage => addEvents(storage, 30))
  const printed = assertDone(await carrel(dataFolder, ['events', 'verify']))
  assert.match(printed, /^30 events and 2 checkpoints: all as they were written\.\n/)
  const name = printed.trim().split('\n').at(-1) ?? ''
  assert.match(name, /^2:[0-9a-f]{64}$/)
  assertDone(await carrel(dataFolder, ['events', 'verify', '--checkpoint', name]))
  const other = await carrel(dataFolder, ['events', 'verify', '--checkpoint', `2:${'0'.repeat(64)}`])
  assert.equal(other.code, 1)
  assert.match(other.stdout, /^the checkpoint 2:0+ is not in the trail\n1 faults?\.\n/)

  await tamper(dataFolder, "UPDATE event SET reason = 'a\nb' WHERE id > 3")
  const faulty = await carrel(dataFolder, ['events', 'verify', '--max', '2', '--json'])
  assert.equal(faulty.code, 1)
  const { faults } = JSON.parse(faulty.stdout) as {
    faults: { event: number; time: string; problem: string }[]
  }
  assert.deepEqual(
    faults.map(({ event, problem }) => [event, problem]),
    [
      [4, 'it was changed, inserted or moved'],
      [5, 'it was changed, inserted or moved'],
    ],
  )
  for (const args of [
    ['--max', '0'],
    ['--checkpoint', 'x'],
  ])
    assertRefused(await carrel(dataFolder, ['events', 'verify', ...args]), 2, /--(max|checkpoint) takes/)
})

test('D9 D8 events export writes NDJSON or CSV of a range of time, and prune removes what is older', async t => {
  const dataFolder = temporaryFolder(t)
  await withStorage(dataFolder, storage => addEvents(storage, 1_234))
  const all = assertDone(await carrel(dataFolder, ['events', 'export']))
  const events = all
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { id: number; time: string; object: string; hash: string })
  assert.equal(events.length, 1_234)
  assert.equal(events[7]?.object, 'group 7')
  assert.match(events[7]?.hash ?? '', /^[0-9a-f]{64}$/)
  const [since = '', until = ''] = [events[100]?.time, events[900]?.time]
  const some = assertDone(
    await carrel(dataFolder, ['events', 'export', '--since', since, '--until', until, '--format', 'csv']),
  )
  const expected = events.filter(({ time }) => time >= since && time < until)
  const [header, ...lines] = some.trimEnd().split('\r\n')
  assert.match(header ?? '', /^id,chain,place,time,event,/)
  assert.deepEqual(
    lines.map(line => Number(line.split(',')[0])),
    expected.map(({ id }) => id),
  )

  const pruned = assertDone(await carrel(dataFolder, ['events', 'prune', '--before', until, '--json']))
  const removed = events.filter(({ time }) => time < until).length
  assert.deepEqual(JSON.parse(pruned), { removed, before: until })
  assert.match(
    assertDone(await carrel(dataFolder, ['events', 'verify'])),
    /events were pruned, the last before/,
  )
  const left = await withStorage(dataFolder, storedEvents)
  assert.deepEqual(left.map(({ event, object }) => [event, object]).slice(-1), [['events.prune', until]])
  assert.equal(left.length, 1_234 - removed + 1)
  for (const before of ['yesterday', '2999-01-01', '2026-02-31T00:00:00'])
    assertRefused(await carrel(dataFolder, ['events', 'prune', '--before', before]), 2, /--before takes/)
})
