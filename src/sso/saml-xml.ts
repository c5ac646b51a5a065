import { parseXml, serializeXml } from '../lib/xml.ts'
import { Refused } from './protocol.ts'
import { type Bounds, bounds, refuseExcess, refuseLarge } from './saml-bounds.ts'

/** Reads SAML's XML, and checks a message before anything in it is trusted. */
export const namespaces = {
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  display: 'urn:oasis:names:tc:SAML:metadata:ui',
}

/** A message's statements about itself; nothing in it is trusted before its signature is verified. */
export interface MessageHead {
  readonly name: string
  readonly id: string
  readonly issuer: string | null
  readonly destination: string | null
  readonly inResponseTo: string | null
  /** The last part of the status code, such as `Success`; null if there is none. */
  readonly status: string | null
}

/** Signatures and digests that are considered secure today; SHA-1 is not. */
const soundSignatures: ReadonlySet<string> = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
])
/** Accepted encryption. RSA with PKCS #1 1.5 is missing, because it is open to padding oracles. */
const soundEncryption: ReadonlySet<string> = new Set([
  'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  'http://www.w3.org/2001/04/xmlenc#aes128-cbc',
  'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
  'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  'http://www.w3.org/2009/xmlenc11#rsa-oaep',
])

/** @throws Refused */
export function decode(base64: string, its: Bounds): string {
  const xml = Buffer.from(base64, 'base64').toString()
  if (xml === '') throw new Refused('it is empty or not base64')
  refuseLarge(xml, its)
  return xml
}

/** Checks a message before a library reads it. @throws Refused */
export function readHead(xml: string, its: Bounds): MessageHead {
  const root = refuseUnsound(xml, its)
  const [issuer] = children(root, namespaces.assertion, 'Issuer')
  const [status] = children(root, namespaces.protocol, 'Status').flatMap(one =>
    children(one, namespaces.protocol, 'StatusCode'),
  )
  const attribute = (name: string) => (root.hasAttribute(name) ? root.getAttribute(name) : null)
  return {
    name: root.namespaceURI === namespaces.protocol ? (root.localName ?? '') : '',
    id: root.getAttribute('ID') ?? '',
    issuer: issuer?.textContent?.trim() ?? null,
    destination: attribute('Destination'),
    inResponseTo: attribute('InResponseTo'),
    status: status?.getAttribute('Value')?.split(':').at(-1) ?? null,
  }
}

/**
 * Refuses what no honest provider sends: comments and instructions, which split a text in two for some
 * parsers and not for others; document types and entities; broken algorithms; and anything in excess.
 * @returns the outermost element
 * @throws Refused
 */
export function refuseUnsound(xml: string, its: Bounds = bounds.response): Element {
  refuseLarge(xml, its)
  // A declaration is allowed only at the beginning.
  if (/<!|<\?/.test(xml.replace(/^<\?xml[ \t\r\n][^<>]*\?>/, '')))
    throw new Refused('the message has a comment, a processing instruction or a document type')
  const root = parse(xml)
  refuseExcess(root, its)
  // Found by local name: libraries look for them in any namespace, or in none.
  for (const one of [...all(root, '*', 'SignatureMethod'), ...all(root, '*', 'DigestMethod')]) {
    const isOfEncryption = (one.parentNode as Element | null)?.localName === 'EncryptionMethod'
    if (!isOfEncryption && !soundSignatures.has(one.getAttribute('Algorithm') ?? ''))
      throw new Refused('the algorithm of a signature is not accepted (SHA-1, or an unknown one)')
  }
  for (const one of all(root, '*', 'EncryptionMethod'))
    if (!soundEncryption.has(one.getAttribute('Algorithm') ?? ''))
      throw new Refused('the algorithm of the encryption is not accepted')
  return root
}

/** @throws Refused, which quotes nothing of the text */
export const parse = (xml: string): Element =>
  parseXml(xml, () => {
    throw new Refused('it is not well-formed XML')
  }).documentElement

export const serialize: (element: Element) => string = serializeXml

export const all = (element: Element, namespace: string, name: string): Element[] =>
  Array.from(element.getElementsByTagNameNS(namespace, name))

export const children = (element: Element, namespace: string, name: string): Element[] =>
  all(element, namespace, name).filter(one => one.parentNode === element)
