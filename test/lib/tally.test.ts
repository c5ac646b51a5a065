import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bounds, createRows, Tally } from '../../src/lib/tally.ts'

/** Returns the tallies of two event loops that share their rows. */
function two() {
  const rows = createRows(2)
  return [0, 1].map(own => {
    const tally = new Tally({ ...rows, own })
    const count = tally.counter('total', 'All.').with({ kind: 'a' })
    const open = tally.gauge('open', 'Now.', { byLoop: true }).with({ kind: 'b' })
    const delay = tally.histogram('delay_seconds', 'How late.').with({})
    return { tally, count, open, delay }
  })
}

test('D5 each event loop counts in its own row, which all can read', () => {
  const [first, second] = two()
  assert.ok(first && second)
  first.count.add()
  first.count.add()
  second.count.add()
  second.open.change(3)
  second.open.change(-1)
  const valueIn = (reader: Tally, loop: number, family: number) => reader.read(loop)[family]?.values[0]
  for (const { tally } of [first, second]) {
    assert.equal(tally.loops, 2)
    assert.deepEqual(valueIn(tally, 0, 0), { labels: { kind: 'a' }, value: 2 })
    assert.deepEqual(valueIn(tally, 1, 0), { labels: { kind: 'a' }, value: 1 })
    assert.deepEqual(valueIn(tally, 1, 1), { labels: { worker: '1', kind: 'b' }, value: 2 })
  }
})

test('D5 a histogram counts what is at most a bound in its bucket and in all above', () => {
  const [first] = two()
  assert.ok(first)
  for (const seconds of [0, 0.001, 0.0011, 10, 1000]) first.delay.observe(seconds)
  const values = first.tally.read(0)[2]?.values ?? []
  const of = (le: string) => values.find(({ labels }) => labels.le === le)?.value
  assert.equal(of('0.001'), 2)
  assert.equal(of('0.0025'), 3)
  assert.equal(of('5'), 3)
  assert.equal(of('10'), 4)
  assert.equal(of('+Inf'), 5)
  assert.equal(values.length, bounds.length + 3)
  assert.equal(values.at(-1)?.value, 5)
  assert.ok(Math.abs((values.at(-2)?.value ?? 0) - 1010.0021) < 1e-9)
})

test('D5 a loop that replaces another goes on with what that one had counted', () => {
  const rows = createRows(1)
  for (const round of [1, 2, 3]) {
    const tally = new Tally({ ...rows, own: 0 })
    tally.counter('total', 'All.').with({}).add()
    assert.equal(tally.read(0)[0]?.values[0]?.value, round)
  }
})

test('D5 a series that is made later has the same place in all event loops, and is read whichever loop has made it', () => {
  const rows = createRows(2)
  const [first, second] = [0, 1].map(own => {
    const tally = new Tally({ ...rows, own })
    const family = tally.counter('total', 'All.')
    const later = ['a', 'b'].map(kind => tally.postpone(1, places => family.with({ kind }, false, places)))
    return { tally, later, after: family.with({ kind: 'after' }, false) }
  })
  assert.ok(first && second)
  first.after.add()
  first.later[1]?.().add()
  first.later[1]?.().add()
  second.later[0]?.().add()
  const counted = (reader: Tally, loop: number) =>
    reader
      .read(loop)[0]
      ?.values.map(({ labels, value }) => `${labels.kind} ${value}`)
      .sort()
  for (const { tally } of [first, second]) {
    assert.deepEqual(counted(tally, 0), ['after 1', 'b 2'])
    assert.deepEqual(counted(tally, 1), ['a 1'])
  }
})

test('D5 there is a limit of metrics, and room is known before', () => {
  const tally = new Tally({ ...createRows(1), own: 0 })
  const family = tally.histogram('delay_seconds', 'How late.')
  let made = 0
  while (tally.hasRoom(0)) {
    family.with({ n: String(made) })
    made++
  }
  assert.ok(made > 500, `${made}`)
  assert.throws(() => family.with({ n: 'one more' }), /no room/)
})
