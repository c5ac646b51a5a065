import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClock, nextMark } from '../../../src/storage/statements/clock.ts'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]
const time = Date.UTC(2026, 0, 1)

/** Returns the marks of successive minutes, with a clock that is ahead by these times. */
function minutes(ahead: readonly number[]): number[] {
  let mark = time
  let suspect: Parameters<typeof nextMark>[2]
  return ahead.map((difference, n) => {
    const at = n * minute
    const next = nextMark(Math.max(mark, time + at), { wall: time + at + difference, at }, suspect)
    ;({ mark, suspect } = next)
    return mark - time - at
  })
}

test('T11 the mark follows a clock that goes on, or is at most a day ahead', () => {
  assert.deepEqual(minutes([0, 0, 500, hour, day]), [0, 0, 500, hour, day])
})

test('T11 the mark never goes back', () => {
  assert.deepEqual(minutes([0, -day, -hour, 0]), [0, 0, 0, 0])
})

test('T11 a clock far ahead moves the mark only when it has gone on for ten minutes', () => {
  const ahead = 400 * day
  const held = minutes(Array(12).fill(ahead))
  assert.deepEqual(held, [...Array(10).fill(0), ahead, ahead])
  assert.deepEqual(minutes([ahead, ahead, 0, ...Array(5).fill(ahead)]), Array(8).fill(0))
  // A clock that keeps jumping ahead is never followed.
  assert.deepEqual(minutes(Array.from({ length: 30 }, (_, n) => ahead + n * hour)), Array(30).fill(0))
})

/** Creates a clock with a store in memory that behaves like the statements of the engines. */
function clockWith(mark: number) {
  const store = { mark }
  const clock = createClock({
    read: () => store.mark,
    raise: async (to, from) => {
      if (store.mark < to && store.mark >= from) store.mark = to
    },
  })
  return { store, clock }
}

test('T11 time goes on from the mark while the clock is behind', async t => {
  const start = Date.now()
  const { store, clock } = clockWith(start + hour)
  const now = clock.now()
  assert.ok(now >= start + hour)
  assert.ok(clock.behind() > hour - minute)
  // Real time passes, which the machine's clock doesn't show.
  while (clock.now() === now);
  t.mock.timers.enable({ apis: ['Date'], now: start - day })
  assert.ok(clock.now() > now)
  await clock.advance()
  assert.ok(store.mark > start + hour)
})

test('T11 the machine’s clock counts while it is ahead, and a mark that was reset is obeyed', async () => {
  const { store, clock } = clockWith(Date.now() - hour)
  assert.ok(Math.abs(clock.now() - Date.now()) < minute)
  await clock.advance()
  assert.ok(Math.abs(store.mark - Date.now()) < minute)
  store.mark += 3 * day
  assert.ok(clock.now() > Date.now() + 2 * day)
  store.mark = Date.now()
  assert.ok(Math.abs(clock.now() - Date.now()) < minute)
  assert.equal(clock.behind() < minute, true)
})

test('T11 what expired is kept before it is told, with a write a second at most', async t => {
  let writes = 0
  const store = { mark: Date.now() - minute }
  const clock = createClock({
    read: () => store.mark,
    raise: async to => {
      writes++
      store.mark = to
    },
  })
  const expired = Date.now() - 1
  await Promise.all(Array.from({ length: 100 }, () => clock.keep(expired)))
  assert.ok(clock.kept() >= expired)
  await clock.keep(expired)
  assert.equal(writes, 1)
  const begun = performance.now()
  await Promise.all(Array.from({ length: 100 }, (_, n) => clock.keep(store.mark + n + 1)))
  assert.ok(writes <= 1 + Math.ceil((performance.now() - begun) / 1_000), `${writes} writes`)
  // A clock that is far ahead keeps nothing.
  const { mark } = store
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 400 * day })
  await clock.keep(Date.now())
  assert.ok(store.mark < mark + hour)
})

test('T11 the first mark is whatever the clock says', async () => {
  const { store, clock } = clockWith(0)
  await clock.advance()
  assert.ok(Math.abs(store.mark - Date.now()) < minute)
})

test('T11 event loops go on from the same time when the clock they follow is set back', t => {
  // A pause of the machine between two looks would be a large step.
  t.mock.method(performance, 'now', () => 1_000)
  let ahead = time
  const wall = () => ahead
  const loops = [wall(), wall()].map(mark => createClock({ read: () => mark, raise: async () => {} }, wall))
  // One looks more often than the other. Only small steps are followed before a mark is written.
  for (let n = 0; n < 50; n++) {
    ahead += 40
    loops[1]?.now()
    if (n % 2 === 1) loops[0]?.now()
  }
  ahead -= minute
  const [one = 0, other = 0] = loops.map(clock => clock.now())
  assert.ok(Math.abs(one - other) < 100, `${one - other} ms`)
  assert.ok(one - time > 1_900, `${one - time} ms`)
  ahead += hour
  assert.ok((loops[0]?.certain() ?? 0) < wall() - minute, 'an hour ahead for a moment')
})
