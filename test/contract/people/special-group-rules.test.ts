import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { administrator } from '../../support/clients/administrator.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { bodyWith, groupsPath } from '../../support/clients/people.ts'
import { withProxy } from '../../support/providers/proxy-flow.ts'
import { from } from '../../support/service/configuration.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf, startService } from '../../support/service/service.ts'

const rulesPath = '/api/admin/special-groups'
const staff = { group: 'Staff', attribute: 'affiliation', value: 'staff' }
const guests = { group: 'Guests', attribute: 'affiliation', pattern: 'guest-(a|b)' }

async function started(t: TestContext) {
  const { CARREL_CONFIG, PROXY_SECRET } = withProxy(t, {
    provider: { groups: [staff, guests] },
    file: {
      specialGroups: {
        ip: [{ group: 'Campus', ranges: ['10.1.0.0/16', '!10.1.9.0/24', '192.0.2.7'] }],
        method: [{ group: 'Local', method: 'password' }],
      },
    },
  }) as Record<string, string>
  const env = { CARREL_CONFIG: CARREL_CONFIG ?? '', PROXY_SECRET: PROXY_SECRET ?? '' }
  const service = await startService(t, { env: { ...env, CARREL_TRUSTED_PROXIES: '127.0.0.1' } })
  return { service, root: await administrator(service) }
}

type Session = Readonly<Record<'method' | 'begun' | 'lastUsed' | 'gives', string>> & {
  readonly lastNetwork: string | null
}
type Rule = { readonly group: { readonly name: string }; readonly sessions?: readonly Session[] }

async function rulesFor(client: Client, query = ''): Promise<readonly Rule[]> {
  const answer = await client.get(`${rulesPath}${query}`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { rules: Rule[] }).rules
}

test('OP9 the rules of special groups are listed as the configuration has them, each with its group', async t => {
  const { service, root } = await started(t)
  const groups = await service.storage.people.listGroups()
  const named = (name: string) => {
    const uuid = groups.find(group => group.name === name)?.uuid
    assert.ok(uuid, name)
    return { group: { uuid, name } }
  }
  const ofProvider = { how: 'attribute', provider: 'apache', method: 'shibboleth', attribute: 'affiliation' }
  assert.deepEqual(await rulesFor(root.client), [
    { ...named('Campus'), how: 'address', ranges: ['10.1.0.0/16', '!10.1.9.0/24', '192.0.2.7'] },
    { ...named('Local'), how: 'method', method: 'password' },
    { ...named('Staff'), ...ofProvider, value: 'staff' },
    { ...named('Guests'), ...ofProvider, pattern: 'guest-(a|b)' },
  ])
})

test('OP9 a group says whether it is special, on its own and in every list', async t => {
  const { service, root } = await started(t)
  await service.storage.people.ensureGroups(['Readers'])
  const special = new Set<string>()
  const plain = new Set<string>()
  for (const path of [groupsPath, `${groupsPath}/search/byMetadata?query=`]) {
    const { _embedded } = (await (await root.client.get(path)).json()) as {
      _embedded: { groups: { uuid: string; name: string; special: boolean }[] }
    }
    for (const { uuid, name, special: is } of _embedded.groups) {
      ;(is ? special : plain).add(name)
      const one = (await bodyWith(await root.client.get(`${groupsPath}/${uuid}`), 200)) as unknown
      assert.equal((one as { special: boolean }).special, is)
    }
  }
  assert.deepEqual([...special].toSorted(), ['Campus', 'Guests', 'Local', 'Staff'])
  assert.deepEqual(
    [...plain].filter(name => special.has(name)),
    [],
  )
  assert.ok(plain.has('Readers') && plain.has('Administrator'))
})

test('OP9 of someone, each rule has the sessions to which it gives its group, or perhaps', async t => {
  const { service, root } = await started(t)
  const { uuid } = await service.addEperson('ruth@example.org')
  const loginFrom = async (address: string) => {
    const client = service.client()
    const form = new URLSearchParams({ user: 'ruth@example.org', password: passwordOf('ruth@example.org') })
    const login = await client.post('/api/authn/login', form, from(address))
    assert.equal(login.status, 200)
  }
  const given = async () =>
    Object.fromEntries(
      (await rulesFor(root.client, `?eperson=${uuid}`)).map(({ group, sessions = [] }) => [
        group.name,
        sessions.map(({ method, lastNetwork, gives }) => [method, lastNetwork, gives]),
      ]),
    )
  assert.deepEqual(await given(), { Campus: [], Local: [], Staff: [], Guests: [] })
  // Part of the third address's network is in Campus; none of the last one's is.
  for (const address of ['10.1.2.3', '203.0.113.1', '192.0.2.200', '10.1.9.9']) await loginFrom(address)
  const { Campus = [], Local = [], Staff, Guests } = await given()
  assert.deepEqual(Campus.map(one => one.join(' ')).toSorted(), [
    'password 10.1.2.0/24 perhaps',
    'password 192.0.2.0/24 perhaps',
  ])
  assert.deepEqual(Local.map(one => one.join(' ')).toSorted(), [
    'password 10.1.2.0/24 yes',
    'password 10.1.9.0/24 yes',
    'password 192.0.2.0/24 yes',
    'password 203.0.113.0/24 yes',
  ])
  assert.deepEqual([Staff, Guests], [[], []])

  // Groups from a provider's attributes are only in the token.
  const eperson = await service.storage.sessions.of(uuid)
  assert.ok(eperson)
  const now = Date.now()
  const begun = await service.storage.identities.begin(
    {
      uuid,
      sessionKey: eperson.sessionKey,
      session: { provider: 'apache', name: 'r', sid: null, detail: {} },
      begins: { begun: now, expires: now + 60_000 },
    },
    {
      ...{ event: 'login', outcome: 'success', eperson: uuid, actor: uuid },
      ...{ clientIp: null, method: 'shibboleth', object: 'apache', reason: null },
    },
  )
  assert.ok(begun)
  const after = await given()
  assert.deepEqual(after.Staff, [['shibboleth', null, 'perhaps']])
  assert.deepEqual(after.Guests, [['shibboleth', null, 'perhaps']])
  assert.equal(after.Local?.length, 4)

  await root.client.delete(`/api/eperson/epersons/${uuid}/sessions`)
  assert.deepEqual(await given(), { Campus: [], Local: [], Staff: [], Guests: [] })
})

test('OP9 rules and sessions are asked of someone who is there', async t => {
  const { root } = await started(t)
  await assertProblem(await root.client.get(`${rulesPath}?eperson=ruth`), 400, 'bad-parameter')
  await assertProblem(await root.client.get(`${rulesPath}?person=${root.uuid}`), 400, 'bad-parameter')
  const nobody = '00000000-0000-4000-8000-000000000000'
  await assertProblem(await root.client.get(`${rulesPath}?eperson=${nobody}`), 404, 'not-found')
})
