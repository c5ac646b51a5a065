import type { MessagePort } from 'node:worker_threads'
import { type Counter, createCounter } from '../../lib/counter.ts'
import { descriptorOf, fileId, type KeptOpen, keepOpen } from '../../lib/kept-open.ts'
import type { Calls } from '../../lib/threads/calls.ts'
import { createThreads, type OwnThreads, remoteThread, type Threads } from '../../lib/threads/thread.ts'
import type { KeptVersionLimits } from '../../model/kept-versions.ts'
import type { CacheUsage } from '../storage.ts'
import { type CacheHandlers, createCacheServer, joinCache } from './shared-cache.ts'
import { type RecordCache, VersionCache } from './version-cache.ts'

/**
 * Parts of a store that the event loops of one process share (docs/decisions/0018), such as threads, and the
 * cache of orders and records.
 */
export interface Shared {
  readonly threads: Threads
  readonly cache: RecordCache
  /** Long listings that hold a connection or a cursor each. */
  readonly listings: Counter
  /** Bytes and entries of the cache, counted over all loops. */
  readonly cacheUsage: () => CacheUsage
  /** The newest server that any loop has seen (storage/postgres/server-watch.ts). */
  readonly newestServer: BigInt64Array<SharedArrayBuffer>
  /** Opens a file, which stays open as long as the main thread's store. */
  keepOpen(path: string): Promise<KeptOpen>
  /** Device and inode of the file at the path, when the main thread first asked. */
  readonly idOf: (path: string) => Promise<string>
  /** Files of fields that nodes share; the main thread's store sets it, if there is a place for them. */
  fields: FieldCopies | undefined
  /** Position of the loop among all, from 0; null: the main thread's, which also looks after the store. */
  readonly loop: Loop | null
}

/** A file of a field that a node lacks. */
export interface LackedFile {
  readonly version: string
  readonly name: string
  /** Maximum size in bytes. */
  readonly most: number
}

/** The files of fields that nodes share, for all event loops of a node. */
export interface FieldCopies {
  /**
   * Brings a file to this node, at most once at a time.
   * @param stop not 0 once the client has disconnected
   * @returns false if it has to be derived
   */
  fetch(file: LackedFile, stop: Int32Array<SharedArrayBuffer>): Promise<boolean>
  /**
   * Puts files of a version where other nodes find them.
   * @param folder that has them
   * @param patience time in ms
   * @returns when they are there, can't be put, or take longer
   */
  send(version: string, names: readonly string[], folder: string, patience: number): Promise<void>
}

/** Options of both engines. */
export interface EngineOptions {
  /** True to create a store where there is none. */
  readonly create: boolean
  /** Metadata fields that only administrators see (Q19). */
  readonly hiddenMetadata: readonly string[]
  /** CARREL_TOKEN_SECRET, newest first. */
  readonly tokenSecrets: readonly string[]
  /** Retention of events in days; null: forever. */
  readonly eventsRetention: number | null
  readonly keptVersions: KeptVersionLimits
  /** State that the event loops of this process share. */
  readonly shared: Shared
  /** Time limit of a statement of a listing, in ms. */
  readonly statementTimeout: number
}

export interface Loop {
  readonly at: number
  readonly of: number
}

/** @returns a loop's part of a number that is divided among all */
export const partFor = (loop: Loop | null, whole: number): number =>
  loop === null ? whole : Math.floor(whole / loop.of) + (loop.at < whole % loop.of ? 1 : 0)

/** Functions of the main thread that loops call. */
export interface SharedHandlers extends CacheHandlers {
  connect(name: string, slot: number, data: unknown): MessagePort
  descriptorOf(path: string): number
  idOf(path: string): string
  fetchField(...args: Parameters<FieldCopies['fetch']>): Promise<boolean>
  sendFields(...args: Parameters<FieldCopies['send']>): Promise<void>
}

/** The main thread's parts, which other loops can join. */
export interface OwnShared extends Shared {
  readonly threads: OwnThreads
  /** The bytes and entries of the cache, in memory that other loops can read. */
  readonly usage: Float64Array<SharedArrayBuffer>
  /** @returns what the loop may call, and `leave`, to call when the loop has ended */
  join(drop: (key: string) => void): { readonly handlers: SharedHandlers; leave(): void }
}

/** @param cacheSize the size of the cache in bytes */
export function createShared(cacheSize: number): OwnShared {
  const threads = createThreads()
  const usage = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT))
  let server: ReturnType<typeof createCacheServer> | undefined
  const ids = new Map<string, string>()
  const idOf = (path: string) => {
    const id = ids.get(path) ?? fileId(path)
    ids.set(path, id)
    return id
  }
  const shared: OwnShared = {
    threads,
    cache: new VersionCache(cacheSize, undefined, usage),
    listings: createCounter(),
    newestServer: new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)),
    usage,
    cacheUsage: usageIn(usage),
    keepOpen: async path => keepOpen(path),
    idOf: async path => idOf(path),
    fields: undefined,
    loop: null,
    join: drop => {
      server ??= createCacheServer(cacheSize, usage)
      const { handlers, leave } = server.join(drop)
      const fields: Pick<SharedHandlers, 'fetchField' | 'sendFields'> = {
        fetchField: async (...args) => (await shared.fields?.fetch(...args)) ?? false,
        sendFields: async (...args) => shared.fields?.send(...args),
      }
      return { handlers: { ...handlers, ...fields, connect: threads.connect, descriptorOf, idOf }, leave }
    },
  }
  return shared
}

interface OtherShared extends Shared {
  readonly loop: Loop
  /** To be called with what the main thread has removed from the cache. */
  drop(key: string): void
}

interface JoinedParts
  extends Pick<OtherShared, 'loop' | 'listings' | 'newestServer'>,
    Pick<OwnShared, 'usage'> {
  readonly cacheSize: number
}

const usageIn = (usage: OwnShared['usage']) => () => ({ bytes: usage[0] ?? 0, entries: usage[1] ?? 0 })

/** Makes the shared parts of another loop. @param main the calls to the main thread */
export function joinShared(
  main: Calls<SharedHandlers>,
  { cacheSize, usage, ...parts }: JoinedParts,
): OtherShared {
  const { drop, ...cache } = joinCache(main, cacheSize)
  return {
    threads: { start: (name, slot, data) => remoteThread(name, main.call('connect', name, slot, data)) },
    cache,
    ...parts,
    cacheUsage: usageIn(usage),
    keepOpen: async path => ({ descriptor: await main.call('descriptorOf', path), close: () => {} }),
    idOf: path => main.call('idOf', path),
    fields: {
      fetch: (...args) => main.call('fetchField', ...args),
      send: (...args) => main.call('sendFields', ...args),
    },
    drop,
  }
}
