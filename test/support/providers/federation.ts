import { sign } from 'node:crypto'
import { SignedXml } from 'xml-crypto'
import { bodyOf, type Identity, identity } from './certificates.ts'
import { escaped } from './saml-provider.ts'

/** A member of a federation in generated metadata. */
export interface Member {
  readonly entityId: string
  /** The address in the metadata; nothing needs to listen there. */
  readonly address?: string
  readonly name?: string
  /** Names by language, in addition to the English one. */
  readonly names?: Readonly<Record<string, string>>
  readonly keywords?: string
  readonly domainHint?: string
  readonly scopes?: readonly string[]
  /** The attribute `regexp` of all its scopes. */
  readonly areRegular?: boolean
  readonly registrationAuthority?: string
  /** Pairs of name and value. */
  readonly entityAttributes?: readonly (readonly [string, string])[]
  readonly certificate?: string
  readonly validUntil?: Date
  /** XML added to the descriptor of the identity provider. */
  readonly more?: string
}

export const entityCategory = 'http://macedir.org/entity-category'

export function memberXml(member: Member): string {
  const { entityId, address = 'https://idp.example.edu', name = entityId } = member
  const { names = {}, scopes = [], entityAttributes = [], certificate = fallback().certificate } = member
  const attributes = entityAttributes.map(
    ([key, value]) =>
      `<saml:Attribute Name="${escaped(key)}" NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:uri"><saml:AttributeValue>${escaped(value)}</saml:AttributeValue></saml:Attribute>`,
  )
  const key = `<md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${bodyOf(certificate)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`
  const display = Object.entries({ en: name, ...names }).map(
    ([language, text]) => `<mdui:DisplayName xml:lang="${language}">${escaped(text)}</mdui:DisplayName>`,
  )
  const service = (kind: string, path: string) =>
    `<md:${kind} Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${address}/${path}"/>`
  return `<md:EntityDescriptor entityID="${escaped(entityId)}"${end(member.validUntil)}><md:Extensions>${
    member.registrationAuthority === undefined
      ? ''
      : `<mdrpi:RegistrationInfo registrationAuthority="${escaped(member.registrationAuthority)}"/>`
  }${attributes.length === 0 ? '' : `<mdattr:EntityAttributes>${attributes.join('')}</mdattr:EntityAttributes>`}</md:Extensions><md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:Extensions>${scopes
    .map(one => `<shibmd:Scope regexp="${member.areRegular ?? false}">${escaped(one)}</shibmd:Scope>`)
    .join('')}<mdui:UIInfo>${display.join('')}${
    member.keywords === undefined
      ? ''
      : `<mdui:Keywords xml:lang="en">${escaped(member.keywords)}</mdui:Keywords>`
  }</mdui:UIInfo>${
    member.domainHint === undefined
      ? ''
      : `<mdui:DiscoHints><mdui:DomainHint>${escaped(member.domainHint)}</mdui:DomainHint></mdui:DiscoHints>`
  }</md:Extensions>${key}${service('SingleLogoutService', 'slo')}${service('SingleSignOnService', 'sso')}${member.more ?? ''}</md:IDPSSODescriptor></md:EntityDescriptor>`
}

interface AggregateOptions {
  readonly id?: string
  readonly validUntil?: Date
  readonly cacheDuration?: string
  /** XML in the root before the members. */
  readonly first?: string
}

export const namespaces = [
  'xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"',
  'xmlns:ds="http://www.w3.org/2000/09/xmldsig#"',
  'xmlns:mdui="urn:oasis:names:tc:SAML:metadata:ui"',
  'xmlns:mdrpi="urn:oasis:names:tc:SAML:metadata:rpi"',
  'xmlns:mdattr="urn:oasis:names:tc:SAML:metadata:attribute"',
  'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"',
  'xmlns:shibmd="urn:mace:shibboleth:metadata:1.0"',
].join(' ')

/** Returns metadata without a signature. @param members as XML */
export function aggregate(members: readonly string[], options: AggregateOptions = {}): string {
  const { id = '_federation', validUntil, cacheDuration, first = '' } = options
  const duration = cacheDuration === undefined ? '' : ` cacheDuration="${cacheDuration}"`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<md:EntitiesDescriptor ${namespaces} ID="${id}"${end(validUntil)}${duration}>${first}\n${members.join('\n')}\n</md:EntitiesDescriptor>\n`
}

/** Returns one entity as a document, as a metadata query server sends it, without a signature. */
export const document = (member: string): string =>
  member.replace('<md:EntityDescriptor', `<md:EntityDescriptor ${namespaces} ID="_entity"`)

interface Signing {
  readonly signatureAlgorithm?: string
  readonly digestAlgorithm?: string
  readonly canonicalizationAlgorithm?: string
  readonly transforms?: readonly string[]
}

export const ecdsa = 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256'
export const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'
export const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'

/**
 * Signs metadata with a library that the service doesn't use for it. @returns the metadata with the signature
 * as its first element
 */
export function signMetadata(xml: string, by: Identity, signing: Signing = {}): string {
  const signer = new SignedXml({
    privateKey: by.privateKey,
    publicCert: by.certificate,
    signatureAlgorithm: signing.signatureAlgorithm ?? 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: (signing.canonicalizationAlgorithm ?? exclusive) as typeof exclusive,
  })
  // The library doesn't know this algorithm.
  signer.SignatureAlgorithms[ecdsa] = class {
    getAlgorithmName = () => ecdsa
    getSignature = (text: unknown, privateKey: unknown) =>
      sign('sha256', Buffer.from(String(text)), {
        key: String(privateKey),
        dsaEncoding: 'ieee-p1363',
      }).toString('base64')
    verifySignature = () => false
  } as unknown as (typeof signer.SignatureAlgorithms)[string]
  signer.addReference({
    xpath: '/*',
    digestAlgorithm: signing.digestAlgorithm ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
    transforms: [...(signing.transforms ?? [enveloped, exclusive])],
  })
  signer.computeSignature(xml, { prefix: 'ds', location: { reference: '/*', action: 'prepend' } })
  return signer.getSignedXml()
}

const end = (time: Date | undefined): string =>
  time === undefined ? '' : ` validUntil="${time.toISOString()}"`

const fallback = () => identity('member of a federation')
