import type { Config } from '../config/config.ts'
import { type AnyProvider, providersIn, type SingleSignOnConfig } from '../config/providers.ts'
import { OperatorError } from '../lib/errors.ts'
import { isObject } from '../lib/json.ts'
import type { Identities, SubjectOf } from '../storage/statements/identities.ts'
import { federationOf, nameAt } from './federation.ts'
import type { Attributes, VouchingIdp } from './protocol.ts'
import { attributesOf, isSubject, matchingOf, readIdentity } from './read-identity.ts'
import { refusals } from './refusals.ts'

export interface ExplainRequest {
  /** The provider's id; null for the only provider. */
  readonly provider: string | null
  /** The identity provider of a federation; null for the issuer of the assertion. */
  readonly entityId: string | null
  readonly given:
    | { readonly kind: 'attributes'; readonly attributes: Readonly<Record<string, unknown>> }
    /** A message from a provider: a SAML response or assertion, as XML or in base64, or an ID token. */
    | { readonly kind: 'assertion'; readonly text: string }
}

export interface Explained {
  readonly provider: string
  /** For an assertion: `valid`, `not checked`, or what is wrong with it. For attributes: null. */
  readonly signature: string | null
  readonly subject: string | null
  readonly email: string | null
  readonly emailIgnored: string | null
  /** The outcome of a login: known, linked, created or refused. */
  readonly outcome: string
  readonly why: string | null
  readonly eperson: { readonly uuid: string; readonly email: string } | null
  /** Names of the special groups that would be in the token. */
  readonly specialGroups: readonly string[]
}

/** The request names no provider, or no identity provider of a federation. */
export class WrongProvider extends OperatorError {
  readonly parameter: 'provider' | 'entityId'

  constructor(parameter: WrongProvider['parameter'], message: string) {
    super(message)
    this.parameter = parameter
  }
}

/** Maximum length in characters: a pasted assertion is short. */
const maxAssertion = 512 * 1024

interface Parts {
  readonly config: Pick<Config, 'methodGroups'> & { readonly singleSignOn: SingleSignOnConfig }
  readonly identities: Pick<Identities, 'whoIs'>
}

/**
 * Explains which eperson and which special groups a login with these attributes would give. It logs in no
 * user, changes nothing, and asks no server except that of the provider's metadata.
 * @throws WrongProvider, OperatorError
 */
export async function explain(
  { provider: id, entityId, given }: ExplainRequest,
  { config, identities }: Parts,
): Promise<Explained> {
  const { singleSignOn, methodGroups } = config
  const provider = providerOf(singleSignOn, id)
  const { attributes, idp, signature } =
    given.kind === 'attributes'
      ? {
          attributes: attributesOf(given.attributes),
          idp: await idpOf(provider, entityId),
          signature: null,
        }
      : await read(provider, entityId, given.text, singleSignOn)
  const nobody = {
    provider: provider.id,
    signature,
    subject: null,
    email: null,
    emailIgnored: null,
    eperson: null,
  }
  const found = readIdentity(provider, attributes, idp)
  if (typeof found === 'string') return { ...nobody, outcome: 'refused', why: found, specialGroups: [] }
  const { identity, emailIgnored, groups } = found
  const who = await identities.whoIs(identity, matchingOf(provider))
  const isRefused = who.kind === 'refused'
  const ofMethod = methodGroups.filter(({ method }) => method === provider.scheme).map(({ group }) => group)
  return {
    ...nobody,
    subject: identity.subject,
    email: identity.email,
    emailIgnored,
    outcome: who.kind,
    why: isRefused ? refusals[who.why] : null,
    eperson: who.eperson && { uuid: who.eperson.uuid, email: who.eperson.email },
    specialGroups: isRefused ? [] : [...new Set([...ofMethod, ...groups])],
  }
}

