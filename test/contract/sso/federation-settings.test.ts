import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { toConfig } from '../../../src/config/config.ts'
import { addressesOf } from '../../../src/http/addresses.ts'
import { signOnAddresses } from '../../../src/sso/addresses.ts'
import { checkSignOn } from '../../../src/sso/check/check.ts'
import { aggregate, document, memberXml, signMetadata } from '../../support/providers/federation.ts'
import {
  affiliation,
  asFederation,
  entitlement,
  federation,
  federationSettings,
  signedAggregate,
  startMetadataServer,
  subjectId,
} from '../../support/providers/federation-flow.ts'
import { carrel } from '../../support/service/process.ts'
import { baseUrl, startService, temporaryFolder } from '../../support/service/service.ts'

type Settings = Readonly<Record<string, unknown>>
const file = { metadata: 'federation.xml' }
const configOf = (t: TestContext, settings: Settings) =>
  toConfig({ CARREL_BASE_URL: baseUrl, ...federationSettings(t, { settings }).env })

test('D3 X12 a federation trusts e-mail addresses by scope unless it is told never to', t => {
  for (const [settings, verified] of [
    [asFederation(), 'scope'],
    [asFederation({}, { email: { verified: 'never' } }), 'never'],
    [{}, 'always'],
    [{ email: { verified: 'scope' } }, 'scope'],
  ] as const)
    assert.equal(configOf(t, { ...file, ...settings }).singleSignOn?.providers[0]?.email.verified, verified)
})

test('D3 X11 X12 X13 what is wrong with metadata and federations stops the start', t => {
  const rule = { group: 'Staff', value: 'x' }
  const mdq = { metadataQuery: 'https://mdq.example.org' }
  const wrong: readonly (readonly [Settings, RegExp])[] = [
    [{}, /providers\[0\]: needs either metadata or metadataQuery/],
    [{ ...file, ...mdq }, /needs either metadata or metadataQuery/],
    [{ metadata: 'http://example.org/all.xml' }, /metadata: must begin with https/],
    [{ metadata: 'ftp://example.org/all.xml' }, /metadata: must begin with https/],
    [{ metadata: 'https://user:password@example.org/' }, /no user, no password/],
    [{ metadata: 'https://example.org/', metadataRefresh: 30 }, /metadataRefresh: must be at least 60/],
    [{ metadataQuery: 'http://mdq.example.org', entityId: 'x' }, /metadataQuery: must begin with https/],
    [mdq, /entityId: must be set/],
    [{ ...mdq, federation: {} }, /discoveryUrl: must be set/],
    [
      { ...file, federation: { discoveryUrl: 'http://ds.example.org/' } },
      /discoveryUrl: must begin with https/,
    ],
    [{ ...file, metadataCertificate: 'none.pem' }, /metadataCertificate: the file none\.pem can't be read/],
    [{ ...file, metadataCertificate: 'carrel.json' }, /must hold PEM certificates/],
    [{ ...file, entityId: 'x', federation: {} }, /entityId: and federation exclude each other/],
    [{ ...file, federation: {}, email: { verified: 'always' } }, /email\.verified: must be scope or never/],
    [{ ...file, federation: {}, email: { verified: 'claim' } }, /email\.verified/],
    [
      { ...file, federation: {}, groups: [{ ...rule, attribute: entitlement }] },
      /groups\[0\]\.attribute: must be one of federation\.scopedAttributes/,
    ],
    [{ ...file, federation: { requireRegistrationAuthority: [] } }, /must have 1 or more elements, not 0/],
  ]
  for (const [settings, pattern] of wrong) assert.throws(() => configOf(t, settings), pattern)
  assert.doesNotThrow(() =>
    configOf(t, { ...file, federation: {}, groups: [{ ...rule, attribute: affiliation }] }),
  )
})

async function findings(t: TestContext, metadata: string | undefined, settings: Settings): Promise<string> {
  const { env } = federationSettings(t, { ...(metadata !== undefined && { metadata }), settings })
  const config = toConfig({ CARREL_BASE_URL: 'https://repo.example.edu', ...env })
  assert.ok(config.singleSignOn)
  const found: string[] = []
  const addresses = signOnAddresses(addressesOf(config))
  for await (const { level, about, what } of checkSignOn({
    ...config,
    singleSignOn: config.singleSignOn,
    addresses,
  }))
    if (about === 'uni') found.push(`${level}: ${what}`)
  return found.join('\n')
}

const members = ['good', 'other'].map(name =>
  memberXml({ entityId: `https://${name}.example/idp`, scopes: name === 'good' ? ['good.example'] : [] }),
)
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)

