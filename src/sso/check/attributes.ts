import type { OidcConfig, ProviderConfig, ProxyConfig, SamlConfig } from '../../config/providers.ts'
import type { IdpMetadata } from '../metadata/idp.ts'
import { transient } from '../saml-assertion.ts'
import { error, type Found, ok, warning } from './findings.ts'
import { ask } from './times.ts'

/** Checks that a provider announces everything that the configuration takes from it. */

/** Checks that the subject is the same at each login (SAML 2.0 Core §8.3.8: transient names are not). */
export function* checkNameIds(
  { attributes, nameIdFormat }: SamlConfig,
  { nameIdFormats }: Pick<IdpMetadata, 'nameIdFormats'>,
): Iterable<Found> {
  if (attributes.subject !== 'NameID') return
  const [first] = nameIdFormats
  if (nameIdFormat === transient) yield error('name-id-transient')
  else if (first !== undefined && nameIdFormats.every(format => format === transient))
    yield error('name-ids-transient-only')
  else if (nameIdFormat !== undefined && first !== undefined && !nameIdFormats.includes(nameIdFormat))
    yield warning('name-id-not-announced', { format: nameIdFormat, announced: nameIdFormats })
  else if (nameIdFormat === undefined && first === transient)
    yield warning('name-ids-transient-first', {
      better: nameIdFormats.find(format => format !== transient) ?? '',
    })
}

/** @param announced attributes in the metadata (SAML 2.0 Metadata §2.4.3); most providers list none */
export function* checkAttributes(
  provider: SamlConfig,
  { attributes: announced }: Pick<IdpMetadata, 'attributes'>,
): Iterable<Found> {
  if (announced.length === 0) return
  const missing = wantedOf(provider).filter(name => name !== 'NameID' && !announced.includes(name))
  if (missing.length > 0) yield warning('attributes-not-announced', { attributes: missing })
}

/**
 * @param announced `claims_supported` (Discovery §3), which need not be complete. If it has none of the
 *   claims about people, it says nothing about them.
 */
export function* checkClaims(
  provider: OidcConfig,
  announced: readonly string[] | undefined,
): Iterable<Found> {
  if (announced === undefined) return
  const wanted = wantedOf(provider)
    .map(name => (announced.includes(name) ? name : (name.split('.')[0] ?? name)))
    .filter(name => name !== 'sub')
  const missing = wanted.filter(name => !announced.includes(name))
  if (missing.length === 0) return
  const claims = [...new Set(missing)]
  yield missing.length < wanted.length
    ? warning('claims-not-announced', { claims })
    : ok('claims-unknown', { claims })
}

/** Core §3.1.3.7, 7: the algorithms must use published keys. */
export const checkAlgorithms = (announced: readonly string[] | undefined): Iterable<Found> =>
  announced?.length && announced.every(one => /^(HS|none)/.test(one))
    ? [error('algorithms-unusable', { algorithms: announced })]
    : []

/** The names of a provider's attributes that the configuration uses to recognize and admit users. */
function wantedOf({ attributes, email, create, groups, require }: ProviderConfig): readonly string[] {
  const { subject, email: address, emailVerified } = attributes
  const needsEmail = create || email.match
  return [
    ...new Set(
      [
        subject,
        needsEmail ? address : undefined,
        needsEmail && email.verified === 'claim' ? emailVerified : undefined,
        ...[...groups, ...require].map(rule => rule.attribute),
      ].filter(name => name !== undefined),
    ),
  ]
}

/**
 * Checks that a proxy guards the start of logins. It should answer an anonymous request itself: an answer
 * from Carrel shows that it guards nothing.
 */
export async function* checkProxyPath({ loginUrl }: ProxyConfig, start: string): AsyncIterable<Found> {
  const answer = await ask(start)
  const type = answer?.headers.get('content-type') ?? ''
  if (!answer || answer.status === 502) yield warning('login-path-unknown', { address: start })
  else if (loginUrl === undefined && type.startsWith('application/problem+json'))
    yield error('login-path-unguarded', { address: start })
  else yield ok('login-path-guarded', { address: start })
}
