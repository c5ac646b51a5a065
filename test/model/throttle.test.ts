import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkPrefix, siteOf } from '../../src/lib/addresses.ts'
import { type Count, type Scope, waitFor, withFailure } from '../../src/model/throttle.ts'

test('L8 a network is an IPv4 address, or 64 bits of an IPv6 address', () => {
  for (const [address, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['2001:db8:1:2:3::', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1:2:3:4', 'fe80:0:0:0::/64'],
    [null, 'unknown'],
  ] as const)
    assert.equal(networkPrefix(address), network)
})

test('L8 Q18 a site is an IPv4 address, or 48 bits of an IPv6 address', () => {
  for (const [address, site] of [
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:db8:1:ffff::6', '2001:db8:1::/48'],
    ['2001:db8:2::6', '2001:db8:2::/48'],
    ['::1', '0:0:0::/48'],
    [null, 'unknown'],
  ] as const)
    assert.equal(siteOf(address), site)
})

const hour = 3_600_000

/** Guesses as soon as possible, with the rests that `rest` returns. @returns the time of each guess */
function guesses(isFamiliar: boolean, hours: number, rest: (count: number) => number): number[] {
  let counts: ReadonlyMap<Scope, Count> = new Map()
  const times: number[] = []
  for (let now = 1e12; now < 1e12 + hours * hour; ) {
    const wait = waitFor(counts, isFamiliar, now)
    if (wait === 0) {
      counts = new Map([...counts, ...withFailure(counts, isFamiliar, now)])
      times.push(now)
    }
    now += wait + (wait === 0 ? rest(times.length) : 0)
  }
  return times
}

/** Returns the highest number of guesses within any hour. */
const mostInAnHour = (times: readonly number[]) =>
  Math.max(...times.map((time, at) => times.slice(at).filter(one => one - time < hour).length))

test('L8 whatever rest it takes, an account gets at most 100 guesses in any hour', () => {
  const rests: readonly ((count: number) => number)[] = [
    () => 0,
    count => (count % 20 === 0 ? 2 * hour : 0),
    count => (count % 27 === 0 ? 600_000 : 0),
    count => (count % 3 === 0 ? 61_000 : 1),
    () => 600_000,
    () => 59_999,
  ]
  for (const isFamiliar of [true, false])
    for (const [at, rest] of rests.entries()) {
      const most = mostInAnHour(guesses(isFamiliar, 48, rest))
      assert.ok(most <= 100, `${most} guesses in an hour, rest ${at}, familiar: ${isFamiliar}`)
    }
})

test('L8 after days of guessing it takes less than ten hours until nothing is left of it', () => {
  let counts: ReadonlyMap<Scope, Count> = new Map()
  for (let at = 0; at < 10_000; at++) counts = withFailure(counts, false, at * 60_000)
  const end = 10_000 * 60_000
  assert.equal(waitFor(counts, false, end + 600_000), 0)
  const [first, second] = [withFailure(counts, false, end + 10 * hour), withFailure(new Map(), false, end)]
  assert.deepEqual(
    [...first.values()].map(({ level }) => level),
    [...second.values()].map(({ level }) => level),
  )
})

/** Guesses as soon as the throttle allows. @returns the pause after each guess, in s */
function pausesOf(isFamiliar: boolean, count: number): number[] {
  let counts: ReadonlyMap<Scope, Count> = new Map()
  let now = 1e12
  return Array.from({ length: count }, () => {
    counts = withFailure(counts, isFamiliar, now)
    const pause = waitFor(counts, isFamiliar, now)
    now += pause
    return Math.round(pause / 1000)
  })
}

test('L8 every further wrong password doubles the pause, up to ten minutes, or one from a familiar network', () => {
  const none = (count: number) => Array<number>(count).fill(0)
  assert.deepEqual(pausesOf(false, 16).slice(0, 16), [...none(9), 1, 2, 4, 8, 16, 32, 64])
  assert.equal(Math.max(...pausesOf(false, 100)), 600)
  assert.deepEqual(pausesOf(true, 26), [...none(19), 1, 2, 4, 8, 16, 32, 60])
  assert.equal(Math.max(...pausesOf(true, 100)), 60)
})

test('L8 of an account twenty guesses from everywhere are free, of a network fifty, and of a site four hundred', () => {
  const free = (scope: Scope) => {
    let count: Count | undefined
    for (let guesses = 1; ; guesses++) {
      count = withFailure(new Map(count && [[scope, count]]), false, 1e12).get(scope)
      assert.ok(count)
      if (waitFor(new Map([[scope, count]]), false, 1e12) > 0) return guesses
    }
  }
  assert.deepEqual(
    (['account-and-network', 'account', 'network', 'site'] as const).map(free),
    [10, 20, 50, 400],
  )
})

test('L8 a clock that is set back keeps nobody out, and lets nobody guess on', () => {
  const then = 1e12
  let counts: ReadonlyMap<Scope, Count> = new Map()
  for (let at = 0; at < 15; at++) counts = withFailure(counts, false, then)
  assert.ok(waitFor(counts, false, then) > 0)
  // All counted guesses are now a day in the future.
  const now = then - 24 * hour
  assert.equal(waitFor(counts, false, now), 0)
  const wait = waitFor(withFailure(counts, false, now), false, now)
  assert.ok(wait > 1_000 && wait <= 64_000, String(wait))
})
