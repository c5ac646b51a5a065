import type { SamlConfig } from '../config/providers.ts'
import type { IdpMetadata } from './metadata/idp.ts'
import { Refused, requireSignedIn, type Vouched } from './protocol.ts'
import type { ReadAssertion } from './saml-library.ts'
import type { MessageHead } from './saml-xml.ts'

export const unspecified = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified'
export const transient = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'
const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

interface Expected {
  readonly provider: Pick<SamlConfig, 'authnContext' | 'maxAge'>
  readonly idp: IdpMetadata
  readonly acsUrl: string
  /** Tolerated difference between the clocks, in ms. */
  readonly skew: number
  readonly requestId: string
  readonly head: MessageHead
}

/** An element as the library parses it. */
interface Node {
  readonly $?: Readonly<Record<string, string>>
  readonly _?: string
  readonly [child: string]: unknown
}
const nodesIn = (node: Node | undefined, name: string): readonly Node[] => {
  const found = node?.[name]
  return Array.isArray(found)
    ? found.map((one: unknown) => (typeof one === 'string' ? { _: one } : (one as Node)))
    : []
}

/**
 * Checks an assertion as SAML Profiles §4.1.4.3 demands, beyond its signature and audience, and the sign-on
 * itself as the configuration demands.
 * @throws Refused, TooOld
 */
export function confirm({ assertion: read }: ReadAssertion, expected: Expected): void {
  const { provider, idp, acsUrl, skew, requestId, head } = expected
  const assertion = read as Node | undefined
  if (!assertion) throw new Refused('no assertion')
  if (nodesIn(assertion, 'Issuer')[0]?._?.trim() !== idp.entityId) throw new Refused('another issuer')
  const [statement] = nodesIn(assertion, 'AuthnStatement')
  if (!statement) throw new Refused('no AuthnStatement')
  if (head.inResponseTo !== null && head.inResponseTo !== requestId)
    throw new Refused('it answers another request (InResponseTo)')
  const confirmations = nodesIn(nodesIn(assertion, 'Subject')[0], 'SubjectConfirmation')
  const now = Date.now()
  for (const { $: { NotBefore, NotOnOrAfter } = {} } of nodesIn(assertion, 'Conditions')) {
    if (NotBefore !== undefined && !(now + skew >= Date.parse(NotBefore)))
      throw new Refused('SAML assertion not yet valid')
    if (NotOnOrAfter !== undefined && !(now - skew < Date.parse(NotOnOrAfter)))
      throw new Refused('SAML assertion expired')
  }
  const isGood = confirmations.some(one => {
    const data = nodesIn(one, 'SubjectConfirmationData')[0]?.$ ?? {}
    return (
      one.$?.Method === bearer &&
      data.Recipient === acsUrl &&
      data.InResponseTo === requestId &&
      now - skew < Date.parse(data.NotOnOrAfter ?? '') &&
      !(now + skew < Date.parse(data.NotBefore ?? ''))
    )
  })
  if (!isGood)
    throw new Refused(
      'no bearer confirmation for this recipient and request that is valid now (SubjectConfirmation)',
    )
  const [context] = nodesIn(statement, 'AuthnContext')
  requireSignedIn(
    {
      at: Date.parse(statement.$?.AuthnInstant ?? ''),
      class: nodesIn(context, 'AuthnContextClassRef')[0]?._?.trim(),
    },
    {
      maxAge: provider.maxAge,
      classes: provider.authnContext,
      skew,
      names: { at: 'AuthnInstant', class: 'AuthnContextClassRef' },
    },
  )
}

export function vouched(
  provider: SamlConfig,
  idp: IdpMetadata,
  { profile, assertion: read }: ReadAssertion,
): Vouched {
  const assertion = read as Node
  const values = new Map<string, string[]>()
  for (const statement of nodesIn(assertion, 'AttributeStatement'))
    for (const attribute of nodesIn(statement, 'Attribute')) {
      const name = attribute.$?.Name ?? ''
      const texts = nodesIn(attribute, 'AttributeValue')
        .map(textOf)
        .filter(text => text !== '')
      values.set(name, [...(values.get(name) ?? []), ...texts])
    }
  const { nameID = '', nameIDFormat = unspecified, nameQualifier, spNameQualifier, sessionIndex } = profile
  if (provider.attributes.subject === 'NameID' && nameIDFormat === transient)
    throw new Refused('its NameID is transient and differs at each login: set attributes.subject')
  values.set('NameID', nameID.trim() === '' ? [] : [nameID.trim()])
  return {
    provider,
    ...(provider.federation && { idp }),
    attributes: name => values.get(name) ?? [],
    names: [...values.keys()].filter(name => values.get(name)?.length),
    session: {
      name: nameID.trim(),
      sid: sessionIndex ?? null,
      detail: {
        format: nameIDFormat,
        ...(nameQualifier && { nameQualifier }),
        ...(spNameQualifier && { spNameQualifier }),
      },
    },
  }
}

/** The text of a value, or of the NameID in it (eduPersonTargetedID). */
const textOf = (value: Node): string => (value._ ?? nodesIn(value, 'NameID')[0]?._ ?? '').trim()
