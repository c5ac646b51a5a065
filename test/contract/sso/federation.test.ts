import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { SPMetadata } from 'samlify'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { entityCategory, type Member, memberXml } from '../../support/providers/federation.ts'
import {
  affiliation,
  asFederation,
  memberOf,
  scholar,
  signedAggregate,
  startAt,
  startInFederation,
} from '../../support/providers/federation-flow.ts'
import {
  finishSignOn,
  introduce,
  locationOf,
  pages,
  startSignOn,
  Visitor,
} from '../../support/providers/saml-flow.ts'
import { startSamlProvider } from '../../support/providers/saml-provider.ts'
import { test, testWithoutStore } from '../../support/service/engines.ts'
import { baseUrl, type Service } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const lund: Partial<Member> = { name: 'Lund University', scopes: ['lu.example'] }
const turku: Partial<Member> = { name: 'University of Turku', scopes: ['utu.example'] }

async function twoUniversities(t: TestContext, more: readonly string[] = []) {
  const [one, two] = [await startSamlProvider(t), await startSamlProvider(t, { name: 'other' })]
  one.users.set('ada', scholar('ada@lu.example', 'ada@lu.example'))
  two.users.set('bob', scholar('bob@utu.example', 'bob@student.utu.example'))
  return { one, two, metadata: signedAggregate([memberOf(one, lund), memberOf(two, turku), ...more]) }
}

/** Returns the choices on a page, with their addresses. */
const choicesIn = (html: string) =>
  new Map(
    [...html.matchAll(/<a class="choice" href="([^"]+)">([^<]*)/g)].map(([, href = '', name = '']) => [
      name,
      href.replaceAll('&amp;', '&'),
    ]),
  )

async function search(service: Service, text: string, more: Readonly<Record<string, string>> = {}) {
  const visitor = new Visitor(service)
  const url = visitor.url('/api/authn/shibboleth')
  const asked = { redirectUrl: `${pages}/`, provider: 'uni', search: text, ...more }
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value)
  const answer = await visitor.get(url)
  return { answer, html: await answer.text() }
}
const namesFor = async (service: Service, text: string) => [
  ...choicesIn((await search(service, text)).html).keys(),
]

test('X12 one entry logs in the users of all identity providers of a federation, who choose theirs on a page', async t => {
  const { one, two, metadata } = await twoUniversities(t)
  const { service } = await startInFederation(t, [one, two], { metadata, settings: asFederation() })
  for (const [provider, user, name, email] of [
    [one, 'ada', 'Lund University', 'ada@lu.example'],
    [two, 'bob', 'University of Turku', 'bob@student.utu.example'],
  ] as const) {
    const { visitor, answer } = await startSignOn(service)
    assert.equal(answer.status, 200)
    const choices = choicesIn(await answer.text())
    assert.deepEqual([...choices.keys()], ['Lund University', 'University of Turku'])
    const begun = await visitor.get(choices.get(name) ?? '')
    assert.equal(locationOf(begun).origin, provider.address)
    const { answer: ended } = await finishSignOn(visitor, begun, provider, user)
    assert.equal(ended.status, 303, await ended.text())
    const client = service.client()
    client.token = bearerOf(await visitor.trade())
    assert.equal(await client.isLoggedIn(client.token), true)
    const linked = await service.storage.identities.listIdentities()
    assert.ok(linked.some(known => known.email === email))
  }
  const linked = await service.storage.identities.listIdentities()
  assert.deepEqual(
    linked.map(({ subject }) => subject).toSorted(),
    [`${one.entityId} ada@lu.example`, `${two.entityId} bob@utu.example`].toSorted(),
  )
})

void testWithoutStore(
  'X12 the page works without script, has a name for its field, and allows only its own form',
  async t => {
    const { metadata } = await twoUniversities(t)
    const { service } = await startInFederation(t, [], { metadata, settings: asFederation() })
    const { answer, html } = await search(service, '"><script>alert(1)</script>')
    assert.match(
      answer.headers.get('content-security-policy') ?? '',
      /default-src 'none'.*form-action 'self';/,
    )
    assert.doesNotMatch(html, /<script/)
    assert.match(html, /<label for="search">[^<]+<\/label>/)
    assert.match(html, /<form method="get" role="search">/)
    assert.match(html, /<p role="status">No institutions<\/p>/)
    assert.match(html, /<html lang="en">/)
  },
)

