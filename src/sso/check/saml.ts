import type { Config } from '../../config/config.ts'
import { isLoopback, type SamlConfig, type SingleSignOnConfig } from '../../config/providers.ts'
import type { IdpMetadata } from '../metadata/idp.ts'
import { inspectIdp, inspectMetadata } from '../metadata/inspect.ts'
import { checkAttributes, checkNameIds } from './attributes.ts'
import { error, type Found, ok, warning } from './findings.ts'
import { checkCertificate, checkClock, dateOf } from './times.ts'

type Parts = Pick<Config, 'baseUrl'> & { readonly singleSignOn: SingleSignOnConfig }

const day = 24 * 3_600_000

/** Reads and checks the metadata of a SAML provider. */
export async function* checkSaml(provider: SamlConfig, parts: Parts): AsyncIterable<Found> {
  const { metadata, federation } = provider
  const place = metadata.from === 'file' ? metadata.path : metadata.url
  yield* checkTrust(provider)
  try {
    if (federation === undefined) yield* checkIdp(provider, (await inspectIdp(provider)).metadata, parts)
    else if (metadata.from === 'query') yield ok('metadata-by-query', { place })
    else yield* checkFederation(provider)
  } catch (cause) {
    yield error('metadata-unreadable', { place, reason: reasonOf(cause) })
  }
}

/** Checks that the metadata can't be changed unnoticed. */
function* checkTrust({ metadata: { certificates, from }, federation }: SamlConfig): Iterable<Found> {
  // An expired certificate is only a warning: its key is what matters, and federations keep a key for longer
  // than its certificate is valid.
  for (const certificate of certificates)
    for (const found of checkCertificate('metadataCertificate', certificate))
      yield found.level === 'error' ? { ...found, level: 'warning' } : found
  if (certificates.length > 0) yield ok('metadata-signed')
  else if (from !== 'file' || federation !== undefined) yield warning('metadata-not-checked')
}

async function* checkFederation(provider: SamlConfig): AsyncIterable<Found> {
  const { idps, twice, unusable, validUntil, names } = await inspectMetadata(provider)
  if (names.length === 0) yield error('federation-empty')
  else if (idps.size === 0) yield error('federation-none-admitted')
  else yield ok('federation-admitted', { providers: idps.size })
  yield* checkEnd(validUntil)
  if (provider.metadata.certificates.length > 0 && validUntil === null) yield warning('metadata-without-end')
  if (twice.size > 0) yield warning('federation-twice', { providers: twice.size, such: shown(twice) })
  if (unusable.size > 0)
    yield warning('federation-unusable', { providers: unusable.size, such: shown(unusable.keys()) })
  let unscoped = 0
  for (const { metadata } of idps.values()) if (metadata.scopes.length === 0) unscoped++
  if (unscoped > 0) yield ok('federation-unscoped', { providers: unscoped })
}

const shown = (names: Iterable<string>): readonly string[] => [...names].slice(0, 3)

function* checkEnd(validUntil: number | null): Iterable<Found> {
  if (validUntil !== null && validUntil < Date.now())
    yield error('metadata-expired', { date: dateOf(validUntil) })
  else if (validUntil !== null && validUntil < Date.now() + 7 * day)
    yield warning('metadata-expires', { date: dateOf(validUntil) })
}

async function* checkIdp(
  provider: SamlConfig,
  idp: IdpMetadata,
  { singleSignOn, baseUrl }: Parts,
): AsyncIterable<Found> {
  yield ok('entity-id', { entityId: idp.entityId, name: idp.displayName })
  if (idp.entityId === singleSignOn.saml.entityId) yield error('entity-id-own')
  yield* checkEnd(idp.validUntil)
  for (const certificate of idp.certificates) yield* checkCertificate('its certificate', certificate)
  if (idp.wantsSignedRequests && singleSignOn.saml.keys === null) yield error('signed-requests-required')
  yield* checkNameIds(provider, idp)
  yield* checkAttributes(provider, idp)
  yield ok(idp.logout === null ? 'single-logout-none' : 'single-logout')
  if (baseUrl.startsWith('http:') && new URL(idp.signInUrl).hostname !== new URL(baseUrl).hostname)
    yield error('response-cross-site-plain', { host: new URL(idp.signInUrl).hostname })
  if (idp.signInUrl.startsWith('http:') && !isLoopback(idp.signInUrl))
    yield warning('address-plain', { address: idp.signInUrl })
  yield* checkClock(idp.signInUrl, singleSignOn.saml.clockSkew)
}

/** Shortens an error: the operating system's messages would name the file again. */
const reasonOf = (cause: unknown): string =>
  (cause as NodeJS.ErrnoException).code === 'ENOENT'
    ? 'there is no such file (ENOENT); download the metadata from the provider and save it there'
    : (cause as Error).message
