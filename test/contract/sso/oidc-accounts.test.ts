import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { AccountClaims } from 'oidc-provider'
import { commandEvent } from '../../../src/cli/store.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { eventsOf } from '../../support/data/events.ts'
import {
  assertNoAccount,
  caseIds,
  emails,
  epersons,
  ruth,
  startCompany,
  startSecond,
  tokenOf,
} from '../../support/providers/openid-company.ts'
import { authenticate, begin, browserOf, logOut, trade } from '../../support/providers/openid-flow.ts'
import { providerPasswordOf } from '../../support/providers/openid-provider.ts'
import { test, testOnOne } from '../../support/service/engines.ts'
import { adminOf } from '../../support/service/nodes.ts'

/** A provider for all tests; each test has a service of its own, and the providers don't know each other. */
const { company, ruthIs, start } = await startCompany()
const second = await startSecond()
after(() => Promise.all([company.stop(), second.stop()]))

// Identity
// ---------------------------------------------------------------------------------------------------

test('X3 the same subject of two providers is two people', async t => {
  ruthIs({ email: 'another-ruth@example.edu' }, second)
  const service = await start(t, {
    providers: [
      { ...company.settings('company'), create: true },
      { ...second.settings('second'), create: true, userInfo: true },
    ],
  })
  const one = claimsOf(await tokenOf(service, { provider: 'company' })).eid
  const other = claimsOf(await tokenOf(service, { provider: 'second' })).eid
  assert.notEqual(one, other)
  assert.equal(claimsOf(await tokenOf(service, { provider: 'company' })).eid, one)
  assert.deepEqual(await emails(service), ['another-ruth@example.edu', ruth.email])
})

testOnOne('X3 userInfo says where else claims are looked for', async t => {
  ruthIs({ groups: ['staff'] }, second)
  const settings = second.settings('second')
  const groups = [{ group: 'Staff', attribute: 'groups', value: 'staff' }]
  const asking = await start(t, { providers: [{ ...settings, create: true, userInfo: true, groups }] })
  const client = asking.client()
  client.token = await tokenOf(asking)
  const status = await client.status()
  assert.equal(status._embedded.eperson?.email, ruth.email)
  assert.deepEqual(await client.specialGroups(), ['Staff'])

  // Without user info there is no email address, and so no account can be created.
  await assertNoAccount(await start(t, { providers: [{ ...settings, create: true, groups }] }))
})

test('X3 the subject decides, whatever else changes at the provider', async t => {
  const service = await start(t)
  const { eid } = claimsOf(await tokenOf(service))
  await service.addEperson('max@example.org', { password: null })
  for (const changed of [
    { email: 'new@example.edu' },
    { email: 'max@example.org' },
    { email_verified: false },
    { email: undefined, email_verified: undefined },
  ]) {
    ruthIs(changed)
    assert.equal(claimsOf(await tokenOf(service)).eid, eid, JSON.stringify(changed))
  }
  assert.deepEqual(await emails(service), ['max@example.org', ruth.email])

  // Subjects are compared exactly.
  const seen = new Set<string>()
  const subjects = ['R-1', 'r-1 ', 'r-10', 'r', 'ſ-1', "r-1' OR '1'='1"]
  for (const [at, sub] of subjects.entries()) {
    ruthIs({ sub, email: `r${at}@example.edu` })
    seen.add(claimsOf(await tokenOf(service)).eid)
  }
  assert.equal(seen.add(eid).size, subjects.length + 1)
})

test('X3 an eperson with the verified e-mail address is linked, if that is allowed', async t => {
  const service = await start(t, { provider: { create: false, email: { match: true } } })
  const { uuid } = await service.addEperson('Ruth@Example.edu', { password: null })
  ruthIs({ email: 'RUTH@example.EDU' })
  assert.equal(claimsOf(await tokenOf(service)).eid, uuid, 'in any case')
  // From now on the subject decides.
  ruthIs({ email: 'other@example.edu', email_verified: false })
  assert.equal(claimsOf(await tokenOf(service)).eid, uuid)

  const admin = service.client()
  admin.token = await adminOf(service)
  const [linked, ...others] = await eventsOf(admin, 'eperson.link')
  assert.deepEqual(others, [])
  assert.equal(linked?.eperson, uuid)
  assert.equal(linked?.outcome, 'success')
  assert.equal(linked?.method, 'oidc')
})