void testWithoutStore(
  'X12 the page finds words of names in all languages, keywords, domains and e-mail addresses',
  async t => {
    const metadata = signedAggregate([
      memberXml({
        entityId: 'https://a.example/idp',
        ...lund,
        names: { sv: 'Lunds universitet' },
        keywords: 'Skåne+region',
      }),
      memberXml({
        entityId: 'https://b.example/idp',
        ...turku,
        names: { fi: 'Turun yliopisto', sv: 'Åbo universitet' },
        domainHint: 'student.utu.example',
      }),
      memberXml({ entityId: 'https://c.example/idp', name: 'Old Lund & <b>Sons</b>' }),
      memberXml({
        entityId: 'https://d.example/idp',
        name: 'Hidden Lund',
        entityAttributes: [[entityCategory, 'http://refeds.org/category/hide-from-discovery']],
      }),
    ])
    const { service } = await startInFederation(t, [], { metadata, settings: asFederation() })
    for (const [text, ...names] of [
      ['lund', 'Lund University', 'Old Lund &amp; &lt;b&gt;Sons&lt;/b&gt;'],
      ['LUND university', 'Lund University'],
      ['yliopisto', 'University of Turku'],
      ['abo', 'University of Turku'],
      ['skane', 'Lund University'],
      ['student.utu.example', 'University of Turku'],
      ['ada@lu.example', 'Lund University'],
      ['nowhere'],
    ] as const)
      assert.deepEqual(await namesFor(service, text), names, text)
    // This provider is not listed, but accepted.
    const { answer } = await startAt(service, 'https://d.example/idp')
    assert.equal(locationOf(answer).origin, 'https://idp.example.edu')
  },
)

void testWithoutStore('X12 the page shows twenty at a time, with links to the others', async t => {
  const members = Array.from({ length: 45 }, (_, at) =>
    memberXml({
      entityId: `https://idp${at}.example/idp`,
      name: `University ${String(at).padStart(2, '0')}`,
    }),
  )
  const { service } = await startInFederation(t, [], {
    metadata: signedAggregate(members),
    settings: asFederation(),
  })
  const seen: string[] = []
  let html = (await search(service, 'university')).html
  for (let page = 1; page <= 3; page++) {
    assert.match(html, new RegExp(`45 institutions, page ${page} of 3`))
    seen.push(...choicesIn(html).keys())
    assert.equal(/rel="prev"/.test(html), page > 1)
    const next = /rel="next" href="([^"]+)"/.exec(html)?.[1]
    if (next !== undefined) {
      const visitor = new Visitor(service)
      html = await (await visitor.get(next.replaceAll('&amp;', '&'))).text()
    } else assert.equal(page, 3)
  }
  assert.equal(new Set(seen).size, 45)
  assert.match((await search(service, 'university', { page: '99999' })).html, /page 3 of 3/)
  for (const wrong of [
    { page: '0' },
    { page: 'two' },
    { page: '-1' },
    { search: 'x'.repeat(201) },
    { entityID: 'https://nobody.example' },
  ])
    await assertProblem(
      await search(service, 'a', wrong).then(({ answer, html: text }) => new Response(text, answer)),
      400,
      'bad-parameter',
    )
})

