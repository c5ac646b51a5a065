import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Idp } from '../../../src/sso/metadata/idp.ts'
import { oneOf, type Reading, readMetadata } from '../../../src/sso/metadata/read.ts'
import { bodyOf, identity } from '../../support/providers/certificates.ts'
import {
  aggregate,
  ecdsa,
  enveloped,
  exclusive,
  type Member,
  memberXml,
  signMetadata,
} from '../../support/providers/federation.ts'

/** Keys for a federation's metadata, which here is as no careful or honest federation would publish it. */
const [federation, foreign] = [identity('federation'), identity('someone else')]
const [good, evil] = ['https://idp.good.example/idp', 'https://idp.evil.example/idp']
const member = (entityId: string, more: Partial<Member> = {}) => memberXml({ entityId, ...more })
const signed = signMetadata(aggregate([member(good)]), federation)

interface Reads {
  readonly certificates?: readonly string[]
  readonly entityId?: string
  /** Number of bytes that arrive at a time. */
  readonly piece?: number
}

function read(
  xml: string | Buffer,
  { certificates = [], entityId, piece = 50_000 }: Reads = {},
): Promise<Reading> {
  const bytes = Buffer.from(xml as string)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
  }
  return readMetadata(pieces(), certificates, {
    entityIds: new Set(entityId === undefined ? [] : [entityId]),
    only: false,
    others: entityId === undefined,
    letsIn: () => true,
  })
}
const verified = (xml: string) => read(xml, { certificates: [federation.certificate] })
const namesIn = ({ idps }: Reading) => [...idps.keys()]

test('metadata: what the federation has signed is read, in pieces of any size', async () => {
  for (const piece of [1, 7, 64, 4_096, 1_000_000]) {
    const reading = await read(signed, { certificates: [foreign.certificate, federation.certificate], piece })
    assert.deepEqual(namesIn(reading), [good])
  }
})

