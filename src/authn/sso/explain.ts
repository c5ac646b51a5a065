import type { Config } from '../../config/config.ts'
import { type AnyProvider, providersIn, type SingleSignOnConfig } from '../../config/providers.ts'
import { isObject } from '../../lib/json.ts'
import { OperatorError } from '../../model/errors.ts'
import type { Identities } from '../../storage/identities.ts'
import { federationOf } from './federation.ts'
import type { Attributes, VouchingIdp } from './protocol.ts'
import { attributesOf, matchingOf, readIdentity } from './read-identity.ts'
import { refusals } from './refusals.ts'

/** What is explained. */
export interface ExplainRequest {
  /** null: the only one. */
  readonly provider: string | null
  /** Of a federation, the identity provider; null: the issuer of the assertion. */
  readonly entityId: string | null
  readonly given:
    | { readonly kind: 'attributes'; readonly attributes: Readonly<Record<string, unknown>> }
    /** What a provider has sent: a SAML response or assertion, as XML or in base64, or an ID token. */
    | { readonly kind: 'assertion'; readonly text: string }
}

export interface Explained {
  readonly provider: string
  /** Of an assertion: `valid`, `not checked`, or what is wrong with it. Of attributes: null. */
  readonly signature: string | null
  readonly subject: string | null
  readonly email: string | null
  readonly emailIgnored: string | null
  /** What would happen: known, linked, created or refused. */
  readonly outcome: string
  readonly why: string | null
  readonly eperson: { readonly uuid: string; readonly email: string } | null
  /** Names of the special groups that would be in the token. */
  readonly specialGroups: readonly string[]
}

/** What is asked names no provider, or no identity provider of a federation. */
export class WrongProvider extends OperatorError {
  readonly parameter: 'provider' | 'entityId'

  constructor(parameter: WrongProvider['parameter'], message: string) {
    super(message)
    this.parameter = parameter
  }
}

/** What somebody pastes is short. */
export const maxAssertion = 512 * 1024

interface Parts {
  readonly config: Pick<Config, 'methodGroups'> & { readonly singleSignOn: SingleSignOnConfig }
  readonly identities: Pick<Identities, 'whoIs'>
}

/**
 * Says which eperson and which special groups a login with these attributes would give. Logs nobody in, changes nothing, and
 * asks nobody but the metadata of the provider.
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

/** @throws WrongProvider where the configuration has no such provider, or several and none is named */
export function providerOf(config: SingleSignOnConfig, id: string | null): AnyProvider {
  const providers = providersIn(config)
  const [only, ...more] = providers
  if (id === null && only && more.length === 0) return only
  const known = providers.find(one => one.id === id)
  if (known) return known
  throw new WrongProvider('provider', `must be one of ${providers.map(one => one.id).join(', ')}`)
}

/** The metadata says which scopes its word is good for. */
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
  // The library is loaded where it is needed.
  const { readPasted } = await import('./read-pasted.ts')
  const { attributes, idp, signature } = await readPasted(provider, entityId, text.trim(), saml).catch(
    (error: Error) => {
      throw new OperatorError(`the assertion can't be read: ${error.message}`, { cause: error })
    },
  )
  return { attributes, idp: federationOf(provider) ? idp : undefined, signature }
}

/** The claims of an ID token, or of its middle part alone (RFC 7519 §3). */
function claimsIn(token: string): Readonly<Record<string, unknown>> {
  const parts = token.trim().split('.')
  const payload = Buffer.from(parts[1] ?? parts[0] ?? '', 'base64url').toString()
  try {
    const claims: unknown = JSON.parse(payload)
    if (isObject(claims)) return claims
  } catch {
    // The same answer.
  }
  throw new OperatorError('the assertion must be an ID token: three parts with dots between them')
}
