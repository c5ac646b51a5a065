import type { FastifyBaseLogger } from 'fastify'
import type { ProviderConfig, SamlConfig } from '../config/providers.ts'
import { StoreUnavailable } from '../lib/errors.ts'
import type { Client } from '../lib/fair-queue.ts'
import type { Thread, Threads } from '../lib/threads/thread.ts'
import { createLoopQueue } from '../model/limits.ts'
import type { IdpMetadata } from './metadata/idp.ts'
import type { Found } from './metadata/search.ts'
import type { MetadataHandlers, MetadataThreadData } from './metadata/thread.ts'
import { Refused, Unavailable } from './protocol.ts'

/** The metadata of all SAML providers, asked of the service's thread (docs/decisions/0030). */
export interface ProviderMetadata {
  of(provider: SamlConfig): MetadataOf
  close(): Promise<void>
}

/** The metadata of one entry of the configuration. */
export interface MetadataOf {
  /**
   * Finds the metadata of an identity provider.
   * @param entityId the identity provider of a federation; null otherwise
   * @throws Unavailable; Overloaded; Refused if the entry doesn't stand for an identity provider of that name
   */
  find(entityId: string | null, client: Client): Promise<IdpMetadata>
  /**
   * Finds the metadata for a name from outside, such as a message's issuer. @returns undefined if the entry
   * doesn't stand for it
   */
  lookUp(entityId: string, client: Client): Promise<IdpMetadata | undefined>
  /** Searches the identity providers of a federation. @throws Unavailable, Overloaded */
  search(text: string, page: number, client: Client): Promise<Found>
}

interface Parts {
  readonly dataFolder: string
  readonly log: Pick<FastifyBaseLogger, 'error'>
  readonly providers: readonly ProviderConfig[]
  readonly threads: Threads
}

/**
 * Maximum numbers of unanswered calls of an event loop, in total and for one client, and of waiting calls.
 * Most calls take less than a millisecond; a query server may take seconds.
 */
const maxAtOnce = 64
const maxAtOnceOfOne = 32
const maxWaiting = 500
/** Interval in ms at which the thread's complaints are taken. */
const lookEvery = 5_000
/** Time in ms before a thread that has ended is started again: the cause may end it again. */
const restartAfter = 10_000

/** @throws Unavailable if the thread has ended meanwhile */
async function answered<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (error instanceof StoreUnavailable) throw new Unavailable('the thread that reads metadata has ended')
    throw error
  }
}

export function createProviderMetadata({ dataFolder, log, providers, threads }: Parts): ProviderMetadata {
  const data: MetadataThreadData = {
    folder: dataFolder,
    entries: providers
      .filter(one => one.kind === 'saml')
      .map(({ id, metadata, entityId = null, federation = null }) => ({
        id,
        metadata,
        entityId,
        federation,
      })),
  }
  const start = () => threads.start<MetadataHandlers>('sso/metadata/thread', 0, data)
  let thread: Thread<MetadataHandlers> = start()
  const queue = createLoopQueue(1, maxAtOnce, { maxOfOne: maxAtOnceOfOne, maxWaiting })
  let started = performance.now()

  function running(): Thread<MetadataHandlers> {
    if (thread.hasEnded) {
      if (performance.now() - started < restartAfter)
        throw new Unavailable('the thread that reads metadata has ended; it is started again soon')
      log.error('the thread that reads metadata has ended and is started again')
      thread = start()
      started = performance.now()
    }
    return thread
  }

  async function lookForComplaints(): Promise<void> {
    if (thread.hasEnded) return
    for (const { provider, why } of await thread.call('takeComplaints'))
      log.error({ provider, why }, 'the metadata of a provider cannot be read')
  }
  const timer = setInterval(() => void lookForComplaints().catch(() => {}), lookEvery).unref()

  async function ask(id: string, entityId: string | null, client: Client): Promise<IdpMetadata | undefined> {
    const answer = await queue.run(client, () =>
      answered(running().call('find', id, entityId, client.network)),
    )
    if (answer.kind === 'unavailable') {
      await lookForComplaints()
      throw new Unavailable(answer.why)
    }
    return answer.kind === 'found' ? answer.idp : undefined
  }

  return {
    of: ({ id }) => ({
      find: async (entityId, client) => {
        const idp = await ask(id, entityId, client)
        if (!idp) throw new Refused('the identity provider is not one that this entry stands for')
        return idp
      },
      lookUp: (entityId, client) => ask(id, entityId, client),
      search: async (text, page, client) => {
        const found = await queue.run(client, () => answered(running().call('search', id, text, page)))
        if (typeof found === 'string') throw new Unavailable(`its metadata: ${found}`)
        return found
      },
    }),
    close: async () => {
      clearInterval(timer)
      await thread.close()
    },
  }
}
