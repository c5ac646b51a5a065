import { randomUUID, sign, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { DOMParser, XMLSerializer } from '@xmldom/xmldom'
import { SignedXml } from 'xml-crypto'
import { type EncryptOptions, encrypt as encryptXml } from 'xml-encryption'
import type { Identity } from './certificates.ts'
import { attributeStatement, escaped, nameIdFormats, type SamlUser } from './saml-provider.ts'

/**
 * A SAML message that can contain anything. Members that are left out get values that the service accepts
 * now; null removes them.
 */
export interface Message {
  readonly issuer: string
  /** The issuer of the assertion if it differs from that of the message. */
  readonly assertionIssuer?: string | null
  readonly audience: string | null
  readonly destination: string | null
  readonly recipient: string | null
  /** The request that message and confirmation refer to. */
  readonly inResponseTo: string | null
  /** The request in the confirmation if it differs. */
  readonly confirmedRequest?: string | null
  /** Seconds from now. */
  readonly notBefore?: number | null
  readonly notOnOrAfter?: number | null
  readonly confirmationNotOnOrAfter?: number | null
  /** The content of the NameID as XML. */
  readonly nameId: string | null
  readonly nameIdFormat?: string
  readonly attributes?: SamlUser['attributes']
  readonly confirmation?: 'bearer' | 'holder-of-key' | 'sender-vouches' | null
  readonly messageId?: string
  readonly assertionId?: string
  readonly sessionIndex?: string
  /** Seconds from now, or a text written as it is. */
  readonly authnInstant?: number | string | null
  readonly authnContext?: string | null
  readonly status?: string
  /** Assertions as XML, in place of the one that the other members describe. */
  readonly assertions?: readonly string[]
}

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const attribute = (name: string, value: string | null | undefined) =>
  value === null || value === undefined ? '' : ` ${name}="${escaped(value)}"`
const moment = (name: string, seconds: number | null) =>
  seconds === null ? '' : attribute(name, inSeconds(seconds))
const element = (name: string, content: string | null) =>
  content === null ? '' : `<${name}>${content}</${name}>`

/** The prefix of the classes of AuthnContext. */
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
  /** Local name of the signed element, the first of that name. */
  readonly element: 'Response' | 'Assertion' | 'LogoutRequest'
  readonly identity: Identity
  readonly algorithm?: keyof typeof signatureAlgorithms
  readonly digest?: keyof typeof digestAlgorithms
  /** The content of KeyInfo: nothing, or the bare key, as Lasso (LemonLDAP::NG) and others send it. */
  readonly keyInfo?: string
}

/** Returns the bare key of a certificate (XML Signature §4.5.2.2). */
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
    // With an HMAC, the public certificate is used as if it were a secret key.
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
  /** Local name of the encrypted element, the first of that name. */
  readonly element?: 'Assertion' | 'NameID' | 'Attribute'
  /** Certificate in PEM; its private key can decrypt the element. */
  readonly certificate: string
  readonly content?: keyof typeof contentAlgorithms
  readonly key?: keyof typeof keyAlgorithms
}

/** @returns the response with its only assertion, or an element of it, encrypted */
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
  // The types are those of an older version with fewer algorithms.
  const data = await promisify(encryptXml)(serialize(secret), options as EncryptOptions)
  const name = element === 'NameID' ? 'EncryptedID' : `Encrypted${element}`
  const wrapped = parse(
    `<saml:${name} xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${data}</saml:${name}>`,
  )
  secret.parentNode?.replaceChild(document.importNode(wrapped.documentElement, true), secret)
  return serialize(document)
}

// Signature wrapping -------------------------------------------------------------------------------------------

/** Changes the unsigned copy. */
type Evil = (copy: Element) => void

interface Wrapping {
  /** The element that must be signed in the original message. */
  readonly signs: 'Response' | 'Assertion' | 'LogoutRequest'
  /**
   * Turns a validly signed message into one whose signature is still valid, but for a part that a careless
   * reader ignores.
   */
  readonly wrap: (signedXml: string, evil: Evil) => string
}

/**
 * The eight attacks of Somorovsky et al., "On Breaking SAML: Be Whoever You Want to Be" (USENIX Security
 * 2012), as SAML Raider implements them. In 7 and 8, SAML Raider gives the evil assertion the same ID; here,
 * there is also a variant with another ID.
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

/** Such attacks on a logout request. */
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

/** @param place inserts whichever of the two is not in the document yet */
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

/**
 * Returns true if a valid signature is anywhere in the document, which is all that a careless service checks.
 */
export function holdsValidSignature(xml: string, certificate: string): boolean {
  const verifier = new SignedXml({ publicCert: certificate })
  verifier.loadSignature(first(parse(xml), 'Signature'))
  return verifier.checkSignature(xml)
}

// XML ----------------------------------------------------------------------------------------------------------

export const parse = (xml: string): Document => new DOMParser().parseFromString(xml, 'text/xml')
const serialize = (node: Node): string => new XMLSerializer().serializeToString(node)

/** Returns the first descendant element of this local name. */
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

/** Returns a logout request as a query, signed as in SAML bindings §3.4.4.1. */
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

/** Encodes a message as a parameter of a redirect. */
export const deflated = (xml: string): string => encodeURIComponent(deflateRawSync(xml).toString('base64'))
export const inflated = (parameter: string): string =>
  inflateRawSync(Buffer.from(parameter, 'base64')).toString()
