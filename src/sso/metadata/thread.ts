import { join } from 'node:path'
import type { FederationConfig, MetadataConfig } from '../../config/providers.ts'
import { lowerPriority, serveThread } from '../../lib/threads/thread.ts'
import { type Idp, type IdpMetadata, isLetIn } from './idp.ts'
import { createMetadataQuery, type MetadataQuery } from './query.ts'
import { oneOf, type Reading } from './read.ts'
import { createIndex, type Found, type SearchIndex } from './search.ts'
import { addressSource, fileSource, type Source } from './source.ts'

/**
 * The thread that reads the metadata of all providers for the whole service, and answers the event loops
 * (docs/decisions/0030).
 */
export interface MetadataThreadData {
  readonly folder: string
  readonly entries: readonly MetadataEntry[]
}

/** The part of a provider's configuration that is used here. */
interface MetadataEntry {
  readonly id: string
  readonly metadata: MetadataConfig
  readonly entityId: string | null
  readonly federation: FederationConfig | null
}

type Answer =
  | { readonly kind: 'found'; readonly idp: IdpMetadata }
  /** The entry doesn't stand for an identity provider of that name. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unavailable'; readonly why: string }

interface Complaint {
  readonly provider: string
  readonly why: string
}

/** Maximum number of complaints kept until they are taken. */
const maxComplaints = 100

interface Entry {
  find(entityId: string | null, network: string): Promise<Answer>
  search(text: string, page: number): Promise<Found | string>
}

function open({ folder, entries }: MetadataThreadData) {
  // Reading has a low priority: users wait for the event loops, and metadata read here only replaces what is
  // already in use.
  lowerPriority(5)
  const complaints: Complaint[] = []
  const complain = (provider: string, why: string) => {
    complaints.push({ provider, why })
    if (complaints.length > maxComplaints) complaints.shift()
  }
  const closers: (() => void)[] = []
  const byId = new Map<string, Entry>()

  // Each file and address is read once, however many entries use it.
  for (const group of Map.groupBy(entries, ({ metadata }) => JSON.stringify(metadata)).values()) {
    const [{ metadata }] = group as [MetadataEntry]
    if (metadata.from === 'query') {
      const query = createMetadataQuery(metadata.url, metadata.certificates)
      closers.push(query.close)
      for (const entry of group) byId.set(entry.id, queried(entry, query.find))
    } else {
      const source = openSource(metadata, group, join(folder, 'metadata'), complain)
      closers.push(source.close)
      for (const entry of group) byId.set(entry.id, fromSource(entry, source))
    }
  }

  const entry = (id: string): Entry => {
    const known = byId.get(id)
    if (!known) throw new Error(`no entry ${id}`)
    return known
  }
  return {
    handlers: {
      find: (id: string, entityId: string | null, network: string): Promise<Answer> =>
        entry(id).find(entityId, network),
      search: (id: string, text: string, page: number): Promise<Found | string> =>
        entry(id).search(text, page),
      /** Takes the complaints since the last call, each once for the whole service. */
      takeComplaints: (): readonly Complaint[] => complaints.splice(0),
    },
    close: () => {
      for (const close of closers) close()
    },
  }
}

export type MetadataHandlers = ReturnType<typeof open>['handlers']

function openSource(
  metadata: Exclude<MetadataConfig, { from: 'query' }>,
  group: readonly MetadataEntry[],
  folder: string,
  complain: (provider: string, why: string) => void,
): Source {
  const federations = group.flatMap(({ federation }) => federation ?? [])
  const alone = group.filter(({ federation }) => federation === null)
  const told = new Map<string, string>()
  const parts = {
    certificates: metadata.certificates,
    wanted: {
      entityIds: new Set(alone.flatMap(({ entityId }) => entityId ?? [])),
      only: alone.some(({ entityId }) => entityId === null),
      others: federations.length > 0,
      letsIn: (idp: Idp) => federations.some(one => isLetIn(idp, one)),
    },
    arrived: (reading: Reading) => {
      for (const { id, entityId } of alone) {
        const one = oneOf(reading, entityId)
        const why = typeof one === 'string' ? one : ''
        if (why !== '' && told.get(id) !== why) complain(id, why)
        told.set(id, why)
      }
    },
    complain: (why: string) => {
      for (const { id } of group) complain(id, why)
    },
  }
  return metadata.from === 'file'
    ? fileSource(metadata.path, parts)
    : addressSource(metadata.url, folder, metadata.refresh, parts)
}

/** An entry for one identity provider, or for those of a federation, in metadata that is read as a whole. */
function fromSource({ entityId: own, federation }: MetadataEntry, { current }: Source): Entry {
  let indexed: { readonly of: Reading; readonly index: SearchIndex } | undefined
  return {
    find: async asked => {
      const reading = await current()
      if (typeof reading === 'string') return unavailable(reading)
      if (federation === null) {
        const one = oneOf(reading, own)
        return typeof one === 'string' ? unavailable(one) : answerWith(one, asked)
      }
      const idp = asked === null ? undefined : reading.idps.get(asked)
      const isIn = idp && isLetIn(idp, federation) && !reading.twice.has(idp.metadata.entityId)
      return isIn ? answerWith(idp, asked) : { kind: 'unknown' }
    },
    search: async (text, page) => {
      const reading = await current()
      if (typeof reading === 'string') return reading
      if (indexed?.of !== reading) {
        const idps = letIn(reading, federation)
        indexed = { of: reading, index: createIndex(idps) }
      }
      return indexed.index.search(text, page)
    },
  }
}

function* letIn({ idps, twice }: Reading, federation: FederationConfig | null): Iterable<Idp> {
  for (const idp of idps.values())
    if (federation && isLetIn(idp, federation) && !twice.has(idp.metadata.entityId)) yield idp
}

function queried({ entityId: own, federation }: MetadataEntry, find: MetadataQuery['find']): Entry {
  return {
    find: async (asked, network) => {
      const name = own ?? asked
      if (name === null || (asked !== null && asked !== name)) return { kind: 'unknown' }
      const idp = await find(name, network)
      if (typeof idp === 'string') return unavailable(idp)
      if (!idp || (federation && !isLetIn(idp, federation))) return { kind: 'unknown' }
      return answerWith(idp, asked)
    },
    search: async () => 'a metadata query server has no list to search',
  }
}

/** @param asked the requested name, if any */
function answerWith({ metadata }: Idp, asked: string | null): Answer {
  const { entityId, validUntil } = metadata
  if (asked !== null && asked !== entityId) return { kind: 'unknown' }
  if (validUntil !== null && validUntil < Date.now()) {
    const when = new Date(validUntil).toISOString()
    return {
      kind: 'unavailable',
      why: `its metadata expired on ${when} (validUntil): newer metadata is needed`,
    }
  }
  return { kind: 'found', idp: metadata }
}

const unavailable = (why: string): Answer => ({ kind: 'unavailable', why: `its metadata: ${why}` })

serveThread(open)
