import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { commandEvent } from '../../src/cli/store.ts'
import { Client } from '../support/clients/client.ts'
import { sendHalf } from '../support/clients/half-sent.ts'
import { newItem } from '../support/data/editing.ts'
import { repeats } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'
import { anyOf, quickLogin, times } from '../support/service/nodes.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'

/** Number of people whose right ends while the last byte of a change arrives (T12). */
const people = 8
const rounds = repeats(20, 2_500)
const total = people * rounds
/** Time in ms before or after the last byte within which the end is requested. */
const spread = 50

interface Change {
  readonly method: string
  readonly path: string
  readonly type?: string
  readonly body: object
  /** Looks into the store for the change. */
  isMade(): Promise<boolean>
}

const anAccessToken = 'an access token'

/** Returns changes by one eperson, by their results; each has a unique name. */
function changesOf({ address, storage }: Service, uuid: string, item: string) {
  const { accessTokens, people, repository } = storage
  return {
    [anAccessToken]: (name: string): Change => ({
      ...{ method: 'POST', path: '/api/authn/tokens', body: { name } },
      isMade: async () => (await accessTokens.list(uuid)).some(token => token.name === name),
    }),
    'a group': (name: string): Change => ({
      ...{ method: 'POST', path: '/api/eperson/groups', body: { name } },
      isMade: async () => (await people.groupsByName([name])).length > 0,
    }),
    'a profile': (name: string): Change => ({
      method: 'PATCH',
      path: `/api/eperson/epersons/${uuid}`,
      body: [{ op: 'add', path: '/metadata/eperson.phone', value: [{ value: name }] }],
      isMade: async () => (await people.eperson(uuid))?.profile['eperson.phone'] === name,
    }),
    'a record': (name: string): Change => ({
      ...{ method: 'PUT', path: `/api/query/v4/things/${name}`, body: { id: name } },
      isMade: async () => (await fetch(`${address}/api/query/v4/things/${name}`)).status === 200,
    }),
    'an item’s metadata': (name: string): Change => ({
      method: 'PATCH',
      path: `/api/core/items/${item}`,
      body: [{ op: 'add', path: '/metadata/dc.subject/-', value: { value: name } }],
      isMade: async () => JSON.stringify((await repository.item(item))?.metadata).includes(`"${name}"`),
    }),
  }
}

/** Returns ways to end the right on which a change relies, each with a function that restores it. */
const ends = ({ storage, address }: Service, email: string) => {
  const { people } = storage
  return [
    {
      end: async (client: Client) => {
        const own = new Client(address)
        own.token = client.token
        assert.equal((await own.post('/api/authn/logout')).status, 204)
      },
      again: async () => {},
      takesTokens: false,
    },
    {
      end: async () => {
        await people.setEnabled(email, false, commandEvent('eperson.disable'))
      },
      again: async () => {
        await people.setEnabled(email, true, commandEvent('eperson.enable'))
      },
      takesTokens: true,
    },
    {
      end: async () => {
        await people.setPassword({ email }, 'none', commandEvent('eperson.password'))
      },
      again: async () => {},
      takesTokens: true,
    },
  ]
}

test(`T12 of ${total.toLocaleString('en')} changes whose rights end within ${spread} ms of their last byte, none is made after the end`, async t => {
  const dataFolder = temporaryFolder(t)
  const first = await startService(t, { dataFolder })
  const places = [first, await startService(t, { dataFolder })]
  await first.addEperson('admin@example.org', { admin: true })
  const admin = first.client()
  await admin.login('admin@example.org')
  await first.addRecords('things', 'id', [{ id: 'one' }])
  await first.storage.entities.changeWriteRule('things', 'eperson', commandEvent('entity.writers'))
  const counts = { made: 0, refused: 0 }
  await times(people, async person => {
    const email = `person${person}@example.org`
    const { uuid } = await first.addEperson(email, { admin: true })
    const { uuid: item } = await newItem(admin)
    const kinds = Object.entries(changesOf(first, uuid, item))
    for (let round = 0; round < rounds; round++) {
      const client = new Client(anyOf(places).address)
      client.token = await quickLogin(first, email)
      const [kind, make] = kinds[round % kinds.length] ?? assert.fail()
      const { method, path, body, isMade } = make(`n${person}-${round}`)
      const type = 'application/json'
      const sent = await sendHalf(client, path, { method, type, body: JSON.stringify(body) })
      const { end, again, takesTokens } = anyOf(ends(anyOf(places), email))
      const wait = (Math.random() * 2 - 1) * spread
      let hasEnded = false
      const [late, atEnd] = await Promise.all([
        (async () => {
          await delay(Math.max(0, wait))
          const wasEnded = hasEnded
          return { wasEnded, ...(await sent.end()) }
        })(),
        (async () => {
          await delay(Math.max(0, -wait))
          await end(client)
          hasEnded = true
          return isMade()
        })(),
      ])
      const isNow = await isMade()
      const what = `${kind}, round ${round} of ${email}: ${late.status} ${late.text}`
      assert.equal(isNow, atEnd, `nothing is made after the end: ${what}`)
      const wasMade = (late.status ?? 500) < 300
      // A new password also revokes the access tokens (K5).
      if (!(kind === anAccessToken && takesTokens))
        assert.equal(wasMade, isNow, `the answer says what was done: ${what}`)
      assert.ok(wasMade || late.status === 401, what)
      if (late.wasEnded) assert.equal(wasMade, false, `what came after the end is refused: ${what}`)
      counts[wasMade ? 'made' : 'refused']++
      await again()
    }
  })
  // Otherwise the end would always come first, or always last.
  assert.ok(counts.made > total / 10 && counts.refused > total / 10, JSON.stringify(counts))
})
