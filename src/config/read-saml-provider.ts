import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type FederationConfig, isLoopback, type MetadataConfig, type SamlConfig } from './providers.ts'
import type { Complain, Surroundings } from './read-secrets.ts'

/** Members of a SAML provider's entry in the file, besides those of all providers. */
export interface SamlMembers {
  readonly metadata?: string
  readonly metadataRefresh: number
  readonly metadataQuery?: string
  readonly metadataCertificate?: string
  readonly entityId?: string
  readonly nameIdFormat?: string
  readonly federation?: Omit<FederationConfig, 'requireRegistrationAuthority'> & {
    readonly requireRegistrationAuthority?: readonly string[]
  }
}

type Common = Omit<SamlConfig, keyof SamlMembers | 'email'> & {
  readonly email: Omit<SamlConfig['email'], 'verified'> & {
    readonly verified?: SamlConfig['email']['verified']
  }
}

export function readSamlProvider(
  given: Common & SamlMembers,
  where: string,
  surroundings: Surroundings,
): SamlConfig {
  const { metadata, metadataRefresh, metadataQuery, metadataCertificate, federation, ...common } = given
  const { complain } = surroundings
  const verified = common.email.verified ?? (federation === undefined ? 'always' : 'scope')
  const read = {
    ...common,
    email: { ...common.email, verified },
    metadata: readPlace(given, where, surroundings),
  }
  if (federation === undefined) {
    if (read.metadata.from === 'query' && given.entityId === undefined)
      throw complain(`${where}.entityId`, 'must be set: a metadata query server is asked for one entity')
    return read
  }
  const { requireRegistrationAuthority = null } = federation
  const rules = { ...federation, requireRegistrationAuthority }
  refuseUnsafe({ ...read, federation: rules }, rules, where, complain)
  return { ...read, federation: rules }
}

function readPlace(
  { metadata, metadataRefresh, metadataQuery, metadataCertificate }: SamlMembers,
  where: string,
  surroundings: Surroundings,
): MetadataConfig {
  const { complain } = surroundings
  if ((metadata === undefined) === (metadataQuery === undefined))
    throw complain(where, 'needs either metadata or metadataQuery')
  const certificates =
    metadataCertificate === undefined
      ? []
      : readCertificates(metadataCertificate, `${where}.metadataCertificate`, surroundings)
  if (metadataQuery !== undefined) {
    refuseOtherAddress(metadataQuery, `${where}.metadataQuery`, complain)
    return { from: 'query', url: metadataQuery, certificates }
  }
  const place = metadata ?? ''
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(place))
    return { from: 'file', path: resolve(dirname(surroundings.file), place), certificates }
  refuseOtherAddress(place, `${where}.metadata`, complain)
  if (metadataRefresh < minRefresh && !isLoopback(place))
    throw complain(`${where}.metadataRefresh`, `must be at least ${minRefresh} seconds`)
  return { from: 'address', url: place, refresh: metadataRefresh, certificates }
}

const minRefresh = 60

function refuseOtherAddress(given: string, where: string, complain: Complain): void {
  const url = URL.parse(given)
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(given))
  if (!url || !isSafe)
    throw complain(where, 'must begin with https://; http is accepted for loopback addresses only')
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    throw complain(where, 'may have no user, no password and no fragment')
}

function readCertificates(file: string, where: string, surroundings: Surroundings): string[] {
  const { complain } = surroundings
  let content: string
  try {
    content = readFileSync(resolve(dirname(surroundings.file), file), 'utf8')
  } catch (error) {
    throw complain(where, `the file ${file} can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
  const found = content.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    const keys = found.map(pem => new X509Certificate(pem).publicKey.asymmetricKeyType)
    if (keys.length > 0 && keys.every(kind => kind === 'rsa' || kind === 'ec')) return [...found]
  } catch {
    // A malformed certificate counts as none.
  }
  throw complain(where, `the file ${file} must hold PEM certificates with RSA or EC keys`)
}

/** Any identity provider of a federation may be hostile to the users of the others (docs/decisions/0030). */
function refuseUnsafe(
  { email, entityId, groups, metadata }: SamlConfig,
  { discoveryUrl, scopedAttributes }: FederationConfig,
  where: string,
  complain: Complain,
): void {
  if (entityId !== undefined)
    throw complain(
      `${where}.entityId`,
      'and federation exclude each other: one names one, the other stands for all',
    )
  if (email.verified !== 'scope' && email.verified !== 'never')
    throw complain(
      `${where}.email.verified`,
      'must be scope or never for a federation: every identity provider in it could claim every address',
    )
  for (const [at, { attribute }] of groups.entries())
    if (!scopedAttributes.includes(attribute))
      throw complain(
        `${where}.groups[${at}].attribute`,
        'must be one of federation.scopedAttributes: every identity provider in it could send any other attribute',
      )
  if (discoveryUrl !== undefined)
    refuseOtherAddress(discoveryUrl, `${where}.federation.discoveryUrl`, complain)
  else if (metadata.from === 'query')
    throw complain(
      `${where}.federation.discoveryUrl`,
      'must be set: a metadata query server has no list for a page of our own',
    )
}
