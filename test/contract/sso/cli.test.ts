import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, type TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { toConfig } from '../../../src/config/config.ts'
import { addressesOf } from '../../../src/http/addresses.ts'
import { signOnAddresses } from '../../../src/sso/addresses.ts'
import { checkSignOn } from '../../../src/sso/check/check.ts'
import type { Finding } from '../../../src/sso/check/findings.ts'
import { identity } from '../../support/providers/certificates.ts'
import { withSingleSignOn } from '../../support/providers/openid-flow.ts'
import {
  clientSecret,
  clientSecretVariable,
  type OpenIdProvider,
  startOpenIdProvider,
} from '../../support/providers/openid-provider.ts'
import { provider as proxyProvider, secret as proxySecret } from '../../support/providers/proxy-flow.ts'
import { startReverseProxy } from '../../support/providers/reverse-proxy.ts'
import { startSamlProvider } from '../../support/providers/saml-provider.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { test, testWithoutStore } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { baseUrl, startService, temporaryFolder } from '../../support/service/service.ts'

let shared: Promise<OpenIdProvider> | undefined
const openId = () => {
  shared ??= startOpenIdProvider()
  return shared
}
after(async () => (await shared)?.stop())

type Block = Readonly<Record<string, unknown>>

/** Returns the findings of `carrel sso check`, each as `level about: what`. */
async function findings(
  t: TestContext,
  block: Block,
  more: Block = {},
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const config = toConfig({ CARREL_BASE_URL: baseUrl, ...withSingleSignOn(t, block, more), ...env })
  const { singleSignOn } = config
  assert.ok(singleSignOn)
  const found: Finding[] = []
  for await (const one of checkSignOn({
    ...config,
    singleSignOn,
    addresses: signOnAddresses(addressesOf(config)),
  }))
    found.push(one)
  return found.map(({ level, about, what }) => `${level} ${about}: ${what}`)
}

function assertFound(found: readonly string[], pattern: RegExp): void {
  assert.ok(
    found.some(line => pattern.test(line)),
    `${pattern} in\n${found.join('\n')}`,
  )
}

const company = async (more: Block = {}) => ({
  ...(await openId()).settings('company'),
  create: true,
  ...more,
})
/** Settings without warnings: pages and service use https. */
const secure = {
  CARREL_BASE_URL: 'https://repo.example.edu',
  CARREL_ALLOWED_ORIGINS: 'https://ui.example.edu',
}

testWithoutStore('D2 sso check finds nothing wrong where nothing is', async t => {
  const idp = await startSamlProvider(t)
  const metadata = join(temporaryFolder(t), 'idp.xml')
  writeFileSync(metadata, idp.metadata())
  const keys = withKeys(t, identity('service', { notAfter: new Date(Date.now() + 90 * 86_400_000) }))
  const provider = await startOpenIdProvider({ publicAddresses: ['https://repo.example.edu'] })
  atEnd(t, provider.stop)
  const settings = provider.settings('company')
  const uni = { id: 'uni', kind: 'saml', metadata, create: true }
  const found = await findings(t, { saml: keys, providers: [{ ...settings, create: true }, uni] }, {}, secure)
  assert.deepEqual(
    found.filter(line => line.startsWith('error')),
    [],
  )
  assertFound(
    found,
    /^ok company: did not refuse the redirect URI https:\/\/repo\.example\.edu\/api\/authn\/sso\/oidc\/callback\/company$/,
  )
  assertFound(found, /^ok company: accepts the client’s credentials/)
  assertFound(found, /^ok company: has back-channel logout; register https:.*\/sso\/oidc\/logout\/company$/)
  assertFound(found, new RegExp(`^ok uni: entity id ${idp.entityId}`))
  assertFound(
    found,
    /^ok carrel: SAML entity id https:\/\/repo\.example\.edu\/api\/authn\/sso\/saml\/metadata/,
  )
})

function withKeys(t: TestContext, { privateKey, certificate }: ReturnType<typeof identity>) {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'key.pem'), privateKey)
  writeFileSync(join(folder, 'certificate.pem'), certificate)
  return {
    privateKey: { file: join(folder, 'key.pem') },
    certificate: { file: join(folder, 'certificate.pem') },
  }
}