test('X3 an eperson is never linked by an e-mail address where that is not allowed, verified or in doubt', async t => {
  const match = { match: true }
  const cases = [
    [{ create: false }, {}],
    [{}, {}],
    [{ email: { match: false } }, {}],
    [{ email: match }, { email_verified: false }],
    [{ email: match }, { email_verified: undefined }],
    [{ email: match }, { email_verified: 'false' }],
    [{ email: match }, { email_verified: 0 }],
    [{ email: match }, { email_verified: {} }],
    [{ email: match }, { email_verified: 'yes' }],
    [{ email: { match: true, verified: 'never' } }, {}],
    [{ email: { match: true, domains: ['example.org'] } }, {}],
    [{ email: { match: true, domains: ['edu'] } }, {}],
    [{ email: { match: true, domains: ['sub.example.edu', 'xample.edu'] } }, {}],
    [{ email: match }, { email: ' ruth@example.edu' }],
    [{ email: match }, { email: 'ruth@example.edu\n' }],
    [{ email: match }, { email: 'ruth@example.edu\u0000' }],
    [{ email: match }, { email: 'ruth@example.edu@evil.example' }],
  ] as const
  const service = await start(t, {
    providers: cases.map(([provider], at) => ({
      ...company.settings(caseIds[at] ?? assert.fail()),
      create: true,
      ...provider,
    })),
  })
  const { uuid } = await service.addEperson(ruth.email, { password: null })
  for (const [at, [, claims]] of cases.entries()) {
    ruthIs(claims)
    await assertNoAccount(service, { provider: caseIds[at] ?? '' })
  }
  // A provider that is trusted, with a verified address, is matched.
  ruthIs()
  const relying = cases.findIndex(([provider]) => 'email' in provider && provider.email === match)
  assert.equal(claimsOf(await tokenOf(service, { provider: caseIds[relying] ?? '' })).eid, uuid)
})

testOnOne('X3 who says that addresses are verified may be the operator', async t => {
  const email = { match: true, verified: 'always', domains: ['Example.EDU', 'example.org'] }
  const service = await start(t, { provider: { email } })
  const { uuid } = await service.addEperson(ruth.email, { password: null })
  ruthIs({ email_verified: undefined, email: 'ruth@EXAMPLE.edu' })
  assert.equal(claimsOf(await tokenOf(service)).eid, uuid)

  // Domains that look similar are not accepted.
  for (const address of [
    'ruth@example.edu.evil.example',
    'ruth@evil-example.edu',
    'ruth@sub.example.edu',
    '"ruth@example.edu"@evil.example',
  ]) {
    ruthIs({ sub: address, email: address })
    await assertNoAccount(service)
  }
})

testOnOne(
  'X3 nobody is created unless that is allowed, and nobody without a verified e-mail address',
  async t => {
    const service = await start(t, {
      providers: [
        { ...company.settings('company'), create: true },
        { ...company.settings('case-0'), create: false, email: { match: true } },
      ],
    })
    await assertNoAccount(service, { provider: 'case-0' })
    for (const claims of [
      { email: undefined },
      { email_verified: false },
      { email: 'no address' },
      { email: '@' },
      { email: 17 },
    ]) {
      ruthIs(claims)
      await assertNoAccount(service, { provider: 'company' })
    }
    ruthIs()
    await tokenOf(service, { provider: 'company' })

    const admin = service.client()
    admin.token = await adminOf(service)
    const [person] = (await epersons(service)).filter(({ email }) => email === ruth.email)
    const [added] = await eventsOf(admin, 'eperson.add')
    assert.equal(added?.eperson, person?.uuid)
    assert.equal(added?.method, 'oidc')
    assert.deepEqual(await eventsOf(admin, 'eperson.link'), [])
    assert.equal(person?.firstName, ruth.given_name)
    assert.equal(person?.lastName, ruth.family_name)
  },
)