/** @throws WrongProvider if there is no such provider, or if there are several and none is named */
function providerOf(config: SingleSignOnConfig, id: string | null): AnyProvider {
  const providers = providersIn(config)
  const [only, ...more] = providers
  if (id === null && only && more.length === 0) return only
  const known = providers.find(one => one.id === id)
  if (known) return known
  throw new WrongProvider('provider', `must be one of ${providers.map(one => one.id).join(', ')}`)
}

/** Reads the identity provider's metadata, which says in which scopes its attributes count. */
async function idpOf(provider: AnyProvider, entityId: string | null): Promise<VouchingIdp | undefined> {
  const isFederation = federationOf(provider) !== undefined
  if (isFederation && entityId === null)
    throw new WrongProvider('entityId', `must name the identity provider: ${provider.id} is a federation`)
  if (!isFederation && entityId !== null)
    throw new WrongProvider('entityId', `is for federations, and ${provider.id} is none`)
  if (provider.kind !== 'saml' || entityId === null) return undefined
  const { inspectIdp } = await import('./metadata/inspect.ts')
  return (await inspectIdp(provider, entityId).catch(error => cantRead(provider, error))).metadata
}

function cantRead({ id }: AnyProvider, error: Error): never {
  throw new OperatorError(`the metadata of ${id}: ${error.message}`)
}

interface Read {
  readonly attributes: Attributes
  readonly idp: VouchingIdp | undefined
  readonly signature: string
}

async function read(
  provider: AnyProvider,
  entityId: string | null,
  text: string,
  { saml }: SingleSignOnConfig,
): Promise<Read> {
  if (text.length > maxAssertion)
    throw new OperatorError(`the assertion is longer than ${maxAssertion / 1024} kB`)
  if (provider.kind === 'oidc')
    return { attributes: attributesOf(claimsIn(text)), idp: undefined, signature: 'not checked' }
  if (provider.kind !== 'saml')
    throw new OperatorError(`${provider.id} sends no assertions; give the attributes`)
  // The library is loaded only when needed.
  const { readPasted } = await import('./read-pasted.ts')
  const { attributes, idp, signature } = await readPasted(provider, entityId, text.trim(), saml).catch(
    (error: Error) => {
      throw new OperatorError(`the assertion can't be read: ${error.message}`, { cause: error })
    },
  )
  return { attributes, idp: federationOf(provider) ? idp : undefined, signature }
}

/** Reads the claims of an ID token, or of its middle part alone (RFC 7519 §3). */
function claimsIn(token: string): Readonly<Record<string, unknown>> {
  const parts = token.trim().split('.')
  const payload = Buffer.from(parts[1] ?? parts[0] ?? '', 'base64url').toString()
  try {
    const claims: unknown = JSON.parse(payload)
    if (isObject(claims)) return claims
  } catch {
    // The error below covers this case, too.
  }
  throw new OperatorError('the assertion must be an ID token: three parts with dots between them')
}

export interface WantedLink {
  readonly provider: string
  readonly subject: string
  /** The identity provider, if the provider is a federation; null otherwise. */
  readonly entityId: string | null
}

/**
 * Returns the subject in the form that a login gives it, so that the next login finds its eperson.
 * @throws WrongProvider, OperatorError
 */
export function wantedLink(
  { provider: id, subject, entityId }: WantedLink,
  config: SingleSignOnConfig,
): SubjectOf {
  const provider = providerOf(config, id)
  const isFederation = federationOf(provider) !== undefined
  if (isFederation && entityId === null)
    throw new WrongProvider('entityId', `must name the identity provider: ${provider.id} is a federation`)
  if (!isFederation && entityId !== null)
    throw new WrongProvider('entityId', `is for federations, and ${provider.id} is none`)
  if (entityId !== null && /\s|^$/.test(entityId))
    throw new WrongProvider('entityId', 'must be an address without spaces')
  const full = entityId === null ? subject : nameAt(entityId, subject)
  if (subject.trim() !== subject || !isSubject(subject, full))
    throw new OperatorError(
      'the subject must be a text as the provider sends it, of at most 1,024 characters, without control characters and without spaces around it',
    )
  return { provider: provider.id, subject: full }
}
