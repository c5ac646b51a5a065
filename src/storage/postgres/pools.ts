import type { Awaitable } from '../../lib/awaitable.ts'
import { createFairQueue } from '../../lib/fair-queue.ts'
import type { Entity } from '../../model/entities.ts'
import type { Plan } from '../../model/plan.ts'
import { entitiesIn } from '../../model/plan-fields.ts'
import type { ExposeRequest } from '../exposing.ts'
import { type EngineOptions, partFor, type Shared } from '../runtime/event-loops.ts'
import type { StoreMetrics } from '../storage.ts'
import type { SealingKey } from './chains.ts'
import { connect, createPool, type Pool, type PoolOptions } from './driver.ts'
import { type ClientLimits, clientLimits } from './errors.ts'
import { describeTable, readAsReader } from './expose.ts'
import { withConnection } from './perform.ts'
import { followed } from './server-watch.ts'
import type { ConnectionOptions, ServerWatch } from './servers.ts'
import { tableDatabase } from './table-listings.ts'

/** The connections of an event loop. */
export interface ConnectionSettings extends Pick<EngineOptions, 'shared' | 'statementTimeout'> {
  readonly url: string
  /** A replica that query endpoints may read from, which may lag; null: none. */
  readonly replicaUrl: string | null
  /** The maximum number of connections for each of: accounts, pages, listings. */
  readonly poolSize: number
  /** Maximum number of requests that wait for a connection. */
  readonly queue: number
  /** Limits to use instead of the service's. */
  readonly limits?: ClientLimits | undefined
}

/** Time in ms that the server has to end a statement after its time limit. */
const timeoutGrace = 2_000

/** Connections to the primary whose statements take as long as they need. */
export const unlimitedTo = (
  { url, limits = clientLimits }: ConnectionSettings,
  key: SealingKey,
): ConnectionOptions => ({
  url,
  statementTimeout: 0,
  queryTimeout: 0,
  connectTimeout: limits.connect,
  setup: '',
  key,
  isPrimary: true,
})

/** Opens the pools, in which connections are opened when they are needed. */
export function openPools(settings: ConnectionSettings, key: SealingKey, watch: ServerWatch) {
  const { url, replicaUrl, statementTimeout, shared, limits = clientLimits } = settings
  const start = unlimitedTo(settings, key)
  const unlimited = { ...start, watch }
  const short = { ...unlimited, statementTimeout: limits.statement, queryTimeout: limits.statement }
  const size = partFor(shared.loop, settings.poolSize)
  const queue = partFor(shared.loop, settings.queue)
  const bounded = { statementTimeout, queryTimeout: statementTimeout + timeoutGrace }
  const pages: PoolOptions = { url, ...bounded, connectTimeout: limits.connect, setup: '', size, queue }
  const databases = [...(replicaUrl === null ? [] : [replicaUrl]), url].map(databaseUrl => ({
    // A replica is a standby, and may lag.
    own: tableDatabase({ ...pages, url: databaseUrl, ...(databaseUrl === url && { watch }) }),
    exposed: tableDatabase({
      ...pages,
      url: databaseUrl,
      setup: readAsReader,
      isForeign: true,
      ...(databaseUrl === url && { watch: followed(watch) }),
    }),
  }))
  const [replica, primary] = databases.length > 1 ? databases : [undefined, databases[0]]
  const accounts = createPool({ ...short, size, queue })
  const byName: Readonly<Record<string, Pool>> = {
    accounts,
    ...(primary && { pages: primary.own.pool, exposed: primary.exposed.pool }),
    ...(replica && { 'replica pages': replica.own.pool, 'replica exposed': replica.exposed.pool }),
  }
  const waiting = { max: size, maxWaiting: queue, maxWait: limits.connect }
  return {
    accounts,
    byName,
    /** The pools for pages of records, in order of preference. */
    pages: databases.map(database => database.own.pool),
    turns: createFairQueue(waiting),
    places: createFairQueue({ ...waiting, maxOfOne: Math.ceil(size / 2) }),
    connectShort: () => connect(short),
    connectUnlimited: () => connect(unlimited),
    /** A pool for a change that may take longer than a client's request may. */
    createPatient: () => createPool({ ...unlimited, size: 1, queue: 1 }),
    databasesFor: (plan: Plan) => {
      if (plan.entity.source.kind === 'exposed') return databases.map(database => database.exposed)
      // Row visibility is always read from the primary, because a replica may lag.
      const needsPrimary = entitiesIn(plan).some(
        ({ source }) => source.kind === 'table' && source.rows === 'audience',
      )
      return (needsPrimary ? databases.slice(-1) : databases).map(database => database.own)
    },
    /** Reads an entity's definition from the database catalogue. */
    describe: (request: ExposeRequest): Promise<Omit<Entity, 'read'>> =>
      withConnection(
        () => connect({ ...start, isForeign: true, ...(request.isBounded && bounded) }),
        db => describeTable(db, request),
      ),
    close: () => Promise.all(Object.values(byName).map(pool => pool.close())),
  }
}

export type Pools = ReturnType<typeof openPools>

/** The sizes that metrics show. Each reads a number of bytes from the database. */
interface ReadSizes {
  /** The size of the tables of repeated events. */
  readonly trail: () => Awaitable<number>
  /** The size of held versions. */
  readonly held: () => Awaitable<number>
}

export const postgresMetrics = (
  { byName, turns, places }: Pools,
  sizes: ReadSizes,
  { listings, cacheUsage }: Shared,
): StoreMetrics => ({
  repeatedEvents: lately(sizes.trail),
  heldVersions: lately(sizes.held),
  sizes: async () => ({}),
  pools: () => Object.entries(byName).map(([name, pool]) => ({ name, ...pool.usage() })),
  listings: listings.count,
  cache: cacheUsage,
  countQueues: measuresOf => {
    turns.measure(measuresOf('pages'))
    places.measure(measuresOf('listing connections'))
  },
})

/** Reads a number from the database. A scrape doesn't wait for it: it shows what the one before has asked for. */
function lately(read: () => Awaitable<number>): () => number | undefined {
  let known: number | undefined
  const ask = async () => {
    known = await read()
  }
  return () => {
    ask().catch(() => {})
    return known
  }
}