test('X3 a second subject with the same e-mail address is refused, and so is a disabled eperson', async t => {
  const service = await start(t, { provider: { email: { match: true } } })
  const { eid } = claimsOf(await tokenOf(service))
  ruthIs({ sub: 'who-got-the-address-later' })
  await assertNoAccount(service)
  ruthIs()
  assert.equal(claimsOf(await tokenOf(service)).eid, eid)

  const { people } = service.storage
  await people.setEnabled(ruth.email, false, commandEvent('eperson.disable'))
  await assertNoAccount(service)
  await service.addEperson('max@example.edu', { password: null })
  await people.setEnabled('max@example.edu', false, commandEvent('eperson.disable'))
  ruthIs({ sub: 'm-1', email: 'max@example.edu' })
  await assertNoAccount(service)
  await people.setEnabled(ruth.email, true, commandEvent('eperson.enable'))
  ruthIs()
  assert.equal(claimsOf(await tokenOf(service)).eid, eid)
})

test('X3 names are taken over at each login, and stay where the provider has none', async t => {
  const service = await start(t)
  const names = async () => {
    await tokenOf(service)
    const [person] = await epersons(service)
    return [person?.firstName, person?.lastName]
  }
  assert.deepEqual(await names(), ['Ruth', 'Reader'])
  ruthIs({ given_name: 'Ruth 👩🏽‍🔬', family_name: "O'Néill; DROP TABLE eperson" })
  assert.deepEqual(await names(), ['Ruth 👩🏽‍🔬', "O'Néill; DROP TABLE eperson"])
  ruthIs({ given_name: undefined, family_name: '' })
  assert.deepEqual(await names(), ['Ruth 👩🏽‍🔬', "O'Néill; DROP TABLE eperson"])
  ruthIs({ given_name: `A${'b'.repeat(10_000)}`, family_name: 'nul \u0000 \uD800' })
  await names()
})

test('X3 first logins of one subject at the same moment make one eperson', async t => {
  const service = await start(t)
  const other = await start(t, { dataFolder: service.dataFolder })
  const services = [service, other, service, other]
  const returned = await Promise.all(
    services.map(async one => {
      const browser = browserOf(one)
      return { browser, url: await authenticate(browser, await begin(browser)) }
    }),
  )
  const answers = await Promise.all(returned.map(({ browser, url }) => browser.open(url)))
  assert.deepEqual(
    answers.map(({ answer }) => answer.status),
    answers.map(() => 303),
  )
  const tokens = await Promise.all(returned.map(async ({ browser }) => bearerOf(await trade(browser))))
  assert.equal(new Set(tokens.map(token => claimsOf(token).eid)).size, 1)
  assert.deepEqual(await emails(service), [ruth.email])
  const admin = service.client()
  admin.token = await adminOf(service)
  const added = (await eventsOf(admin, 'eperson.add')).filter(({ method }) => method === 'oidc')
  assert.equal(added.length, 1)
})

// Groups -----------------------------------------------------------------------------------------------------

