import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { DOMParser, XMLSerializer } from '@xmldom/xmldom'
import type { SamlConfig } from '../../config/sign-on.ts'
import { Refused, Unavailable } from './protocol.ts'

/** Reading SAML's XML: the provider's metadata, and what a message says before anything in it is believed. */
export const namespaces = {
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
  display: 'urn:oasis:names:tc:SAML:metadata:ui',
}
const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'

/** An identity provider as its metadata describes it (SAML 2.0 Metadata §2.4.3). */
export interface IdpMetadata {
  readonly entityId: string
  readonly displayName: string | null
  readonly signInUrl: string
  readonly logout: { readonly url: string; readonly responseUrl: string } | null
  /** PEM; of several any may have signed, as while keys change. */
  readonly certificates: readonly string[]
  /** Milliseconds since 1970. */
  readonly validUntil: number | null
}

/** @throws Error saying what is wrong with the file */
export function readMetadata({ metadata, entityId }: Pick<SamlConfig, 'metadata' | 'entityId'>): IdpMetadata {
  const root = parse(readFileSync(metadata, 'utf8'))
  const entities = [root, ...all(root, namespaces.metadata, 'EntityDescriptor')].filter(
    one => one.localName === 'EntityDescriptor' && descriptorOf(one) !== undefined,
  )
  const wanted =
    entityId === undefined ? entities : entities.filter(one => one.getAttribute('entityID') === entityId)
  const [entity] = wanted
  if (!entity)
    throw new Error(
      entityId === undefined
        ? 'it describes no SAML 2.0 identity provider'
        : `it describes no identity provider ${entityId}`,
    )
  if (wanted.length > 1)
    throw new Error(`it describes ${wanted.length} identity providers: say which one by entityId`)
  const descriptor = descriptorOf(entity) as Element

  const certificates = all(descriptor, namespaces.metadata, 'KeyDescriptor')
    .filter(key => ['', 'signing'].includes(key.getAttribute('use') ?? ''))
    .flatMap(key => all(key, namespaces.signature, 'X509Certificate'))
    .map(one => pemOf(one.textContent ?? ''))
  if (certificates.length === 0) throw new Error('it has no certificate to check signatures with')
  const signInUrl = locationOf(descriptor, 'SingleSignOnService')?.getAttribute('Location')
  if (!isHttp(signInUrl)) throw new Error('it has no SingleSignOnService with the binding HTTP-Redirect')
  const logout = locationOf(descriptor, 'SingleLogoutService')
  const logoutUrl = logout?.getAttribute('Location')
  const responseUrl = logout?.getAttribute('ResponseLocation') || logoutUrl
  const ends = [entity, root]
    .map(one => Date.parse(one.getAttribute('validUntil') ?? ''))
    .filter(end => !Number.isNaN(end))
  return {
    entityId: entity.getAttribute('entityID') ?? '',
    displayName: displayNameOf(descriptor),
    signInUrl,
    logout: isHttp(logoutUrl) && isHttp(responseUrl) ? { url: logoutUrl, responseUrl } : null,
    certificates,
    validUntil: ends.length === 0 ? null : Math.min(...ends),
  }
}

/**
 * Reads the file now, and again once it has changed: a provider changes its keys without asking anyone.
 * @param complain told once about each content that can't be used; what was good before is still good
 */
export function watchMetadata(provider: SamlConfig, complain: (why: string) => void): () => IdpMetadata {
  let known: IdpMetadata | undefined
  let seen: number | undefined
  function look(): void {
    const changed = statSync(provider.metadata, { throwIfNoEntry: false })?.mtimeMs ?? -1
    if (changed === seen) return
    seen = changed
    try {
      known = readMetadata(provider)
    } catch (error) {
      complain(error instanceof Error ? error.message : String(error))
    }
  }
  look()
  return () => {
    look()
    if (!known) throw new Unavailable('its metadata can not be read')
    if (known.validUntil !== null && known.validUntil < Date.now())
      throw new Unavailable('its metadata has expired (validUntil)')
    return known
  }
}

