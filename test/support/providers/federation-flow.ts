import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { atEnd } from '../service/at-end.ts'
import { startService, temporaryFolder } from '../service/service.ts'
import { identity } from './certificates.ts'
import { aggregate, type Member, memberXml, signMetadata } from './federation.ts'
import { introduce, pages, startSignOn, type Visitor } from './saml-flow.ts'
import { attributeNames, person, type SamlProvider, type SamlUser } from './saml-provider.ts'

/** The key that signs the federation's metadata. */
export const federation = identity('federation')

/** Returns the metadata of a really listening provider, as a federation contains it. */
export const memberOf = ({ entityId, address, identity: own }: SamlProvider, more: Partial<Member> = {}) =>
  memberXml({ entityId, address, certificate: own.certificate, ...more })

/** Returns metadata with a valid signature. */
export const signedAggregate = (...[members, options]: Parameters<typeof aggregate>): string =>
  signMetadata(aggregate(members, options), federation)

export const subjectId = 'urn:oasis:names:tc:SAML:attribute:subject-id'
/** Returns a user whose subject id is given; the part after the @ must be a scope of the provider. */
export const scholar = (name: string, email: string, attributes: SamlUser['attributes'] = {}): SamlUser =>
  person(name, email, { attributes: { [subjectId]: name, ...attributes } })
export const { affiliation, entitlement } = attributeNames

export interface FederationSettings {
  /** The content of the metadata file. Without it, `settings` must say where the metadata is. */
  readonly metadata?: string
  /** Settings of the only entry, `uni`. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Further entries. */
  readonly others?: readonly Readonly<Record<string, unknown>>[]
}

/** Returns settings with an entry `uni`, whose metadata must be signed by the federation. */
export function federationSettings(
  t: TestContext,
  { metadata, settings = {}, others = [] }: FederationSettings,
): { readonly env: Record<string, string>; readonly file: string } {
  const folder = temporaryFolder(t)
  const file = join(folder, 'federation.xml')
  if (metadata !== undefined) writeFileSync(file, metadata)
  writeFileSync(join(folder, 'federation.pem'), federation.certificate)
  const entry = {
    id: 'uni',
    kind: 'saml',
    name: 'The federation',
    create: true,
    ...(metadata !== undefined && { metadata: 'federation.xml' }),
    metadataCertificate: 'federation.pem',
    ...settings,
  }
  const config = join(folder, 'carrel.json')
  const singleSignOn = { providers: [entry, ...others] }
  writeFileSync(config, JSON.stringify({ CARREL_ALLOWED_ORIGINS: pages, singleSignOn }))
  return { env: { CARREL_CONFIG: config }, file }
}

/** Returns the settings of an entry for all members, whose users are identified by subject id. */
export const asFederation = (
  rules: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
) => ({ federation: rules, attributes: { subject: subjectId }, ...more })

/** Starts a service that these providers know. */
export async function startInFederation(
  t: TestContext,
  providers: readonly SamlProvider[],
  { dataFolder, ...given }: FederationSettings & { readonly dataFolder?: string },
) {
  const { env, file } = federationSettings(t, given)
  const service = await startService(t, { env, ...(dataFolder !== undefined && { dataFolder }) })
  await introduce(service, ...providers)
  return { service, file }
}

/** Starts a login at a chosen identity provider, as a discovery page does. */
export async function startAt(
  node: Parameters<typeof startSignOn>[0],
  entityId: string,
  visitor?: Visitor,
): Promise<{ visitor: Visitor; answer: Response }> {
  const begun = visitor ?? (await startSignOn(node)).visitor
  const url = begun.url('/api/authn/shibboleth')
  for (const [name, value] of Object.entries({
    redirectUrl: `${pages}/`,
    provider: 'uni',
    entityID: entityId,
  }))
    url.searchParams.set(name, value)
  return { visitor: begun, answer: await begun.get(url) }
}

export interface Served {
  readonly body?: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Called when the file is requested; the answer waits for it. */
  after?(): Promise<void>
}

/** A really listening server of metadata. */
export interface MetadataServer {
  readonly address: string
  /** Files by path; they may be changed at any time. */
  readonly files: Map<string, Served>
  /** The requests received, oldest first. */
  readonly requests: { readonly path: string; readonly headers: Readonly<Record<string, unknown>> }[]
}

export async function startMetadataServer(t: TestContext): Promise<MetadataServer> {
  const files = new Map<string, Served>()
  const requests: MetadataServer['requests'] = []
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    requests.push({ path, headers: request.headers })
    const { body = '', status = 200, headers = {}, after } = files.get(path) ?? { status: 404 }
    await after?.()
    const isKnown = headers.etag !== undefined && request.headers['if-none-match'] === headers.etag
    if (isKnown) response.writeHead(304, headers).end()
    else response.writeHead(status, headers).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, files, requests }
}
