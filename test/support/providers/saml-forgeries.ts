import assert from 'node:assert/strict'
import { bodyOf, identity } from './certificates.ts'
import {
  about,
  entityId,
  type Forge,
  mail,
  noSubject,
  type PendingLogin,
  type Refused,
  refusal,
  response,
} from './saml-attempt.ts'
import {
  assertionXml,
  encrypted,
  first,
  holdsValidSignature,
  type Message,
  responseXml,
  signed,
  wrappings,
} from './saml-forge.ts'
import { nameIdFormats } from './saml-provider.ts'

/** The eperson whom the forgeries try to impersonate. */
export const victim = 'admin@example.org'
/** A key that no provider has. */
export const foreign = identity('someone else')

interface Case {
  readonly name: string
  readonly hostile: Forge
  /** The message before it was changed, which is accepted. */
  readonly honest: Forge
  readonly refused?: Refused
  /**
   * True if the forgery may be accepted for its signed content, because this is what the provider vouches
   * for.
   */
  readonly harmless?: boolean
}

/** A correctly signed message with one wrong statement. */
const but = (
  name: string,
  changes: Partial<Message>,
  { honest = {}, refused = refusal }: { honest?: Partial<Message>; refused?: Refused } = {},
): Case => ({
  name,
  honest: attempt => response(attempt, honest, { element: 'Response' }),
  hostile: attempt => response(attempt, changes, { element: 'Response' }),
  refused,
})
const after = (name: string, hostile: Forge, honest: Forge = attempt => response(attempt)): Case => ({
  name,
  honest,
  hostile,
})

const isValid = (xml: string, { provider }: PendingLogin) =>
  holdsValidSignature(xml, provider.identity.certificate)

/** Signature wrapping: the signed element is moved, and a forged one takes its place. */
export const wrapped: Case[] = Object.entries(wrappings).map(([name, { signs, wrap }]) => {
  const honest: Forge = attempt => response(attempt, {}, { element: signs })
  const hostile: Forge = async attempt => {
    const xml = wrap(await honest(attempt), copy => {
      first(copy, 'NameID').textContent = 'admin'
      first(copy, 'AttributeValue').textContent = victim
    })
    // The verifying library refuses a document with a duplicate ID for that alone.
    if (!/^XSW[78]$/.test(name)) assert.ok(isValid(xml, attempt))
    return xml
  }
  // In XSW7, the evil assertion is in a place that is never read, and the true one keeps its own.
  return { name: `signature wrapping ${name}`, honest, hostile, harmless: name === 'XSW7 with another ID' }
})

const evil = `${victim}.evil.example.net`
const withEvilName: Forge = attempt =>
  response(attempt, { nameId: evil, attributes: mail('evil@example.net') })
const withEvilMail: Forge = attempt => response(attempt, { nameId: 'mail', attributes: mail(evil) })
const cut = (xml: string, by: string) => xml.replace(`>${evil}<`, `>${victim}${by}.evil.example.net<`)
const withEntity = async (attempt: PendingLogin, entities: string) =>
  `<!DOCTYPE r [${entities}]>${response(attempt).replace('>mallory<', '>&who;<')}`

