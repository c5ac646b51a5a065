import { X509Certificate } from 'node:crypto'
import type { FederationConfig } from '../../config/providers.ts'
import { attributeOf, childrenOf, descendantsOf, textOf, type XmlNode } from '../../lib/xml-stream.ts'
import { earliest, metadataNamespace, validUntilOf } from './entities.ts'

/** An identity provider as its metadata describes it (SAML 2.0 Metadata §2.4.3). */
export interface IdpMetadata {
  readonly entityId: string
  readonly displayName: string | null
  readonly signInUrl: string
  readonly logout: { readonly url: string; readonly responseUrl: string } | null
  /** Address for POST answers to its logout requests; null if it has none. */
  readonly logoutResponsePostUrl: string | null
  /** PEM; if there are several, any of them may have signed, as during a change of keys. */
  readonly certificates: readonly string[]
  /** Milliseconds since 1970. */
  readonly validUntil: number | null
  readonly wantsSignedRequests: boolean
  /** The formats that it says it can send; empty if it doesn't say. */
  readonly nameIdFormats: readonly string[]
  readonly attributes: readonly string[]
  /** Domains that its scoped attributes may have (shibmd:Scope), in lower case. */
  readonly scopes: readonly string[]
}

/** The properties that rules of a federation and the discovery page use. */
interface IdpListing {
  /** Display names in all languages; the first is shown. */
  readonly names: readonly string[]
  readonly keywords: readonly string[]
  readonly domainHints: readonly string[]
  /** SAML Metadata Extensions for Registration and Publication Information §2.1. */
  readonly registrationAuthority: string | null
  /** Names and values (SAML Metadata Extension for Entity Attributes). */
  readonly entityAttributes: readonly (readonly [name: string, value: string])[]
}

export interface Idp {
  readonly metadata: IdpMetadata
  readonly listing: IdpListing
}

const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings:'
const uris = {
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  attributes: 'urn:oasis:names:tc:SAML:metadata:attribute',
  display: 'urn:oasis:names:tc:SAML:metadata:ui',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  registration: 'urn:oasis:names:tc:SAML:metadata:rpi',
  scope: 'urn:mace:shibboleth:metadata:1.0',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
}
/** Maximum number of texts of one kind in an entity; a real one has a few. */
const maxTexts = 200

/**
 * Reads an identity provider from an entity.
 * @param around the earliest end of the groups around the entity
 * @returns undefined for an entity that is no identity provider of SAML 2.0
 * @throws Error saying what is missing
 */