testWithoutStore('D2 sso check names the way of client authentication that the provider takes', async t => {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    const form = new URLSearchParams(await text(request))
    const isClient = form.get('client_secret') === clientSecret && !request.headers.authorization
    const answers: Readonly<Record<string, object>> = {
      '/.well-known/openid-configuration': {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
      },
      '/jwks': { keys: [{}] },
      '/token': { error: isClient ? 'invalid_grant' : 'invalid_client' },
    }
    response.writeHead(pathname === '/token' ? 400 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answers[pathname] ?? {}))
  }).listen(0, '127.0.0.1')
  atEnd(t, () => void server.close())
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const settings = { ...(await company()), issuer }
  assertFound(
    await findings(t, { providers: [settings] }),
    /^error company: it accepts the client’s credentials only another way: set clientAuthentication to "post"/,
  )
  assertFound(
    await findings(t, { providers: [{ ...settings, clientAuthentication: 'post' }] }),
    /^ok company: accepts the client’s credentials/,
  )
})

testWithoutStore('D2 X7 sso check says which logouts an OpenID provider can ask for', async t => {
  const described: Record<string, unknown> = {}
  const server = createServer((request, response) => {
    const isDiscovery = request.url?.endsWith('openid-configuration')
    const others = { keys: [{}], error: 'invalid_grant' }
    response.writeHead(request.method === 'POST' ? 400 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isDiscovery ? described : others))
  }).listen(0, '127.0.0.1')
  atEnd(t, () => void server.close())
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const endpoints = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
  }
  const settings = { ...(await company()), issuer }
  const [front, back] = [{ frontchannel_logout_supported: true }, { backchannel_logout_supported: true }]
  for (const [more, provider, expected] of [
    [back, {}, /^ok company: has back-channel logout; register .*\/sso\/oidc\/logout\/company/],
    [front, {}, /^ok company: has front-channel logout only: .* unless frontChannelLogout is on/],
    [front, { frontChannelLogout: true }, /^ok company: has front-channel logout; register .*company, with/],
    [back, { frontChannelLogout: true }, /^warning company: frontChannelLogout is on, and/],
    [
      { ...front, frontchannel_logout_session_supported: false },
      { frontChannelLogout: true },
      /^warning company: frontChannelLogout is on, and/,
    ],
    [{}, { userInfo: true }, /^error company: it has no userinfo endpoint, and userInfo is on/],
    [{ acr_values_supported: ['a'] }, { acrValues: ['a', 'b'] }, /^warning company: .* the acr b/],
  ] as const) {
    for (const name of Object.keys(described)) delete described[name]
    Object.assign(described, endpoints, more)
    assertFound(await findings(t, { providers: [{ ...settings, ...provider }] }), expected)
  }
})

testWithoutStore('D2 sso check names what is wrong with an OpenID provider', async t => {
  const settings = await company()
  for (const [provider, env, expected] of [
    [
      { ...settings, issuer: 'http://127.0.0.1:9' },
      {},
      /^error company: issuer http:\/\/127\.0\.0\.1:9: no connection/,
    ],
    [
      { ...settings, issuer: `${settings.issuer}/elsewhere` },
      {},
      /^error company: issuer .*elsewhere: .*asked at /,
    ],
    [
      settings,
      { [clientSecretVariable]: 'another secret' },
      /^error company: it refuses clientId with clientSecret/,
    ],
    [{ ...settings, clientId: 'nobody' }, {}, /^error company: it refuses the client nobody/],
    [
      settings,
      { CARREL_BASE_URL: 'http://127.0.0.1:1' },
      /^error company: it does not know the redirect URI http:\/\/127\.0\.0\.1:1\//,
    ],
    [{ ...settings, scopes: ['openid', 'unheard-of'] }, {}, /^warning company: .* scope unheard-of/],
    [{ ...settings, create: false }, {}, /^warning company: neither create nor email\.match/],
    [{ ...settings, email: { match: true, verified: 'always' } }, {}, /^warning company: .*take over/],
  ] as const)
    assertFound(await findings(t, { providers: [provider] }, {}, env), expected)
})

