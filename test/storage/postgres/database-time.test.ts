import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseTime } from '../../../src/storage/postgres/shared-state.ts'

/** The database's clock less the monotonic one. */
const lead = 1_800_000_000_000

/** A clock with the readings of look-ups, each with the times before and after the database's answer. */
function clockAfter(...lookUps: readonly (readonly [before: number, after: number, ahead?: number])[]) {
  const time = databaseTime()
  const begun = performance.now()
  let at = begun
  for (const [before, after, ahead = 0] of lookUps) {
    const sent = at
    at += before + after
    time.read({ sent, received: at, now: Math.round(sent + before + lead + ahead) })
  }
  return { error: () => time.now() - performance.now() - lead }
}

const assertWithin = (error: number, bound: number) => assert.ok(Math.abs(error) <= bound, `${error} ms off`)

test('T2 an event loop knows the time of the database within half of its fastest look-up', () => {
  assertWithin(clockAfter([1, 1]).error(), 3)
  assertWithin(clockAfter([2, 2], [400, 0], [0, 400], [300, 300]).error(), 4 + 0.001 * 1_400 + 1)
})

test('T2 an event loop that was paused during a look-up loses nothing', () => {
  assertWithin(clockAfter([2, 2], [1, 4_000], [4_000, 1]).error(), 4 + 0.001 * 8_000 + 1)
})

test('T2 an event loop follows a database whose clock was set, or another server, with one look-up', () => {
  for (const ahead of [-60_000, 60_000, 900])
    assertWithin(clockAfter([1, 1], [1, 1], [1, 1, ahead]).error() - ahead, 3)
})