test('X11 X12 sso check reads a federation’s metadata, and says what is wrong with it', async t => {
  const current = { validUntil: inDays(14) }
  const [good = '', other = ''] = members
  for (const [metadata, settings, ...patterns] of [
    [
      signedAggregate(members, current),
      asFederation(),
      /^ok: the signature of its metadata is checked$/m,
      /^ok: lets in 2 identity providers$/m,
      /^ok: 1 of them have no scope/m,
    ],
    [aggregate(members), asFederation(), /^error: the metadata .*: it is not signed/m],
    [signedAggregate(members), asFederation(), /^warning: its metadata has no validUntil/m],
    [
      signedAggregate(members, { validUntil: inDays(-1) }),
      asFederation(),
      /^error: the metadata expired on/m,
    ],
    [
      signedAggregate(members, { validUntil: inDays(2) }),
      asFederation(),
      /^warning: the metadata expires on/m,
    ],
    [
      signedAggregate(members, current),
      asFederation({ requireRegistrationAuthority: ['https://nobody.example'] }),
      /^error: its rules let in none/m,
    ],
    [
      signedAggregate([good, good, other.replace(/(X509Certificate>)[^<]*/, '$1AAAA')], current),
      asFederation(),
      /^warning: 1 identity providers come twice .*https:\/\/good\.example\/idp$/m,
      /^warning: 1 identity providers cannot be used, such as https:\/\/other\.example\/idp$/m,
    ],
    [
      signedAggregate(members, { validUntil: inDays(-1) }),
      { entityId: 'https://good.example/idp' },
      /^error: the metadata expired on/m,
    ],
  ] as const) {
    const found = await findings(t, metadata, settings)
    for (const pattern of patterns) assert.match(found, pattern)
  }
})

test('X11 X13 sso check asks the servers of metadata', async t => {
  const server = await startMetadataServer(t)
  server.files.set('/all.xml', { body: signedAggregate(members) })
  const entityId = 'https://good.example/idp'
  const [good = ''] = members
  server.files.set(`/entities/${encodeURIComponent(entityId)}`, {
    body: signMetadata(document(good), federation),
  })
  const metadata = `${server.address}/all.xml`
  assert.match(
    await findings(t, undefined, { metadata, entityId }),
    new RegExp(`^ok: entity id ${entityId}`, 'm'),
  )
  const metadataQuery = server.address
  assert.match(
    await findings(t, undefined, { metadataQuery, entityId }),
    new RegExp(`^ok: entity id ${entityId}`, 'm'),
  )
  assert.match(
    await findings(t, undefined, { metadataQuery, entityId: 'https://nobody.example/idp' }),
    /^error: the metadata http.*: the server does not know https:\/\/nobody\.example\/idp \(404\)$/m,
  )
  server.files.clear()
  assert.match(
    await findings(t, undefined, { metadata, entityId }),
    /^error: .*does not know this address \(404\)/m,
  )
})

test('X12 sso explain takes the scopes of the identity provider that it is told', async t => {
  const { env } = federationSettings(t, { metadata: signedAggregate(members), settings: asFederation() })
  const { dataFolder } = await startService(t, { env })
  const attributes = join(temporaryFolder(t), 'ada.json')
  writeFileSync(
    attributes,
    JSON.stringify({
      [subjectId]: 'ada@good.example',
      'urn:oid:0.9.2342.19200300.100.1.3': 'ada@good.example',
    }),
  )
  const explain = (...args: string[]) =>
    carrel(dataFolder, ['sso', 'explain', '--attributes', attributes, ...args], { env })
  const good = await explain('--entity-id', 'https://good.example/idp')
  assert.match(
    good.stdout,
    /Subject +https:\/\/good\.example\/idp ada@good\.example\n.*\n.*new eperson ada@good\.example/,
  )
  const other = await explain('--entity-id', 'https://other.example/idp')
  assert.match(other.stdout, /is refused: .*\(the subject\) has no scope that the metadata gives/)
  assert.match(
    (await explain('--entity-id', 'https://nobody.example/idp')).stderr,
    /does not describe the identity provider/,
  )
  assert.match((await explain()).stderr, /--entity-id must name the identity provider: uni is a federation/)
})