void testWithoutStore(
  'X12 an external discovery service is asked with a return address, and answers there with an entityID',
  async t => {
    const { one, metadata } = await twoUniversities(t)
    const discoveryUrl = 'https://ds.example.org/role/idp.ds?filter=eduGAIN'
    const { service } = await startInFederation(t, [one], {
      metadata,
      settings: asFederation({ discoveryUrl }),
    })
    const { visitor, answer } = await startSignOn(service)
    const asked = locationOf(answer)
    assert.equal(asked.origin + asked.pathname, 'https://ds.example.org/role/idp.ds')
    assert.equal(asked.searchParams.get('filter'), 'eduGAIN')
    assert.equal(asked.searchParams.get('entityID'), `${baseUrl}/api/authn/sso/saml/metadata`)
    assert.equal(asked.searchParams.get('returnIDParam'), 'entityID')
    const back = new URL(asked.searchParams.get('return') ?? '')
    const xml = await introduce(service)
    const location = /<idpdisc:DiscoveryResponse[^>]*Location="([^"]+)"/.exec(xml)?.[1]
    assert.equal(back.origin + back.pathname, location, 'the address that the metadata names')
    assert.equal(SPMetadata(xml).getEntityID(), `${baseUrl}/api/authn/sso/saml/metadata`)

    // Without a choice at the discovery service, Carrel's own page is shown.
    const none = await visitor.get(back)
    assert.equal(none.status, 200)
    assert.match(await none.text(), /Lund University/)
    back.searchParams.set('entityID', one.entityId)
    const { answer: ended } = await finishSignOn(visitor, await visitor.get(back), one, 'ada')
    assert.equal(ended.status, 303)
    assert.equal((await visitor.trade()).status, 200)
  },
)

void testWithoutStore('X12 registration authorities and entity attributes say who is let in', async t => {
  const registrationAuthority = 'https://registrar.example'
  const attributes = [[entityCategory, 'http://refeds.org/category/research-and-scholarship']] as const
  const members: Readonly<Record<string, Partial<Member>>> = {
    both: { registrationAuthority, entityAttributes: attributes },
    'no authority': { entityAttributes: attributes },
    'another authority': {
      registrationAuthority: `${registrationAuthority}.evil`,
      entityAttributes: attributes,
    },
    'no attribute': { registrationAuthority },
    'another value': { registrationAuthority, entityAttributes: [[entityCategory, 'http://refeds.org']] },
  }
  const idOf = (name: string) => `https://idp.example/${name.replaceAll(' ', '-')}`
  const metadata = signedAggregate(
    Object.entries(members).map(([name, more]) => memberXml({ entityId: idOf(name), name, ...more })),
  )
  const rules = {
    requireRegistrationAuthority: ['https://other.example', registrationAuthority],
    requireEntityAttributes: [{ name: attributes[0][0], value: attributes[0][1] }],
  }
  const { service } = await startInFederation(t, [], { metadata, settings: asFederation(rules) })
  assert.deepEqual(await namesFor(service, ''), ['both'])
  for (const name of Object.keys(members)) {
    const { answer } = await startAt(service, idOf(name))
    assert.equal(answer.status, name === 'both' ? 303 : 400, name)
  }
})

void testWithoutStore('X12 groups come from scoped attributes', async t => {
  const { one, metadata } = await twoUniversities(t)
  one.users.set(
    'eve',
    scholar('eve@lu.example', 'eve@lu.example', { [affiliation]: ['staff@lu.example', 'staff@utu.example'] }),
  )
  const groups = ['lu', 'utu'].map(at => ({
    group: `Staff of ${at}`,
    attribute: affiliation,
    value: `staff@${at}.example`,
  }))
  const { service } = await startInFederation(t, [one], { metadata, settings: asFederation({}, { groups }) })
  const { visitor, answer } = await startAt(service, one.entityId)
  const { answer: ended } = await finishSignOn(visitor, answer, one, 'eve')
  assert.equal(ended.status, 303, await ended.text())
  const client = service.client()
  client.token = bearerOf(await visitor.trade())
  const known = await service.storage.people.listGroups()
  const special = claimsOf(client.token).sg
  assert.deepEqual(
    known.filter(({ uuid }) => special.includes(uuid)).map(({ name }) => name),
    ['Staff of lu'],
  )
})

void testWithoutStore(
  'X12 an identity provider that leaves the federation logs nobody in any more',
  async t => {
    const { one, two, metadata } = await twoUniversities(t)
    const { service, file } = await startInFederation(t, [one, two], { metadata, settings: asFederation() })
    const { visitor, answer } = await startAt(service, one.entityId)
    writeFileSync(file, signedAggregate([memberOf(two, turku)]))
    await until(
      'a provider that nobody knows',
      async () => (await startAt(service, one.entityId)).answer.status,
      status => status === 400,
    )
    // A login that had begun before is refused.
    const { answer: ended } = await finishSignOn(visitor, answer, one, 'ada')
    await assertProblem(ended, 401, 'sign-on-refused')
  },
)