export function idpIn(entity: XmlNode, around: number | null): Idp | undefined {
  const descriptor = childrenOf(entity, metadataNamespace, 'IDPSSODescriptor').find(one =>
    (attributeOf(one, 'protocolSupportEnumeration') ?? '').split(/\s+/).includes(uris.protocol),
  )
  if (!descriptor) return undefined
  const certificates = childrenOf(descriptor, metadataNamespace, 'KeyDescriptor')
    .filter(key => ['', 'signing'].includes(attributeOf(key, 'use') ?? ''))
    .flatMap(key => descendantsOf(key, uris.signature, 'X509Certificate'))
    .map(one => pemOf(textOf(one)))
  if (certificates.length === 0) throw new Error('it has no certificate to check signatures with')
  const signIn = locationOf(descriptor, 'SingleSignOnService')
  const signInUrl = signIn && attributeOf(signIn, 'Location')
  if (!isHttp(signInUrl)) throw new Error('it has no SingleSignOnService with the binding HTTP-Redirect')
  const logout = locationOf(descriptor, 'SingleLogoutService')
  const logoutUrl = logout && attributeOf(logout, 'Location')
  const responseUrl = responseLocationOf(logout)
  const postUrl = responseLocationOf(locationOf(descriptor, 'SingleLogoutService', 'POST'))

  const ofBoth = [entity, descriptor].flatMap(one => childrenOf(one, metadataNamespace, 'Extensions'))
  const ofEntity = childrenOf(entity, metadataNamespace, 'Extensions')
  const display = ofBoth.flatMap(one => childrenOf(one, uris.display, 'UIInfo'))
  const names = display.flatMap(one => childrenOf(one, uris.display, 'DisplayName'))
  const shown = names.find(one => languageOf(one) === 'en') ?? names[0]
  const entityId = attributeOf(entity, 'entityID') ?? ''
  const displayName = (shown && textOf(shown)) || null
  return {
    metadata: {
      entityId,
      displayName,
      signInUrl,
      logout: isHttp(logoutUrl) && isHttp(responseUrl) ? { url: logoutUrl, responseUrl } : null,
      logoutResponsePostUrl: isHttp(postUrl) ? postUrl : null,
      certificates,
      validUntil: earliest(around, validUntilOf(descriptor)),
      wantsSignedRequests: /^(true|1)$/.test(attributeOf(descriptor, 'WantAuthnRequestsSigned') ?? ''),
      nameIdFormats: childrenOf(descriptor, metadataNamespace, 'NameIDFormat').map(textOf),
      attributes: childrenOf(descriptor, uris.assertion, 'Attribute')
        .map(one => attributeOf(one, 'Name') ?? '')
        .slice(0, maxTexts),
      // Scopes that are regular expressions are ignored: they come from outside, and would run on text from
      // outside.
      scopes: ofBoth
        .flatMap(one => childrenOf(one, uris.scope, 'Scope'))
        .filter(one => !/^(true|1)$/.test(attributeOf(one, 'regexp') ?? ''))
        .map(one => textOf(one).toLowerCase())
        .filter(one => one !== '')
        .slice(0, maxTexts),
    },
    listing: {
      names: [displayName ?? entityId, ...names.filter(one => one !== shown).map(textOf)].slice(0, maxTexts),
      keywords: display
        .flatMap(one => childrenOf(one, uris.display, 'Keywords'))
        .map(textOf)
        .slice(0, maxTexts),
      domainHints: ofBoth
        .flatMap(one => childrenOf(one, uris.display, 'DiscoHints'))
        .flatMap(one => childrenOf(one, uris.display, 'DomainHint'))
        .map(textOf)
        .slice(0, maxTexts),
      registrationAuthority:
        ofEntity
          .flatMap(one => childrenOf(one, uris.registration, 'RegistrationInfo'))
          .map(one => attributeOf(one, 'registrationAuthority'))
          .find(one => one !== undefined) ?? null,
      entityAttributes: ofEntity
        .flatMap(one => childrenOf(one, uris.attributes, 'EntityAttributes'))
        .flatMap(one => childrenOf(one, uris.assertion, 'Attribute'))
        .flatMap(one =>
          childrenOf(one, uris.assertion, 'AttributeValue').map(
            value => [attributeOf(one, 'Name') ?? '', textOf(value)] as const,
          ),
        )
        .slice(0, maxTexts),
    },
  }
}

const locationOf = (descriptor: XmlNode, name: string, binding = 'Redirect'): XmlNode | undefined =>
  childrenOf(descriptor, metadataNamespace, name).find(
    one => attributeOf(one, 'Binding') === `${bindings}HTTP-${binding}`,
  )

/** SAML 2.0 Metadata §2.2.2: responses may go to an address of their own. */
const responseLocationOf = (endpoint: XmlNode | undefined): string | undefined =>
  endpoint && (attributeOf(endpoint, 'ResponseLocation') || attributeOf(endpoint, 'Location'))

const languageOf = (node: XmlNode): string | undefined =>
  node.attributes.find(one => one.name === 'xml:lang')?.value

const isHttp = (url: string | undefined): url is string =>
  /^https?:$/.test(URL.parse(url ?? '')?.protocol ?? '')

/** @throws Error if it is no certificate */
function pemOf(base64: string): string {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).toString()
  } catch {
    throw new Error('one of its certificates cannot be read')
  }
}

/**
 * Maximum length of an entity id: longer ones don't fit into a login's cookie, and real ones have fewer than
 * 200 characters.
 */
const maxEntityId = 512

/** True if an entry for a federation includes this identity provider. */
export const isLetIn = (
  { metadata, listing }: Idp,
  { requireRegistrationAuthority, requireEntityAttributes }: FederationConfig,
): boolean =>
  metadata.entityId.length <= maxEntityId &&
  (requireRegistrationAuthority === null ||
    requireRegistrationAuthority.some(one => one === listing.registrationAuthority)) &&
  requireEntityAttributes.every(({ name, value }) => hasAttribute(listing, name, value))

export const hasAttribute = ({ entityAttributes }: IdpListing, name: string, value: string): boolean =>
  entityAttributes.some(one => one[0] === name && one[1] === value)