test('metadata: signatures of RSA and ECDSA with SHA-2 are accepted', async () => {
  const curve = identity('federation with a curve', { kind: 'ec' })
  const more = 'http://www.w3.org/2001/04/xmldsig-more#'
  for (const [by, signing] of [
    [
      federation,
      { signatureAlgorithm: `${more}rsa-sha512`, digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha512' },
    ],
    [curve, { signatureAlgorithm: ecdsa }],
  ] as const) {
    const xml = signMetadata(aggregate([member(good)]), by, signing)
    assert.deepEqual(namesIn(await read(xml, { certificates: [by.certificate] })), [good])
  }
})

const signatureIn = (xml: string) => /<ds:Signature .*<\/ds:Signature>/s.exec(xml)?.[0] ?? ''
const withoutSignature = (xml: string) => xml.replace(signatureIn(xml), '')
const insideRoot = (xml: string) =>
  /<md:EntitiesDescriptor[^>]*>(.*)<\/md:EntitiesDescriptor>/s.exec(xml)?.[1] ?? ''
const putFirst = (xml: string, first: string) => xml.replace(/(<md:EntitiesDescriptor[^>]*>)/, `$1${first}`)

const hostile: readonly (readonly [name: string, xml: () => string, why: RegExp])[] = [
  ['no signature', () => aggregate([member(good)]), /does not begin with a Signature/],
  [
    'a signature of someone else',
    () => signMetadata(aggregate([member(good)]), foreign),
    /not made with the key/,
  ],
  [
    'an entity that was added',
    () => signed.replace('</md:EntitiesDescriptor>', `${member(evil)}$&`),
    /digest is another/,
  ],
  ['an entity that was renamed', () => signed.replace(good, evil), /digest is another/],
  [
    'another certificate',
    () =>
      signed.replaceAll(
        /(<ds:X509Certificate>)[^<]*(?=[\s\S]*<\/md:EntityDescriptor>)/g,
        `$1${bodyOf(foreign.certificate)}`,
      ),
    /digest is another/,
  ],
  [
    'a later validUntil',
    () =>
      signMetadata(
        aggregate([member(good)], { validUntil: new Date(Date.now() - 1_000) }),
        federation,
      ).replace(/validUntil="[^"]*"/, 'validUntil="2099-01-01T00:00:00Z"'),
    /digest is another/,
  ],
  [
    'a validUntil that was removed',
    () =>
      signMetadata(aggregate([member(good)], { validUntil: new Date(0) }), federation).replace(
        / validUntil="[^"]*"/,
        '',
      ),
    /digest is another/,
  ],
  [
    'a digest of what was changed',
    () => signed.replace(good, evil).replace(/<ds:DigestValue>[^<]*/, '<ds:DigestValue>AAAA'),
    /not made with the key/,
  ],
  // Wrapping: the signed root is elsewhere, and another one takes its place.
  [
    'the signed root inside of the signature of another',
    () =>
      aggregate([member(evil)], {
        first: signatureIn(signed).replace(
          '</ds:Signature>',
          `<ds:Object>${withoutSignature(signed).replace(/^<\?.*\?>/, '')}</ds:Object></ds:Signature>`,
        ),
      }),
    /digest is another/,
  ],
  [
    'the signed root inside of another with the same id',
    () =>
      aggregate([member(evil), withoutSignature(signed).replace(/^<\?.*\?>/, '')], {
        first: signatureIn(signed),
      }),
    /digest is another/,
  ],
  [
    'the signed root inside of another with another id',
    () => aggregate([signed.replace(/^<\?.*\?>/, ''), member(evil)], { id: '_evil' }),
    /does not begin with a Signature/,
  ],
  [
    'another root that borrows the signature',
    () => aggregate([member(evil)], { id: '_evil', first: signatureIn(signed) }),
    /does not refer to its root/,
  ],
  ['two signatures', () => putFirst(signed, signatureIn(signed)), /several signatures/],
  [
    'two of SignedInfo',
    () => signed.replace(/<ds:SignedInfo>.*<\/ds:SignedInfo>/s, '$&$&'),
    /exactly one SignedInfo/,
  ],
  [
    'a signature that isn’t first',
    () => withoutSignature(signed).replace('</md:EntitiesDescriptor>', `${signatureIn(signed)}$&`),
    /does not begin with a Signature/,
  ],
  [
    'only an entity that is signed',
    () =>
      aggregate([
        signMetadata(
          member(good).replace(
            '<md:EntityDescriptor',
            '<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" xmlns:mdui="urn:oasis:names:tc:SAML:metadata:ui" ID="_one"',
          ),
          federation,
        ),
      ]),
    /does not begin with a Signature/,
  ],
  [
    'SHA-1',
    () =>
      signMetadata(aggregate([member(good)]), federation, {
        signatureAlgorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1',
      }),
    /algorithm of its signature is not accepted/,
  ],
  [
    'a digest by SHA-1',
    () =>
      signMetadata(aggregate([member(good)]), federation, {
        digestAlgorithm: 'http://www.w3.org/2000/09/xmldsig#sha1',
      }),
    /digest of its signature is not accepted/,
  ],
  [
    'another canonicalisation',
    () =>
      signMetadata(aggregate([member(good)]), federation, {
        canonicalizationAlgorithm: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
      }),
    /only the exclusive one is/,
  ],
  [
    'canonicalisation with comments',
    () =>
      signMetadata(aggregate([member(good)]), federation, {
        transforms: [enveloped, `${exclusive}WithComments`],
      }),
    /transforms of its signature/,
  ],
  [
    'fewer transforms',
    () => signMetadata(aggregate([member(good)]), federation, { transforms: [exclusive] }),
    /transforms of its signature/,
  ],
  [
    'a document type',
    () => signed.replace('<md:EntitiesDescriptor', '<!DOCTYPE md:EntitiesDescriptor [<!ENTITY a "b">]>$&'),
    /document type/,
  ],
  ['an end that comes too early', () => signed.slice(0, -40), /not well-formed/],
  ['something after the end', () => `${signed}<evil/>`, /not well-formed/],
]

for (const [name, xml, why] of hostile)
  test(`metadata that must be signed: ${name} is refused`, async () => {
    await assert.rejects(verified(xml()), why)
  })

test('metadata that must be signed: what is in the signature is never read as metadata', async () => {
  const inside = `<ds:Object>${member(evil)}</ds:Object></ds:Signature>`
  const reading = await verified(signed.replace('</ds:Signature>', inside))
  assert.deepEqual(namesIn(reading), [good])
  assert.deepEqual(namesIn(await read(signed.replace('</ds:Signature>', inside))), [good], 'nor unsigned')
})

test('metadata that must be signed: comments change nothing of what is read', async () => {
  const commented = signed
    .replace(good, `${good}`)
    .replace('<mdui:DisplayName xml:lang="en">', '$&<!-- c -->')
  const { idps } = await verified(commented)
  assert.equal(idps.get(good)?.metadata.displayName, good)
})

test('metadata: an entity that comes twice is no one’s', async () => {
  for (const xml of [
    aggregate([member(good), member(evil), member(good, { certificate: foreign.certificate })]),
    aggregate([member(good), insideRoot(aggregate([member(good)]))]),
  ]) {
    assert.deepEqual([...(await read(xml)).twice], [good])
    assert.match(String(oneOf(await read(xml, { entityId: good }), good)), /twice/)
  }
})

