import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { SamlConfig } from '../../config/providers.ts'
import { Unavailable } from './protocol.ts'
import { all, children, namespaces, parse } from './saml-xml.ts'

const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings:'

/** An identity provider as its metadata describes it (SAML 2.0 Metadata §2.4.3). */
export interface IdpMetadata {
  readonly entityId: string
  readonly displayName: string | null
  readonly signInUrl: string
  readonly logout: { readonly url: string; readonly responseUrl: string } | null
  /** Where it takes answers to its logout requests by POST. */
  readonly logoutResponsePostUrl: string | null
  /** PEM; of several any may have signed, as while keys change. */
  readonly certificates: readonly string[]
  /** Milliseconds since 1970. */
  readonly validUntil: number | null
  readonly wantsSignedRequests: boolean
  /** What it says that it can send; empty where it doesn't say. */
  readonly nameIdFormats: readonly string[]
  readonly attributes: readonly string[]
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
        : `it does not describe the identity provider ${entityId}, only ${namesOf(entities)}`,
    )
  if (wanted.length > 1)
    throw new Error(
      `it describes ${wanted.length} identity providers: choose one with entityId (${namesOf(wanted)})`,
    )
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
  const responseUrl = responseLocationOf(logout)
  const postUrl = responseLocationOf(locationOf(descriptor, 'SingleLogoutService', 'POST'))
  const ends = [entity, root]
    .map(one => Date.parse(one.getAttribute('validUntil') ?? ''))
    .filter(end => !Number.isNaN(end))
  return {
    entityId: entity.getAttribute('entityID') ?? '',
    displayName: displayNameOf(descriptor),
    signInUrl,
    logout: isHttp(logoutUrl) && isHttp(responseUrl) ? { url: logoutUrl, responseUrl } : null,
    logoutResponsePostUrl: isHttp(postUrl) ? postUrl : null,
    certificates,
    validUntil: ends.length === 0 ? null : Math.min(...ends),
    wantsSignedRequests: /^(true|1)$/.test(descriptor.getAttribute('WantAuthnRequestsSigned') ?? ''),
    nameIdFormats: children(descriptor, namespaces.metadata, 'NameIDFormat').map(one =>
      (one.textContent ?? '').trim(),
    ),
    attributes: children(descriptor, namespaces.assertion, 'Attribute').map(
      one => one.getAttribute('Name') ?? '',
    ),
  }
}

/**
 * Reads the file now, and again whenever it has changed: a provider may change its keys at any time.
 * @param complain called once for each unusable version of the file; the last good one stays in use
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
    if (!known) throw new Unavailable('its metadata cannot be read')
    if (known.validUntil !== null && known.validUntil < Date.now())
      throw new Unavailable('its metadata has expired (validUntil)')
    return known
  }
}

const descriptorOf = (entity: Element): Element | undefined =>
  children(entity, namespaces.metadata, 'IDPSSODescriptor').find(one =>
    (one.getAttribute('protocolSupportEnumeration') ?? '').split(/\s+/).includes(namespaces.protocol),
  )

/** Enough of them to see what they look like. */
function namesOf(entities: readonly Element[]): string {
  const names = entities.map(one => one.getAttribute('entityID') ?? '')
  return names.length === 0 ? 'none' : `${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}`
}

const locationOf = (descriptor: Element, name: string, binding = 'Redirect'): Element | undefined =>
  children(descriptor, namespaces.metadata, name).find(
    one => one.getAttribute('Binding') === `${bindings}HTTP-${binding}`,
  )

/** SAML 2.0 Metadata §2.2.2: responses may go to an address of their own. */
const responseLocationOf = (endpoint: Element | undefined) =>
  endpoint?.getAttribute('ResponseLocation') || endpoint?.getAttribute('Location')

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
    throw new Error('one of its certificates cannot be read')
  }
}