testWithoutStore(
  'D2 sso check names what is wrong with SAML metadata, certificates and the entity id',
  async t => {
    const folder = temporaryFolder(t)
    const idp = await startSamlProvider(t)
    const day = 86_400_000
    const past = identity('old', {
      notBefore: new Date(Date.now() - 9 * day),
      notAfter: new Date(Date.now() - day),
    })
    const soon = identity('soon', { notAfter: new Date(Date.now() + 5 * day) })
    const entityId = idp.entityId
    for (const [xml, block, expected] of [
      ['<a/>', {}, /^error uni: the metadata .*: it describes no SAML 2\.0 identity provider/],
      ['<a', {}, /^error uni: the metadata .*: it is not well-formed XML/],
      [
        idp.metadata(),
        { entityId: 'urn:other' },
        /^error uni: .*it does not describe the identity provider urn:other/,
      ],
      [
        idp.metadata({ validUntil: new Date(Date.now() - day) }),
        {},
        /^error uni: the metadata expired on 20/,
      ],
      [
        idp.metadata({ validUntil: new Date(Date.now() + day) }),
        {},
        /^warning uni: the metadata expires on 20/,
      ],
      [idp.metadata({ certificates: [past.certificate] }), {}, /^error uni: its certificate expired on 20/],
      [idp.metadata({ certificates: [soon.certificate] }), {}, /^warning uni: its certificate expires on 20/],
    ] as const) {
      const metadata = join(folder, 'idp.xml')
      writeFileSync(metadata, xml)
      const uni = { id: 'uni', kind: 'saml', metadata, create: true, ...block }
      assertFound(await findings(t, { providers: [uni] }, {}, secure), expected)
    }
    writeFileSync(join(folder, 'idp.xml'), idp.metadata())
    const uni = { id: 'uni', kind: 'saml', metadata: join(folder, 'idp.xml'), create: true }
    assertFound(
      await findings(t, { saml: { entityId }, providers: [uni] }, {}, secure),
      /^error uni: its entity id is the same/,
    )
    assertFound(await findings(t, { providers: [uni] }, {}, secure), /^warning carrel: no saml\.privateKey/)
    const old = await findings(t, { saml: withKeys(t, past), providers: [uni] }, {}, secure)
    assertFound(old, /^error carrel: saml\.certificate expired on 20/)
    assertFound(
      await findings(t, { providers: [{ ...uni, metadata: 'not-there.xml' }] }, {}, secure),
      /^error uni: the metadata .*not-there\.xml: .*ENOENT/,
    )
  },
)

testWithoutStore('D2 sso check names a clock that is wrong', async t => {
  const server = createServer((_request, response) => {
    response.setHeader('date', new Date(Date.now() - 600_000).toUTCString())
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => server.close())
  const idp = await startSamlProvider(t)
  const metadata = join(temporaryFolder(t), 'idp.xml')
  const late = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(metadata, idp.metadata().replaceAll(idp.address, late))
  const found = await findings(t, { providers: [{ id: 'uni', kind: 'saml', metadata }] }, {}, secure)
  assertFound(
    found,
    /^error uni: the clock here is (599|600|601) s ahead of the provider’s; 60 s are allowed/,
  )
})

testWithoutStore('D2 sso check names origins, and cookies that a browser will not send back', async t => {
  const settings = await company()
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'idp.xml'), (await startSamlProvider(t)).metadata())
  const uni = { id: 'uni', kind: 'saml', metadata: join(folder, 'idp.xml') }
  const overHttp = await findings(t, { providers: [uni] })
  assertFound(overHttp, /^error uni: over http browsers do not send the login cookie/)
  assertFound(overHttp, /^error carrel: https:\/\/ui\.example\.edu is a different site/)
  const noOrigins = await findings(t, { providers: [settings] }, {}, { CARREL_ALLOWED_ORIGINS: '' })
  assertFound(noOrigins, /^warning carrel: CARREL_ALLOWED_ORIGINS is empty/)
  const plainPages = { ...secure, CARREL_ALLOWED_ORIGINS: 'http://ui.example.edu' }
  assertFound(
    await findings(t, { providers: [settings] }, {}, plainPages),
    /^warning carrel: http:\/\/ui\.example\.edu .* is http/,
  )
})

