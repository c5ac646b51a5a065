import { createReadStream } from 'node:fs'
import type { SamlConfig } from '../../config/providers.ts'
import { nobody } from '../../lib/fair-queue.ts'
import { fetchMetadata } from './fetch.ts'
import { type Idp, isLetIn } from './idp.ts'
import { createMetadataQuery } from './query.ts'
import { oneOf, type Reading, readMetadata } from './read.ts'

/** Time in ms that a server has to answer. */
const timeToFetch = 60_000

/**
 * Reads a provider's metadata now, in this process, as commands do. Keeps nothing on disk.
 * @throws Error saying what is wrong
 */
export async function inspectMetadata({
  metadata,
  entityId,
  federation,
}: Pick<SamlConfig, 'metadata' | 'entityId' | 'federation'>): Promise<Reading> {
  if (metadata.from === 'query') throw new Error('a metadata query server has no list')
  const wanted = {
    entityIds: new Set(entityId === undefined ? [] : [entityId]),
    only: entityId === undefined && federation === undefined,
    others: federation !== undefined,
    letsIn: (idp: Idp) => federation !== undefined && isLetIn(idp, federation),
  }
  if (metadata.from === 'file')
    return readMetadata(createReadStream(metadata.path), metadata.certificates, wanted)
  const fetched = await fetchMetadata(metadata.url, {}, AbortSignal.timeout(timeToFetch))
  if (fetched.kind !== 'fresh') throw new Error('its server does not know this address (404)')
  return readMetadata(fetched.body, metadata.certificates, wanted)
}

/**
 * Reads the metadata of one identity provider.
 * @param asked the entity id of an identity provider in a federation
 * @throws Error saying what is wrong
 */
export async function inspectIdp(provider: SamlConfig, asked?: string): Promise<Idp> {
  const { metadata, federation } = provider
  const entityId = asked ?? provider.entityId
  const found = await (metadata.from === 'query'
    ? queried(metadata.url, metadata.certificates, entityId ?? '')
    : inspectMetadata(provider).then(reading => oneOf(reading, entityId ?? null)))
  if (typeof found === 'string') throw new Error(found)
  if (federation && !isLetIn(found, federation)) throw new Error('its federation does not let it in')
  return found
}

async function queried(
  url: string,
  certificates: readonly string[],
  entityId: string,
): Promise<Idp | string> {
  const query = createMetadataQuery(url, certificates)
  const found = await query.find(entityId, nobody.network)
  query.close()
  return found ?? `the server does not know ${entityId} (404)`
}
