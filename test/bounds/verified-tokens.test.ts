import assert from 'node:assert/strict'
import { createTickets } from '../../src/authn/tickets.ts'
import { createTokens, verifiedTokens } from '../../src/authn/tokens.ts'
import { commandEvent } from '../../src/cli/store.ts'
import type { Store } from '../../src/features.ts'
import { beginsNow } from '../support/data/sessions.ts'
import { storeTests } from '../support/service/stores.ts'

const test = storeTests()

/** Logs an eperson in, through the store alone. */
async function logIn({ people, sessions }: Store, email: string) {
  const person = { email, firstName: null, lastName: null, passwordHash: 'a hash', administrator: false }
  await people.addEperson(person, commandEvent('eperson.add'))
  const known = await people.credentials(email)
  assert.ok(known)
  const { uuid, passwordStamp } = known
  const event = { ...commandEvent('login'), eperson: uuid, method: 'password' as const }
  const begun = await sessions.begin({ uuid, passwordStamp, renewedHash: null, begins: beginsNow() }, event)
  assert.ok(begun)
  return { ...begun, method: 'password' as const }
}

function tokensOf({ clock, identities, secrets, sessions }: Store, verified = verifiedTokens()) {
  return createTokens({
    ...{ clock, sessions, verified },
    config: {
      ...{ sessionLifetime: null, tokenLifetime: 100_000 },
      ...{ secondFactor: 'optional', secondFactorLogins: 'password' },
    },
    keyring: secrets.current,
    loginMethods: ['password'],
    tickets: createTickets(identities, clock),
    mayAct: false,
    measures: { tokenRefused: () => {} },
  })
}

for (const [what, sg, max, maxBytes] of [
  ['number', [], 20, Number.POSITIVE_INFINITY],
  ['bytes', Array.from({ length: 50 }, () => crypto.randomUUID()), 10_000, 1_000_000],
] as const)
  test(`T4 T8 a client that sends more valid tokens than are remembered, by ${what}, gets the right answers until its session ends`, async storage => {
    const verified = verifiedTokens(max, maxBytes)
    const tokens = tokensOf(storage, verified)
    const hostile = await logIn(storage, `hostile-${what}@example.org`)
    const other = await logIn(storage, `other-${what}@example.org`)
    const others = tokens.mint('login', { ...other, sg: [] }, 600)
    const all = Array.from({ length: 100 }, (_, n) => tokens.mint('login', { ...hostile, sg }, 1_000 + n))
    assert.equal(new Set(all).size, all.length)

    // The second time, the tokens come in the order in which the oldest is always the one that was dropped.
    for (const token of [...all, ...all]) {
      const found = await tokens.verify('login', token)
      assert.equal(found?.session.eperson.uuid, hostile.session.eperson.uuid)
      assert.deepEqual(found?.sg, sg)
      const forged = `${token.slice(0, -4)}${token.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`
      assert.equal(await tokens.verify('login', forged), undefined)
      assert.equal((await tokens.verify('login', others))?.session.eperson.uuid, other.session.eperson.uuid)
      assert.ok(verified.size > 1 && verified.size <= max, `${verified.size} tokens`)
      assert.ok(verified.bytes <= maxBytes, `${verified.bytes} bytes`)
    }
    assert.ok(verified.size < all.length)
    // Many at once are verified before any of them is remembered.
    await Promise.all([...all, ...all].map(token => tokens.verify('login', token)))
    assert.ok(verified.size <= max && verified.bytes <= maxBytes)

    const { uuid } = hostile.session.eperson
    await storage.sessions.logout(uuid, { ...commandEvent('logout'), eperson: uuid })
    for (const token of all) assert.equal(await tokens.verify('login', token), undefined)
    assert.deepEqual([verified.size, verified.bytes], [0, 0])
    assert.ok(await tokens.verify('login', others))
    assert.equal(verified.size, 1)
    await storage.sessions.logout(other.session.eperson.uuid, {
      ...commandEvent('logout'),
      eperson: other.session.eperson.uuid,
    })
    assert.equal(await tokens.verify('login', others), undefined)
    assert.deepEqual([verified.size, verified.bytes], [0, 0])
  })