testWithoutStore('D2 sso check says that a transient NameID can be no subject', async t => {
  const metadata = join(temporaryFolder(t), 'idp.xml')
  const xml = (await startSamlProvider(t)).metadata()
  const format = (name: string) => `urn:oasis:names:tc:SAML:2.0:nameid-format:${name}`
  const only = /^error uni: it offers only transient NameIDs.*: set attributes\.subject/
  const several =
    /^warning uni: it offers several NameID formats, transient first.*set nameIdFormat to .*:persistent$/
  for (const [formats, block, expected] of [
    [['transient'], {}, only],
    [['transient'], { nameIdFormat: format('persistent') }, only],
    [['transient'], { attributes: { subject: 'urn:oid:1.3.6' } }, null],
    [['transient', 'persistent'], {}, several],
    [['transient', 'persistent'], { nameIdFormat: format('persistent') }, null],
    [['persistent', 'transient'], {}, null],
    [[], {}, null],
    [[], { nameIdFormat: format('transient') }, /^error uni: nameIdFormat asks for transient NameIDs/],
    [
      ['transient', 'entity'],
      { nameIdFormat: format('persistent') },
      /^warning uni: it does not announce the/,
    ],
  ] as const) {
    const given = formats.map(name => `<NameIDFormat> ${format(name)} </NameIDFormat>`).join('')
    assert.match(xml, /<NameIDFormat>/)
    writeFileSync(metadata, xml.replace(/<NameIDFormat>.*?<\/NameIDFormat>/, given))
    const uni = { id: 'uni', kind: 'saml', metadata, create: true, ...block }
    const found = await findings(t, { providers: [uni] }, {}, secure)
    if (expected === null)
      assert.deepEqual(
        found.filter(line => /NameID|nameIdFormat/.test(line)),
        [],
      )
    else assertFound(found, expected)
  }
})

testWithoutStore('D2 sso check says which attributes and claims a provider does not announce', async t => {
  const metadata = join(temporaryFolder(t), 'idp.xml')
  const attributes = ['urn:oid:0.9.2342.19200300.100.1.3', 'urn:oid:2.5.4.4']
    .map(name => `<saml:Attribute xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" Name="${name}"/>`)
    .join('')
  writeFileSync(
    metadata,
    (await startSamlProvider(t))
      .metadata()
      .replace('</IDPSSODescriptor>', `${attributes}</IDPSSODescriptor>`),
  )
  const uni = { id: 'uni', kind: 'saml', metadata, create: true }
  const silent = await findings(t, { providers: [uni] }, {}, secure)
  assert.deepEqual(
    silent.filter(line => /announce/.test(line)),
    [],
  )
  const groups = [{ group: 'Staff', attribute: 'memberOf', value: 'staff' }]
  assertFound(
    await findings(t, { providers: [{ ...uni, groups }] }, {}, secure),
    /^warning uni: its metadata announces attributes, but not memberOf: /,
  )

  const announcing = await discovering(t, { claims_supported: ['sub', 'email', 'realm_access', 'groups'] })
  const rules = ['groups', 'realm_access.roles', 'affiliation'].map(attribute => ({
    ...groups[0],
    attribute,
  }))
  assertFound(
    await findings(t, { providers: [{ ...announcing, create: true, groups: rules }] }),
    /^warning company: it does not announce the claims email_verified, affiliation: /,
  )
  const silentOne = await discovering(t, { claims_supported: ['sub', 'iss', 'auth_time'] })
  const found = await findings(t, { providers: [{ ...silentOne, create: true }] })
  assertFound(found, /^ok company: does not announce what it says about people; .* email, email_verified$/)
  const secretOnly = await discovering(t, { id_token_signing_alg_values_supported: ['none', 'HS256'] })
  assertFound(
    await findings(t, { providers: [secretOnly] }),
    /^error company: it signs ID tokens only with none, HS256: set RS256/,
  )
})

/** Starts a provider that has only a discovery document. */
async function discovering(t: TestContext, more: Block) {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    const endpoints = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'].map(name => [name, issuer])
    response.end(JSON.stringify({ issuer, ...Object.fromEntries(endpoints), ...more }))
  }).listen(0, '127.0.0.1')
  atEnd(t, () => void server.close())
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { ...(await company()), issuer }
}

