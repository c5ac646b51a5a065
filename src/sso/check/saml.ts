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
    else if (metadata.from === 'query')
      yield ok(`stands for the identity providers that ${place} knows; none was asked for`)
    else yield* checkFederation(provider)
  } catch (cause) {
    yield error(`the metadata ${place}: ${reasonOf(cause)}`)
  }
}

/** Checks that the metadata can't be changed unnoticed. */
function* checkTrust({ metadata: { certificates, from }, federation }: SamlConfig): Iterable<Found> {
  // An expired certificate is only a warning: its key is what matters, and federations keep a key for longer
  // than its certificate is valid.
  for (const certificate of certificates)
    for (const found of checkCertificate('metadataCertificate', certificate))
      yield found.level === 'error' ? warning(found.what) : found
  if (certificates.length > 0) yield ok('the signature of its metadata is checked')
  else if (from !== 'file' || federation !== undefined)
    yield warning(
      'no metadataCertificate: the signature of its metadata is not checked, so the server that it comes from decides who logs in',
    )
}

async function* checkFederation(provider: SamlConfig): AsyncIterable<Found> {
  const { idps, twice, unusable, validUntil, names } = await inspectMetadata(provider)
  if (names.length === 0) yield error('its metadata describes no SAML 2.0 identity provider')
  else if (idps.size === 0) yield error('its rules let in none of the identity providers in its metadata')
  else yield ok(`lets in ${idps.size} identity providers`)
  yield* checkEnd(validUntil)
  if (provider.metadata.certificates.length > 0 && validUntil === null)
    yield warning('its metadata has no validUntil: an old copy of it would be accepted for ever')
  if (twice.size > 0)
    yield warning(
      `${twice.size} identity providers come twice and may not log anybody in, such as ${shown(twice)}`,
    )
  if (unusable.size > 0)
    yield warning(`${unusable.size} identity providers cannot be used, such as ${shown(unusable.keys())}`)
  let unscoped = 0
  for (const { metadata } of idps.values()) if (metadata.scopes.length === 0) unscoped++
  if (unscoped > 0)
    yield ok(`${unscoped} of them have no scope: their scoped attributes and e-mail addresses are ignored`)
}

const shown = (names: Iterable<string>): string => [...names].slice(0, 3).join(', ')

function* checkEnd(validUntil: number | null): Iterable<Found> {
  if (validUntil !== null && validUntil < Date.now())
    yield error(`the metadata expired on ${dateOf(validUntil)}: fetch it again`)
  else if (validUntil !== null && validUntil < Date.now() + 7 * day)
    yield warning(`the metadata expires on ${dateOf(validUntil)}`)
}

async function* checkIdp(
  provider: SamlConfig,
  idp: IdpMetadata,
  { singleSignOn, baseUrl }: Parts,
): AsyncIterable<Found> {
  yield ok(`entity id ${idp.entityId}${idp.displayName === null ? '' : ` (${idp.displayName})`}`)
  if (idp.entityId === singleSignOn.saml.entityId)
    yield error(
      'its entity id is the same as saml.entityId: the metadata is Carrel’s own, not the provider’s',
    )
  yield* checkEnd(idp.validUntil)
  for (const certificate of idp.certificates) yield* checkCertificate('its certificate', certificate)
  if (idp.wantsSignedRequests && singleSignOn.saml.keys === null)
    yield error('it requires signed requests, and saml.privateKey is not set')
  yield* checkNameIds(provider, idp)
  yield* checkAttributes(provider, idp)
  yield ok(idp.logout === null ? 'has no single logout by redirect' : 'has single logout')
  if (baseUrl.startsWith('http:') && new URL(idp.signInUrl).hostname !== new URL(baseUrl).hostname)
    yield error(
      `over http browsers do not send the login cookie when ${new URL(idp.signInUrl).hostname}, a different site, posts its response: set CARREL_BASE_URL to https://…`,
    )
  if (idp.signInUrl.startsWith('http:') && !isLoopback(idp.signInUrl))
    yield warning(`its address ${idp.signInUrl} is http`)
  yield* checkClock(idp.signInUrl, singleSignOn.saml.clockSkew)
}

/** Shortens an error: the operating system's messages would name the file again. */
const reasonOf = (cause: unknown): string =>
  (cause as NodeJS.ErrnoException).code === 'ENOENT'
    ? 'there is no such file (ENOENT); download the metadata from the provider and save it there'
    : (cause as Error).message
