import type { AnyProvider, Condition } from '../config/providers.ts'
import type { Identity, Matching } from '../model/identities.ts'
import { federationOf, isWithin, nameAt, withinScopes } from './federation.ts'
import type { Attributes, VouchingIdp } from './protocol.ts'

/** An identity and its groups, read from a provider's attributes (X3, G2). */
interface ReadIdentity {
  readonly identity: Identity
  /** Names of special groups, each once, in the order of the rules. */
  readonly groups: readonly string[]
  /** The reason for ignoring the email address; null if it isn't ignored, or there is none. */
  readonly emailIgnored: string | null
}

/**
 * The rules by which an identity becomes an eperson. A directory never takes over an account whose owner has
 * a password in the store (docs/decisions/0033).
 */
export const matchingOf = ({ kind, email, create }: AnyProvider): Matching => ({
  byEmail: email.match,
  create,
  sparesPasswords: kind === 'ldap',
})

/**
 * Reads an identity from attributes.
 * @param idp the identity provider that sent them, if the provider is a federation
 * @returns a short reason without any value if the attributes give no identity
 */
export function readIdentity(
  provider: AnyProvider,
  given: Attributes,
  idp?: VouchingIdp,
): ReadIdentity | string {
  const { subject: subjectName, email: emailName, firstName, lastName } = provider.attributes
  const federation = federationOf(provider)
  if (federation && !idp) return 'which identity provider of the federation it was is not known'
  const scopes = idp?.scopes ?? []
  const attributes = federation ? withinScopes(given, federation.scopedAttributes, scopes) : given
  const subjects = attributes(subjectName)
  const [subject] = subjects
  if (subject === undefined)
    return given(subjectName).length === 0
      ? `the attribute ${subjectName} (the subject) is missing`
      : `the attribute ${subjectName} (the subject) has no scope that the metadata gives to this identity provider`
  if (subjects.length > 1) return `the attribute ${subjectName} (the subject) has several values`
  const full = federation && idp ? nameAt(idp.entityId, subject) : subject
  if (!isSubject(subject, full))
    return `the attribute ${subjectName} (the subject) is too long, or has control characters or invalid Unicode`

  const meets = ({ attribute, matches }: Condition) =>
    attributes(attribute).some(value =>
      typeof matches === 'string' ? value === matches : matches.test(value),
    )
  const unmet = provider.require.find(rule => !meets(rule))
  if (unmet) return `no value of ${unmet.attribute} meets require`

  const [address] = emailName === undefined ? [] : attributes(emailName)
  const emailIgnored = address === undefined ? null : whyIgnored(provider, address, attributes, scopes)
  return {
    identity: {
      provider: provider.id,
      subject: full,
      email: address === undefined || emailIgnored !== null ? null : address,
      firstName: nameIn(attributes, firstName),
      lastName: nameIn(attributes, lastName),
    },
    groups: [...new Set(provider.groups.filter(meets).map(rule => rule.group))],
    emailIgnored,
  }
}

/**
 * True if the text has no control characters and no replacement characters: two people whose names were
 * damaged in the same way must not become one.
 */
export const isClean = (text: string): boolean =>
  text.isWellFormed() && !text.includes('\uFFFD') && !/\p{Cc}/u.test(text)

/** @param full with the identity provider of a federation */
export const isSubject = (subject: string, full: string): boolean =>
  subject !== '' && full.length <= 1_024 && isClean(subject)

function whyIgnored(
  { email, attributes: names }: AnyProvider,
  address: string,
  attributes: Attributes,
  scopes: readonly string[],
): string | null {
  if (!/^[^\s@]+@[^\s@]+$/.test(address) || address.length > 320 || !isClean(address))
    return 'it is not an e-mail address'
  // Some letters only look like others, such as the Kelvin sign, but equal them when case is ignored.
  if (address.normalize('NFKC') !== address) return 'it has characters that look like others'
  if (email.verified === 'never') return 'addresses of this provider are never trusted (email.verified)'
  const claim = names.emailVerified ?? ''
  if (email.verified === 'claim' && !attributes(claim).some(value => value === 'true' || value === '1'))
    return `the claim ${claim} does not say that it is verified (email.verified)`
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  if (email.verified === 'scope' && !isWithin(domain, scopes))
    return 'its domain is no scope that the metadata gives to this identity provider (email.verified)'
  if (email.domains && !email.domains.some(one => one.toLowerCase() === domain))
    return 'its domain is not one of email.domains'
  return null
}

function nameIn(attributes: Attributes, name: string | undefined): string | null {
  const [value = ''] = name === undefined ? [] : attributes(name)
  const text = value
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, 200)
  return text === '' ? null : text
}

/**
 * Attributes from JSON: claims of OpenID Connect, or a file of `carrel sso explain`. A name is looked up as
 * it is, and then as a path with dots (`realm_access.roles`).
 */
export function attributesOf(json: Readonly<Record<string, unknown>>): Attributes {
  const valueAt = (name: string): unknown => {
    if (Object.hasOwn(json, name)) return json[name]
    let value: unknown = json
    for (const part of name.split('.')) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
      value = (value as Record<string, unknown>)[part]
    }
    return value
  }
  return name =>
    [valueAt(name)]
      .flat()
      .filter(value => ['string', 'number', 'boolean'].includes(typeof value))
      .map(String)
      .filter(value => value !== '')
}