testWithoutStore('D2 sso check says where a proxy does not guard the path at which logins begin', async t => {
  const front = await startReverseProxy(t)
  const env = { CARREL_BASE_URL: front.address, PROXY_SECRET: proxySecret.value }
  const block = { providers: [{ ...proxyProvider, create: true }] }
  const service = await startService(t, { env: { ...withSingleSignOn(t, block), ...env } })
  front.forwardTo(service.address)
  assertFound(
    await findings(t, block, {}, env),
    /^error apache: the proxy does not ask for a login at http:.*\/api\/authn\/shibboleth\?redirectUrl=.*&provider=apache: /,
  )
  const loginUrl = `${front.loginPage}?target={target}`
  assertFound(
    await findings(t, { providers: [{ ...proxyProvider, loginUrl }] }, {}, env),
    /^ok apache: http:.* leads to a login$/,
  )
  const guarding = createServer((_request, response) => response.writeHead(401).end('Who are you?'))
  guarding.listen(0, '127.0.0.1')
  atEnd(t, () => void guarding.close())
  await once(guarding, 'listening')
  const base = `http://127.0.0.1:${(guarding.address() as AddressInfo).port}`
  assertFound(
    await findings(t, block, {}, { ...env, CARREL_BASE_URL: base }),
    /^ok apache: .* leads to a login$/,
  )
  const nowhere = { ...env, CARREL_BASE_URL: 'http://127.0.0.1:9' }
  assertFound(
    await findings(t, block, {}, nowhere),
    /^warning apache: .* cannot be reached from this machine/,
  )
})

testWithoutStore(
  'D1 D2 sso check as a command prints a table or JSON, and its exit code says whether all is well',
  async t => {
    const folder = temporaryFolder(t)
    const settings = await company()
    const plain = {
      CARREL_BASE_URL: 'http://127.0.0.1:8080',
      CARREL_ALLOWED_ORIGINS: 'http://127.0.0.1:4000',
    }
    const provider = await startOpenIdProvider({ publicAddresses: [plain.CARREL_BASE_URL] })
    atEnd(t, provider.stop)
    const good = {
      ...withSingleSignOn(t, { providers: [{ ...provider.settings('company'), create: true }] }),
      ...plain,
    }
    const well = await carrel(folder, ['sso', 'check'], { env: good })
    assert.equal(well.code, 0, well.stdout + well.stderr)
    assert.match(
      well.stdout,
      /^ +ABOUT +FOUND\nok +carrel +browsers return to http:\/\/127\.0\.0\.1:4000\/ by default\n/,
    )

    const bad = { ...withSingleSignOn(t, { providers: [settings] }), ...plain }
    const failed = await carrel(folder, ['sso', 'check', '--json'], { env: bad })
    assert.equal(failed.code, 1)
    assert.equal(failed.stderr, 'carrel: 1 error found; see above\n')
    const found = JSON.parse(failed.stdout) as Finding[]
    assert.ok(found.some(({ level, about }) => level === 'error' && about === 'company'))

    const none = await carrel(folder, ['sso', 'check'])
    assert.equal(none.code, 1)
    assert.match(none.stderr, /^carrel: single sign-on is not configured; set CARREL_CONFIG/)
  },
)

test('X3 G2 sso explain says which eperson and groups attributes would give, and changes nothing', async t => {
  const service = await startService(t)
  const { uuid } = await service.addEperson('ruth@example.edu')
  const folder = temporaryFolder(t)
  const provider = {
    id: 'company',
    kind: 'oidc',
    issuer: 'https://id.example.org',
    clientId: 'carrel',
    email: { match: true },
    groups: [
      { group: 'Staff', attribute: 'groups', value: 'staff' },
      { group: 'Curators', attribute: 'realm_access.roles', pattern: 'curator:.*' },
    ],
  }
  const other = { ...provider, id: 'other', create: true, email: {} }
  const settings = withSingleSignOn(
    t,
    { providers: [provider, other] },
    { specialGroups: { method: [{ group: 'By OIDC', method: 'oidc' }] } },
  )
  const explain = async (attributes: object, id: string) => {
    const file = join(folder, 'attributes.json')
    writeFileSync(file, JSON.stringify(attributes))
    const args = ['sso', 'explain', '--attributes', file, '--provider', id, '--json']
    const { stdout, stderr } = await carrel(service.dataFolder, args, { env: settings })
    assert.equal(stderr, '')
    return JSON.parse(stdout)
  }
  const ruth = { sub: 'r1', email: 'RUTH@example.edu', email_verified: true, groups: ['staff', 'x'] }
  assert.deepEqual(await explain({ ...ruth, realm_access: { roles: ['curator:maps'] } }, 'company'), {
    provider: 'company',
    signature: null,
    subject: 'r1',
    email: 'RUTH@example.edu',
    emailIgnored: null,
    outcome: 'linked',
    why: null,
    eperson: { uuid, email: 'ruth@example.edu' },
    specialGroups: ['By OIDC', 'Staff', 'Curators'],
  })
  const unverified = await explain({ ...ruth, email_verified: false }, 'company')
  assert.equal(unverified.outcome, 'refused')
  assert.match(unverified.emailIgnored, /email_verified/)
  assert.equal((await explain({ ...ruth, email: 'max@example.edu' }, 'other')).outcome, 'created')
  assert.match((await explain(ruth, 'other')).why, /email\.match is off/)
  assert.match((await explain({ email: 'x@example.edu' }, 'company')).why, /sub \(the subject\) is missing/)
  assert.deepEqual(
    (await service.storage.people.listEpersons()).map(({ email }) => email),
    ['ruth@example.edu'],
  )
})

