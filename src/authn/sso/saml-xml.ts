import { parseXml, serializeXml } from '../../lib/xml.ts'
import { Refused } from './protocol.ts'

/** Reads SAML's XML, and checks a message before anything in it is trusted. */
export const namespaces = {
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  display: 'urn:oasis:names:tc:SAML:metadata:ui',
}

/** What a message says about itself; nothing of it is trusted before its signature is verified. */
export interface MessageHead {
  readonly name: string
  readonly issuer: string | null
  readonly destination: string | null
  readonly inResponseTo: string | null
  /** The last part of the status code, such as `Success`; null where there is none. */
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
/** Without RSA with PKCS #1 1.5, which is open to padding oracles. */
const soundEncryption: ReadonlySet<string> = new Set([
  'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  'http://www.w3.org/2001/04/xmlenc#aes128-cbc',
  'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
  'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  'http://www.w3.org/2009/xmlenc11#rsa-oaep',
])

/** Maximum size of a message in bytes, uncompressed: a small message must not become a large one. */
export const maxUnpacked = 256 * 1024

/** @throws Refused */
export function decode(base64: string): string {
  const xml = Buffer.from(base64, 'base64').toString()
  if (xml.length === 0 || xml.length > maxUnpacked) throw new Refused('it is empty, too long or not base64')
  return xml
}

/** Checks a message before a library reads it. @throws Refused */
export function readHead(xml: string): MessageHead {
  const root = refuseUnsound(xml)
  const [issuer] = children(root, namespaces.assertion, 'Issuer')
  const [status] = children(root, namespaces.protocol, 'Status').flatMap(one =>
    children(one, namespaces.protocol, 'StatusCode'),
  )
  const attribute = (name: string) => (root.hasAttribute(name) ? root.getAttribute(name) : null)
  return {
    name: root.namespaceURI === namespaces.protocol ? (root.localName ?? '') : '',
    issuer: issuer?.textContent?.trim() ?? null,
    destination: attribute('Destination'),
    inResponseTo: attribute('InResponseTo'),
    status: status?.getAttribute('Value')?.split(':').at(-1) ?? null,
  }
}

/**
 * Bounds on everything in a message that costs time. Signatures are found by XPath and digested in canonical form, which is
 * quadratic in the number of elements, or worse, and happens before the sender is known.
 */
const max = {
  tags: 2_000,
  depth: 40,
  attributes: 4_000,
  attributesOfOne: 40,
  signatures: 2,
  prefixes: 200,
}

/**
 * Refuses what no honest provider sends: comments and instructions, which split a text in two for some parsers and not for
 * others; document types and entities; broken algorithms; and anything in excess.
 * @returns the outermost element
 * @throws Refused
 */
export function refuseUnsound(xml: string): Element {
  if (xml.split('<').length > max.tags) throw new Refused('it has more elements than any provider sends')
  // The declaration stands at the beginning or nowhere.
  if (/<!|<\?/.test(xml.replace(/^<\?xml[ \t\r\n][^<>]*\?>/, '')))
    throw new Refused('the message has a comment, a processing instruction or a document type')
  const root = parse(xml)
  refuseExcess(root)
  // By local name: libraries look for them in any namespace, or in none.
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

function refuseExcess(root: Element): void {
  let attributes = 0
  let signatures = 0
  const open: { element: Element; depth: number }[] = [{ element: root, depth: 1 }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { element, depth } = next
    attributes += element.attributes.length
    if (element.localName === 'Signature') signatures++
    const prefixes = element.getAttribute('PrefixList') ?? ''
    if (
      depth > max.depth ||
      element.attributes.length > max.attributesOfOne ||
      attributes > max.attributes ||
      signatures > max.signatures ||
      prefixes.length > max.prefixes
    )
      throw new Refused(
        'it is nested more deeply, or has more attributes or signatures, than any provider sends',
      )
    for (let child = element.firstChild; child; child = child.nextSibling)
      if (child.nodeType === child.ELEMENT_NODE)
        open.push({ element: child as unknown as Element, depth: depth + 1 })
  }
}

/** @throws Refused, quoting nothing of what was read */
export const parse = (xml: string): Element =>
  parseXml(xml, () => {
    throw new Refused('it is not well-formed XML')
  }).documentElement

export const serialize: (element: Element) => string = serializeXml

export const all = (element: Element, namespace: string, name: string): Element[] =>
  Array.from(element.getElementsByTagNameNS(namespace, name))

export const children = (element: Element, namespace: string, name: string): Element[] =>
  all(element, namespace, name).filter(one => one.parentNode === element)