/** What a message says of itself; nothing of it is to be believed before its signature was checked. */
export interface MessageHead {
  readonly name: string
  readonly id: string | null
  readonly issuer: string | null
  readonly destination: string | null
  readonly inResponseTo: string | null
  /** Milliseconds since 1970; NaN where it is none. */
  readonly issued: number
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

export const isSoundSignature = (algorithm: string): boolean => soundSignatures.has(algorithm)

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
    id: attribute('ID'),
    issuer: issuer?.textContent?.trim() ?? null,
    destination: attribute('Destination'),
    inResponseTo: attribute('InResponseTo'),
    issued: Date.parse(attribute('IssueInstant') ?? ''),
    status: status?.getAttribute('Value')?.split(':').at(-1) ?? null,
  }
}

/** What is done to a message takes the square of their number: of twice as many, four times as long. */
const mostTags = 6_000

/**
 * What no honest provider sends: comments and instructions, which split a text in two for some readers and not for
 * others; document types and entities; algorithms that are broken.
 * @returns the outermost element
 * @throws Refused
 */
export function refuseUnsound(xml: string): Element {
  if (xml.split('<').length > mostTags) throw new Refused('it has more elements than any provider sends')
  if (/<!|<\?(?!xml[ \t])/i.test(xml))
    throw new Refused('a comment, instruction or document type in the message')
  const root = parse(xml)
  for (const name of ['SignatureMethod', 'DigestMethod'])
    for (const one of all(root, namespaces.signature, name))
      if (
        one.parentNode?.nodeName.endsWith('EncryptionMethod') !== true &&
        !isSoundSignature(one.getAttribute('Algorithm') ?? '')
      )
        throw new Refused('a signature with an algorithm that is not accepted (SHA-1, or none that is known)')
  for (const one of all(root, namespaces.encryption, 'EncryptionMethod'))
    if (!soundEncryption.has(one.getAttribute('Algorithm') ?? ''))
      throw new Refused('an encryption with an algorithm that is not accepted')
  return root
}

/** @throws Refused without a word of what was read */
export function parse(xml: string): Element {
  const refuse = () => {
    throw new Refused('it is not well-formed XML')
  }
  const document = new DOMParser({
    errorHandler: { warning: refuse, error: refuse, fatalError: refuse },
  }).parseFromString(xml, 'text/xml') as Document | undefined
  return document?.documentElement ?? refuse()
}

export const serialize = (element: Element): string => new XMLSerializer().serializeToString(element)

const all = (element: Element, namespace: string, name: string): Element[] =>
  Array.from(element.getElementsByTagNameNS(namespace, name))

export const children = (element: Element, namespace: string, name: string): Element[] =>
  all(element, namespace, name).filter(one => one.parentNode === element)

const descriptorOf = (entity: Element): Element | undefined =>
  children(entity, namespaces.metadata, 'IDPSSODescriptor').find(one =>
    (one.getAttribute('protocolSupportEnumeration') ?? '').split(/\s+/).includes(namespaces.protocol),
  )

const locationOf = (descriptor: Element, name: string): Element | undefined =>
  children(descriptor, namespaces.metadata, name).find(one => one.getAttribute('Binding') === redirectBinding)

function displayNameOf(descriptor: Element): string | null {
  const names = all(descriptor, namespaces.display, 'DisplayName')
  const chosen = names.find(one => one.getAttribute('xml:lang') === 'en') ?? names[0]
  return chosen?.textContent?.trim() || null
}

const isHttp = (url: string | null | undefined): url is string =>
  /^https?:$/.test(URL.parse(url ?? '')?.protocol ?? '')

/** @throws Error for what is no certificate */
function pemOf(base64: string): string {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).toString()
  } catch {
    throw new Error('one of its certificates can not be read')
  }
}