testOnOne('G2 claims give groups by exact value and by pattern, and the method gives its own', async t => {
  const service = await start(t, {
    file: { specialGroups: { method: [{ group: 'By OIDC', method: 'oidc' }] } },
    provider: {
      groups: [
        { group: 'Staff', attribute: 'groups', value: 'staff' },
        { group: 'Curators', attribute: 'groups', pattern: 'urn:curator:.*|chief' },
        { group: 'Nested', attribute: 'realm_access.roles', value: 'curator' },
        { group: 'Staff', attribute: 'realm_access.roles', value: 'staff too' },
        { group: 'Verified', attribute: 'email_verified', value: 'true' },
      ],
    },
  })
  const client = service.client()
  const groupsWith = async (claims: Partial<AccountClaims>) => {
    ruthIs(claims)
    client.token = await tokenOf(service)
    const names = await client.specialGroups()
    assert.equal(claimsOf(client.token).sg.length, names.length)
    return names.filter(name => name !== 'By OIDC' && name !== 'Verified')
  }
  for (const [claims, expected] of [
    [{}, []],
    [{ groups: ['staff'] }, ['Staff']],
    [{ groups: 'staff' }, ['Staff']],
    [{ groups: ['other', 'staff', 'staff'] }, ['Staff']],
    [{ groups: ['Staff', ' staff', 'staff ', 'staff;', 'staff,other', 'staff\n'] }, []],
    [{ groups: 'staff other' }, []],
    [{ groups: { staff: true } }, []],
    [{ groups: [['staff']] }, []],
    [{ groups: ['urn:curator:maps'] }, ['Curators']],
    [{ groups: ['chief'] }, ['Curators']],
    [{ groups: ['xurn:curator:maps', 'chief!', 'a chief', 'urn:curator', 'chief\n'] }, []],
    [{ realm_access: { roles: ['curator', 'staff too'] } }, ['Nested', 'Staff']],
    [{ realm_access: { roles: 'curator' } }, ['Nested']],
    [{ realm_access: ['curator'] }, []],
    [{ realm_access: null }, []],
  ] as const)
    assert.deepEqual(await groupsWith(claims), expected, JSON.stringify(claims))
  assert.deepEqual(await client.specialGroups(), ['By OIDC', 'Verified'])
})

test('G2 a refresh keeps the groups, and the next login asks again', async t => {
  const groups = [{ group: 'Staff', attribute: 'groups', value: 'staff' }]
  const service = await start(t, { provider: { groups } })
  await service.addRecords('papers', 'id', [{ id: 1 }], 'group:Staff')
  ruthIs({ groups: ['staff'] })
  const client = service.client()
  client.token = await tokenOf(service)
  const { sg } = claimsOf(client.token)
  assert.equal(sg.length, 1)
  assert.equal((await client.get('/api/query/v4/papers')).status, 200)
  ruthIs({ groups: [] })
  client.token = await client.refresh()
  assert.deepEqual(claimsOf(client.token).sg, sg)
  client.token = await tokenOf(service)
  assert.deepEqual(claimsOf(client.token).sg, [])
  assert.equal((await client.get('/api/query/v4/papers')).status, 403)
})

// The audit trail --------------------------------------------------------------------------------------------

test('X2 the audit trail says who came how, from which provider, and who was refused', async t => {
  const service = await start(t, { env: { CARREL_TRUSTED_PROXIES: '127.0.0.1' } })
  const token = await tokenOf(service)
  await logOut(browserOf(service), token)
  await service.storage.people.setEnabled(ruth.email, false, commandEvent('eperson.disable'))
  await assertNoAccount(service)
  const { eid } = claimsOf(token)
  const admin = service.client()
  admin.token = await adminOf(service)
  const common = { client_ip: '127.0.0.1', method: 'oidc', object: 'company', reason: null }
  const logins = (await eventsOf(admin, 'login')).filter(({ method }) => method !== 'password')
  assert.deepEqual(logins[0], { ...common, outcome: 'success', eperson: eid, actor: eid })
  assert.ok(
    logins.some(({ outcome, eperson }) => outcome === 'failure' && eperson === eid),
    JSON.stringify(logins),
  )
  assert.deepEqual((await eventsOf(admin, 'logout'))[0], {
    ...common,
    object: null,
    outcome: 'success',
    eperson: eid,
    actor: eid,
  })
  const whole = await (await admin.get('/api/query/v4/audit-events')).text()
  for (const secret of [ruth.sub, providerPasswordOf('ruth')]) assert.ok(!whole.includes(secret), secret)
})
