import type { SingleSignOnConfig } from '../config/providers.ts'
import { OperatorError } from '../model/errors.ts'
import type { SubjectOf } from '../storage/identities.ts'
import { providerOf, WrongProvider } from './explain.ts'
import { federationOf, nameAt } from './federation.ts'
import { isSubject } from './read-identity.ts'

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
