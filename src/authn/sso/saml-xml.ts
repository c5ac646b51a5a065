import { parseXml, serializeXml } from '../../lib/xml.ts'
import { Refused } from './protocol.ts'

/** Reading SAML's XML, and what a message says before anything in it is believed. */
export const namespaces = {
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  display: 'urn:oasis:names:tc:SAML:metadata:ui',
}

/** What a message says of itself; nothing of it is to be believed before its signature was checked. */
export interface MessageHead {
  readonly name: string
  readonly issuer: string | null
  readonly destination: string | null
  readonly inResponseTo: string | null
  /** The last part of the status code, such as `Success`; null where there is none. */
  readonly status: string | null
}

/** Signatures and digests that count as such today; SHA-1 does not. */
const soundSignatures: ReadonlySet<string> = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
])
/** RSA with PKCS #1 1.5 is not among them: it answers an attacker's questions. */
const soundEncryption: ReadonlySet<string> = new Set([
  'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  'http://www.w3.org/2001/04/xmlenc#aes128-cbc',
  'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
  'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  'http://www.w3.org/2009/xmlenc11#rsa-oaep',
])

/** Bytes that a message may have once it is unpacked: a small one must not become a large one. */
export const maxUnpacked = 256 * 1024

/** @throws Refused */
export function decode(base64: string): string {
  const xml = Buffer.from(base64, 'base64').toString()
  if (xml.length === 0 || xml.length > maxUnpacked) throw new Refused('it is empty, too long or no base64')
  return xml
}

/** Looks at a message before a library does. @throws Refused */
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
 * How large a message may be in every way that costs time: signatures are searched for by XPath and digested in canonical
 * form, which takes the square of the elements, or worse, and that before anybody knows who has sent it.
 */
const most = {
  tags: 2_000,
  depth: 40,
  attributes: 4_000,
  attributesOfOne: 40,
  signatures: 2,
  prefixes: 200,
}

/**
 * What no honest provider sends: comments and instructions, which split a text in two for some readers and not for
 * others; document types and entities; algorithms that are broken; more of anything than there is need for.
 * @returns the outermost element
 * @throws Refused
 */
export function refuseUnsound(xml: string): Element {
  if (xml.split('<').length > most.tags) throw new Refused('it has more elements than any provider sends')
  // The declaration stands at the beginning or nowhere.
  if (/<!|<\?/.test(xml.replace(/^<\?xml[ \t\r\n][^<>]*\?>/, '')))
    throw new Refused('a comment, instruction or document type in the message')
  const root = parse(xml)
  refuseExcess(root)
  // By local name: libraries look for them in any namespace, or in none.
  for (const one of [...all(root, '*', 'SignatureMethod'), ...all(root, '*', 'DigestMethod')]) {
    const isOfEncryption = (one.parentNode as Element | null)?.localName === 'EncryptionMethod'
    if (!isOfEncryption && !soundSignatures.has(one.getAttribute('Algorithm') ?? ''))
      throw new Refused('a signature with an algorithm that is not accepted (SHA-1, or none that is known)')
  }
  for (const one of all(root, '*', 'EncryptionMethod'))
    if (!soundEncryption.has(one.getAttribute('Algorithm') ?? ''))
      throw new Refused('an encryption with an algorithm that is not accepted')
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
      depth > most.depth ||
      element.attributes.length > most.attributesOfOne ||
      attributes > most.attributes ||
      signatures > most.signatures ||
      prefixes.length > most.prefixes
    )
      throw new Refused('it is deeper, or has more attributes or signatures, than any provider’s')
    for (let child = element.firstChild; child; child = child.nextSibling)
      if (child.nodeType === child.ELEMENT_NODE)
        open.push({ element: child as unknown as Element, depth: depth + 1 })
  }
}

/** @throws Refused without a word of what was read */
export const parse = (xml: string): Element =>
  parseXml(xml, () => {
    throw new Refused('it is not well-formed XML')
  }).documentElement

export const serialize: (element: Element) => string = serializeXml

export const all = (element: Element, namespace: string, name: string): Element[] =>
  Array.from(element.getElementsByTagNameNS(namespace, name))

export const children = (element: Element, namespace: string, name: string): Element[] =>
  all(element, namespace, name).filter(one => one.parentNode === element)