/** Comments, processing instructions, document types and entities. */
export const markup: Case[] = [
  after(
    'a comment in NameID',
    async attempt => {
      const xml = cut(await withEvilName(attempt), '<!---->')
      assert.ok(isValid(xml, attempt), 'comments are not signed')
      return xml
    },
    withEvilName,
  ),
  after('a comment in an attribute', async one => cut(await withEvilMail(one), '<!-- x -->'), withEvilMail),
  after('an instruction in NameID', async one => cut(await withEvilName(one), '<?x y?>'), withEvilName),
  after('a comment in the issuer', one => response(one).replace('</saml:Issuer>', '<!----></saml:Issuer>')),
  after('an instruction that the provider has signed', one =>
    response(one, { nameId: `${victim}<?x y?>.evil`, attributes: mail('evil@example.net') }),
  ),
  after('a document type', one => `<!DOCTYPE Response>${response(one)}`),
  after('an entity of its own', one => withEntity(one, `<!ENTITY who "${victim}">`)),
  after('an entity from a file', one => withEntity(one, '<!ENTITY who SYSTEM "file:///etc/hostname">')),
  after('entities that grow', one => {
    const tenfold = (at: number) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`
    const levels = Array.from({ length: 20 }, (_, at) => tenfold(at)).join('')
    return withEntity(one, `<!ENTITY e0 "x">${levels}<!ENTITY who "&e20;">`)
  }),
]

/** Messages signed by the provider, but not for this login. */
export const contents: Case[] = [
  but('another audience', { audience: 'https://other.example.org' }),
  but('no audience', { audience: null }),
  but('an audience that begins like the right one', { audience: `${entityId}.evil.example.org` }),
  but('another recipient', { recipient: 'https://other.example.org/acs' }),
  but('no recipient', { recipient: null }),
  but('another destination', { destination: 'https://other.example.org/acs' }),
  but('another issuer', { issuer: 'https://other.example.org' }),
  but('another issuer in the assertion', { assertionIssuer: 'https://other.example.org' }),
  but('no issuer in the assertion', { assertionIssuer: null }),
  but('another request', { inResponseTo: '_another' }),
  but('another request in the confirmation', { confirmedRequest: '_another' }),
  but('no request, because the provider has begun it', { inResponseTo: null }),
  but('no request in the confirmation', { confirmedRequest: null }),
  but('a beginning in the future', { notBefore: 600 }, { honest: { notBefore: 20 } }),
  but('an end in the past', { notOnOrAfter: -600 }, { honest: { notOnOrAfter: -20 } }),
  but(
    'a confirmation with an end in the past',
    { confirmationNotOnOrAfter: -600 },
    { honest: { confirmationNotOnOrAfter: -20 } },
  ),
  but('a confirmation without an end', { confirmationNotOnOrAfter: null }),
  but('confirmation by holder-of-key', { confirmation: 'holder-of-key' }),
  but('confirmation by sender-vouches', { confirmation: 'sender-vouches' }),
  but('no confirmation', { confirmation: null }),
  but('a subject that is for this time only', { nameIdFormat: nameIdFormats.transient }),
  but('an empty NameID', { nameId: '' }, { refused: noSubject }),
  but('a NameID of spaces', { nameId: '   ' }, { refused: noSubject }),
  but('no NameID', { nameId: null }, { refused: noSubject }),
  but('a failure', { status: 'Responder', assertions: [] }),
  but('a failure with an assertion', { status: 'Requester' }),
  but('no assertion', { assertions: [] }),
  after('a failure that nobody has signed', one =>
    responseXml(about(one, { status: 'Responder', assertions: [] })),
  ),
  after('two assertions', one => {
    const assertions = [assertionXml(about(one)), assertionXml(about(one, { nameId: 'other' }))]
    return response(one, { assertions }, { element: 'Response' })
  }),
  after('a second assertion that nobody has signed', one => {
    const assertions = [assertionXml(about(one)), assertionXml(about(one, { nameId: 'other' }))]
    return response(one, { assertions })
  }),
]

/** Signatures that are missing, foreign, weak or doubled. */
export const signatures: Case[] = [
  after('no signature', one => responseXml(about(one))),
  after('its signature taken out', one => response(one).replace(/<ds:Signature .*<\/ds:Signature>/s, '')),
  after('other content than was signed', one => response(one).replaceAll('mallory', 'admin')),
  after('the signature of a foreign key, whose certificate comes along', one =>
    response(one, {}, { identity: foreign }),
  ),
  after('the signature of a foreign key beside the right certificate', one => {
    const { certificate } = one.provider.identity
    return response(one, {}, { identity: foreign }).replace(bodyOf(foreign.certificate), bodyOf(certificate))
  }),
  after('SHA-1 in the signature', one => response(one, {}, { algorithm: 'rsa-sha1' })),
  after('SHA-1 in the digest', one => response(one, {}, { digest: 'sha1' })),
  after('an HMAC whose key is the certificate', one => response(one, {}, { algorithm: 'hmac-sha1' })),
  after('another signature beside the good one', one => {
    const xml = response(one)
    const [signature = ''] = /<ds:Signature .*<\/ds:Signature>/s.exec(xml) ?? []
    return xml.replace(signature, signature + signature)
  }),
]

/** Encrypted forgeries. @param certificate the service's, for which anyone can encrypt */
export const encryptedOnes = (certificate: string): Case[] => {
  const inside: Forge = one => encrypted(response(one), { certificate })
  /** Encrypted and then signed as a whole, so that the ciphertext can't be changed for an attack on it. */
  const whole = async (one: PendingLogin, how: { content?: 'aes256-cbc'; key?: 'rsa-1.5' }) =>
    signed(await encrypted(responseXml(about(one)), { certificate, ...how }), {
      element: 'Response',
      identity: one.provider.identity,
    })
  /** An encrypted name, or another encrypted element, in a signed assertion. */
  const named = async (one: PendingLogin, how: Partial<Parameters<typeof encrypted>[1]> = {}) =>
    signed(await encrypted(responseXml(about(one)), { element: 'NameID', certificate, ...how }), {
      element: 'Assertion',
      identity: one.provider.identity,
    })
  const wrappedInside = ['XSW4', 'XSW6', 'XSW8', 'XSW8 with another ID'].map(name =>
    after(
      `an encrypted assertion with signature wrapping ${name}`,
      one => {
        const evil = wrappings[name]?.wrap(response(one), copy => {
          first(copy, 'NameID').textContent = 'admin'
        })
        return encrypted(evil ?? '', { certificate })
      },
      inside,
    ),
  )
  return [
    ...wrappedInside,
    after(
      'a name that is encrypted to someone else',
      one => named(one, { certificate: foreign.certificate }),
      named,
    ),
    after(
      'an attribute that is encrypted to someone else',
      one => named(one, { element: 'Attribute', certificate: foreign.certificate }),
      one => named(one, { element: 'Attribute' }),
    ),
    after(
      'another encrypted name in the place of the one that was signed',
      async one => {
        const [theirs = ''] = /<saml:EncryptedID.*<\/saml:EncryptedID>/s.exec(await named(one)) ?? []
        return (await named(one)).replace(/<saml:EncryptedID.*<\/saml:EncryptedID>/s, theirs)
      },
      one => named(one, { content: 'aes256-cbc' }),
    ),
    after(
      'a name whose key was encrypted with RSA PKCS #1 1.5',
      one => named(one, { key: 'rsa-1.5' }),
      one => named(one, { key: 'rsa-oaep-sha256' }),
    ),
    after(
      'an encrypted assertion without a signature',
      one => encrypted(responseXml(about(one)), { certificate }),
      one => whole(one, {}),
    ),
    after(
      'a key that was encrypted with RSA PKCS #1 1.5',
      one => encrypted(response(one), { certificate, key: 'rsa-1.5' }),
      one => encrypted(response(one), { certificate, key: 'rsa-oaep-sha256' }),
    ),
    after(
      'a key that was encrypted with RSA PKCS #1 1.5 in a response that is signed',
      one => whole(one, { key: 'rsa-1.5' }),
      one => whole(one, {}),
    ),
    after(
      'an encryption by CBC in a response that is not signed',
      one => encrypted(response(one), { certificate, content: 'aes256-cbc' }),
      one => whole(one, { content: 'aes256-cbc' }),
    ),
    after(
      'an encrypted assertion with the signature of a foreign key',
      one => encrypted(response(one, {}, { identity: foreign }), { certificate }),
      inside,
    ),
    after(
      'an encrypted assertion with SHA-1 in its signature',
      one => encrypted(response(one, {}, { algorithm: 'rsa-sha1' }), { certificate }),
      inside,
    ),
    after(
      'an encrypted assertion with a comment in NameID',
      async one => encrypted(cut(await withEvilName(one), '<!---->'), { certificate }),
      async one => encrypted(await withEvilName(one), { certificate }),
    ),
    after(
      'an encrypted assertion for another recipient',
      one => encrypted(response(one, { recipient: 'https://other.example.org/acs' }), { certificate }),
      inside,
    ),
    after('an assertion that is encrypted to someone else', one =>
      encrypted(response(one), { certificate: foreign.certificate }),
    ),
    after(
      'an encrypted assertion beside one that is not',
      async one => {
        const element = /<saml:EncryptedAssertion.*<\/saml:EncryptedAssertion>/s
        const [secret = ''] = element.exec(await inside(one)) ?? []
        return response(one, { nameId: 'other' }).replace('</samlp:Response>', `${secret}</samlp:Response>`)
      },
      inside,
    ),
  ]
}
