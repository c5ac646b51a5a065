import assert from 'node:assert/strict'
import { test } from 'node:test'
import { peopleNames } from '../../../src/storage/statements/people-names.ts'
import { repeats } from '../../support/scale.ts'

/** The order of addresses in the store: that of their bytes. */
const inOrder = (emails: Iterable<string>) =>
  [...emails].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))

/** The same without a list. */
function plainly(
  people: ReadonlyMap<string, string>,
  text: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  also: string | undefined,
  isOne: (email: string) => boolean,
) {
  const found = inOrder(people.keys()).filter(
    email => (email === also || email.includes(text) || people.get(email)?.includes(text)) && isOne(email),
  )
  return { emails: found.slice(offset, offset + limit), total: found.length }
}

test('S4 the list of names finds what a look at everybody finds, whatever has changed before', () => {
  let seed = 7
  const below = (most: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % most
  }
  const parts = ['ann', 'bo', 'ß', '😀', '\ue000', 'ｆ', 'o', 'nn', '']
  const part = () => parts[below(parts.length)] ?? ''
  const emailOf = (n: number) => `${part()}${n % 700}@${part()}x.org`
  const people = new Map<string, string>(
    Array.from({ length: 900 }, (_, n) => [emailOf(n), `${part()} ${part()}`] as const),
  )
  const names = peopleNames()
  for (const email of inOrder(people.keys())) names.append(email, people.get(email) ?? '')
  const groups = { few: new Set<string>(), half: new Set<string>(), 'half of before': new Set<string>() }
  for (const [at, email] of [...people.keys()].entries()) {
    if (at % 90 === 0) groups.few.add(email)
    if (at % 2 === 0) groups.half.add(email)
  }
  const isIn = (email: string) =>
    Object.entries(groups).flatMap(([name, one]) => (one.has(email) ? [name] : []))
  // Of those who aren't in the list yet, nothing is known.
  for (const [name, one] of Object.entries(groups)) names.keep(name, inOrder([...one, 'a@a', 'zz@zz']))
  assert.deepEqual(names.groups, Object.keys(groups))
  const rounds = repeats(300, 1_200)
  for (let round = 0; round < rounds; round++) {
    const known = [...people.keys()]
    const email = below(3) === 0 ? emailOf(below(5_000)) : (known[below(known.length)] ?? emailOf(round))
    // First many go, then many come.
    const name = below(4) < (round < rounds / 2 ? 3 : 0) ? null : `${part()} ${part()}${round % 10}`
    for (const group of Object.values(groups))
      if (name === null) group.delete(email)
      else if (below(3) === 0) below(2) === 0 ? group.add(email) : group.delete(email)
    names.set(email, name, isIn(email))
    if (name === null) people.delete(email)
    else people.set(email, name)
    if (round % 10 > 0) continue
    const window = { offset: below(3) === 0 ? 0 : below(people.size + 5), limit: 1 + below(40) }
    const also = below(2) === 0 ? undefined : (known[below(known.length)] ?? '')
    const group = (['few', 'half', 'half of before'] as const)[below(3)] ?? 'few'
    const is = below(2) === 0
    const who = below(3) === 0 ? undefined : { group, is }
    const isOne = (email: string) => who === undefined || groups[group].has(email) === is
    // Again: totals are remembered.
    for (const text of [part(), part() + part(), 'nn@', '.org', ' ', 'g\0', 'n b', String(below(100)), ''])
      for (const limit of [window.limit, window.limit + 1]) {
        const asked = [text, { ...window, limit }, text.includes('\0') ? undefined : also] as const
        assert.deepEqual(
          names.find(...asked, who),
          plainly(people, ...asked, isOne),
          JSON.stringify([...asked, who]),
        )
      }
    assert.equal(names.size, people.size)
  }
})

test('S4 the list knows the groups that were asked for last', () => {
  const names = peopleNames()
  names.append('a@x', 'a')
  for (let n = 0; n < 16; n++) names.keep(`g${n}`, n % 2 === 0 ? ['a@x'] : [])
  assert.ok(names.keeps('g0'))
  names.keep('g16', ['a@x'])
  assert.deepEqual([names.keeps('g1'), names.keeps('g0'), names.keeps('g16')], [false, true, true])
  assert.equal(names.groups.length, 16)
  const found = (group: string) =>
    names.find('', { offset: 0, limit: 1 }, undefined, { group, is: true }).total
  assert.deepEqual([found('g0'), found('g3'), found('g16')], [1, 0, 1])
  // Read once more.
  names.keep('g0', [])
  assert.equal(found('g0'), 0)
})

test('S4 a list of names is too large by their number or by their length', () => {
  const many = peopleNames()
  for (let n = 0; n <= 250_000; n++) {
    assert.ok(!many.isTooLarge)
    many.append(`${1_000_000 + n}@x`, 'a')
  }
  assert.ok(many.isTooLarge)
  many.set('1000000@x', null, [])
  assert.ok(!many.isTooLarge)
  const long = peopleNames()
  for (let n = 0; n < 1_000 && !long.isTooLarge; n++) long.append(`${1_000 + n}@x`, 'é'.repeat(100_000))
  assert.ok(long.isTooLarge && long.size < 200, String(long.size))
})