test('metadata: the earliest validUntil counts, of the entity, its role and all that is around it', async () => {
  const inHours = (hours: number) => new Date(Math.round(Date.now() / 1000) * 1000 + hours * 3_600_000)
  const until = async (xml: string) => (await read(xml)).idps.get(good)?.metadata.validUntil
  const [one, two, three] = [1, 2, 3].map(inHours) as [Date, Date, Date]
  assert.equal(await until(aggregate([member(good)])), null)
  assert.equal(
    await until(aggregate([member(good, { validUntil: two })], { validUntil: three })),
    two.getTime(),
  )
  assert.equal(
    await until(aggregate([member(good, { validUntil: two })], { validUntil: one })),
    one.getTime(),
  )
  const nested = aggregate(
    [`<md:EntitiesDescriptor validUntil="${one.toISOString()}">${member(good)}</md:EntitiesDescriptor>`],
    { validUntil: two },
  )
  assert.equal(await until(nested), one.getTime())
  const ofRole = member(good, { validUntil: two }).replace(
    '<md:IDPSSODescriptor',
    `$& validUntil="${one.toISOString()}"`,
  )
  assert.equal(await until(aggregate([ofRole], { validUntil: three })), one.getTime())
  const zoneless = aggregate([member(good)]).replace(' ID=', ' validUntil="2031-02-03T04:05:06" ID=')
  assert.equal(await until(zoneless), Date.UTC(2031, 1, 3, 4, 5, 6))
  await assert.rejects(
    until(aggregate([member(good)]).replace(' ID=', ' validUntil="soon" ID=')),
    /validUntil is no time/,
  )
})

test('metadata: cacheDuration is read', async () => {
  for (const [given, seconds] of [
    ['PT1H', 3_600],
    ['P1DT30M5.5S', 88_205],
    ['soon', null],
    ['-PT1H', null],
  ] as const)
    assert.equal(
      (await read(aggregate([member(good)], { cacheDuration: given }))).cacheDuration,
      seconds,
      given,
    )
})

test('metadata: an entity that can’t be used, or has no sound name, leaves the others', async () => {
  const names = ['https://a b', '', 'x'.repeat(1_025), 'https://idp.no-key.example']
  const members = [
    ...names.slice(0, 3).map(name => member(name)),
    member(names[3] ?? '').replace(/<ds:X509Certificate>[^<]*/, '<ds:X509Certificate>AAAA'),
    member(good),
  ]
  const reading = await read(aggregate(members))
  assert.deepEqual(namesIn(reading), [good])
  assert.deepEqual([...reading.unusable.keys()], [names[3]])
})

test('metadata: an entity larger than any real one is refused, and skipped where it isn’t wanted', async () => {
  const huge = member(evil, { more: '<md:Extra/>'.repeat(11_000) })
  await assert.rejects(read(aggregate([huge, member(good)])), /larger than any real one/)
  assert.deepEqual(namesIn(await read(aggregate([huge, member(good)]), { entityId: good })), [good])
})

test('metadata: too much of anything is refused', async () => {
  async function* endless() {
    yield Buffer.from('<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">')
    for (const piece = Buffer.from(`<md:Extra>${'0123456789'.repeat(5_000)}</md:Extra>`.repeat(30)); ; )
      yield piece
  }
  const nobody = { entityIds: new Set<string>(), only: false, others: false, letsIn: () => false }
  await assert.rejects(readMetadata(endless(), [], nobody), /larger than 128 MiB/)
  const entities = '<md:EntityDescriptor entityID="a"/>'.repeat(100_001)
  await assert.rejects(read(aggregate([entities]), { entityId: good }), /more than 100000 entities/)
  const groups = (depth: number) =>
    '<md:EntitiesDescriptor>'.repeat(depth) + '</md:EntitiesDescriptor>'.repeat(depth)
  await assert.rejects(read(aggregate([groups(40)])), /nested more than 40 deep/)
})

test('metadata: what is not metadata, or not UTF-8, says so', async () => {
  await assert.rejects(read('<html/>'), /describes no SAML 2.0 identity provider/)
  await assert.rejects(read(Buffer.from([0x3c, 0x61, 0xff, 0x3e])), /not UTF-8/)
  await assert.rejects(read(''), /not well-formed XML/)
})

test('metadata: scopes, names and entity attributes are those that the metadata gives to this entity', async () => {
  const xml = aggregate([
    member(good, {
      name: 'Good University',
      names: { de: 'Gute Universität' },
      scopes: ['Good.Example', 'good.example.net'],
      registrationAuthority: 'https://registrar.example',
      entityAttributes: [['name', 'value']],
      keywords: 'river+town',
      domainHint: 'students.good.example',
    }),
    member(evil, { scopes: ['.*'], areRegular: true }),
  ])
  const { idps } = await read(xml)
  const { metadata, listing } = idps.get(good) as Idp
  assert.deepEqual(metadata.scopes, ['good.example', 'good.example.net'])
  assert.deepEqual(listing, {
    names: ['Good University', 'Gute Universität'],
    keywords: ['river+town'],
    domainHints: ['students.good.example'],
    registrationAuthority: 'https://registrar.example',
    entityAttributes: [['name', 'value']],
  })
  assert.deepEqual(idps.get(evil)?.metadata.scopes, [], 'regular expressions are ignored')
})