test('X3 D2 sso identities lists who is who, and sso unlink parts them and ends the tokens', async t => {
  const service = await startService(t)
  const { uuid } = await service.addEperson('ruth@example.edu')
  const client = await service.loggedIn('ruth@example.edu')
  const run = (...args: string[]) => carrel(service.dataFolder, ['sso', ...args])
  assert.deepEqual(JSON.parse((await run('identities', '--json')).stdout), [])
  const identity = {
    provider: 'uni',
    subject: 'r1',
    email: 'ruth@example.edu',
    firstName: null,
    lastName: null,
  }
  const matching = { byEmail: true, create: false }
  const linked = await service.storage.identities.recognize(identity, matching, commandEvent('login', 'uni'))
  assert.equal(linked.kind, 'linked')

  assert.match(
    (await run('identities')).stdout,
    /^EMAIL +PROVIDER +SUBJECT +LINKED\nruth@example\.edu +uni +r1 +20/,
  )
  assert.match(
    (await run('unlink', 'ruth@example.edu', 'other')).stderr,
    /has no identity at other; `carrel sso identities`/,
  )
  assert.match((await run('unlink', 'max@example.edu', 'uni')).stderr, /there is no eperson max@example\.edu/)
  assert.equal(await client.isLoggedIn(), true)
  const { code, stdout } = await run('unlink', 'Ruth@example.edu', 'uni')
  assert.equal(code, 0)
  assert.equal(stdout, 'Removed the identity of Ruth@example.edu at uni.\n')
  assert.equal(await client.isLoggedIn(), false)
  assert.deepEqual(await service.storage.identities.listIdentities(), [])
  const again = await service.storage.identities.recognize(
    { ...identity, subject: 'r2' },
    matching,
    commandEvent('login', 'uni'),
  )
  assert.equal(again.kind === 'linked' && again.eperson.uuid, uuid)
})

testWithoutStore('D1 D2 sso explain in words, and what is wrong with its use', async t => {
  const folder = temporaryFolder(t)
  await carrel(folder, ['group', 'add', 'Readers'])
  const settings = withSingleSignOn(t, { providers: [{ ...(await company()), name: 'Company' }] })
  const attributes = join(folder, 'attributes.json')
  writeFileSync(attributes, JSON.stringify({ sub: 'r1', email: 'ruth@example.edu', email_verified: true }))
  const run = (...args: string[]) => carrel(folder, ['sso', 'explain', ...args], { env: settings })
  const { stdout } = await run('--attributes', attributes)
  assert.equal(
    stdout,
    `Provider        company
Subject         r1
E-mail          ruth@example.edu
Outcome         logs in as a new eperson ruth@example.edu
Special groups  –
`,
  )
  writeFileSync(join(folder, 'list.json'), '[]')
  for (const [args, code, pattern] of [
    [[], 2, /--attributes/],
    [['--attributes', attributes, '--provider', 'nobody'], 2, /--provider must be one of company/],
    [['--attributes', join(folder, 'none.json')], 1, /can't be read: ENOENT/],
    [['--attributes', join(folder, 'list.json')], 1, /must contain one JSON object/],
  ] as const) {
    const { code: given, stderr } = await run(...args)
    assert.equal(given, code, stderr)
    assert.match(stderr, pattern)
  }
})
