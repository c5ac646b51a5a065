import { createFairQueue } from '../../lib/fair-queue.ts'
import { setAhead } from '../../lib/ms-now.ts'
import type { KeptVersionLimits } from '../../model/kept-versions.ts'
import { keyringOf } from '../../model/keys.ts'
import { createFieldFiles } from '../columns/field-files.ts'
import { partFor, type Shared } from '../runtime/event-loops.ts'
import { keepParents } from '../statements/group-tree.ts'
import { type KeptTrail, keepTrail } from '../statements/keep-trail.ts'
import { offer, type PartName, parts, statementsNamed } from '../statements/parts.ts'
import { mostAtOnce, recordEvents } from '../statements/repeated-events.ts'
import { openTrail, takeKey } from '../statements/trail.ts'
import type { Storage } from '../storage.ts'
import { entitiesIn } from '../tables/plan-shape.ts'
import { sealingKey } from './chains.ts'
import { connect, createPool, type PoolOptions } from './driver.ts'
import { postgresEntities } from './entities.ts'
import { type ClientLimits, clientLimits, patiently, startPatience } from './errors.ts'
import { recordEvent } from './events.ts'
import { describeTable, readAsReader } from './expose.ts'
import { beginAtProvider, refreshSession } from './hot.ts'
import { postgresMetrics } from './metrics.ts'
import { openMigrated, transactionOn } from './migrate.ts'
import { change, perform } from './perform.ts'
import { lazyWorker, recordTables } from './record-source.ts'
import { createServerWatch, followed } from './server-watch.ts'
import type { ConnectionOptions } from './servers.ts'
import { createSessionLookup, postgresSessions } from './session-lookup.ts'
import { postgresAudiences, postgresClock, sharedSecrets } from './shared-state.ts'
import { createStoreCheck, type StoreCheck } from './store-check.ts'
import { createTableListings, tableDatabase } from './table-listings.ts'
import { trailIn } from './trail.ts'

interface PostgresOptions {
  readonly url: string
  /** True to create a store where there is none. */
  readonly create: boolean
  /** A replica that query endpoints may read from, which may lag; null: none. */
  readonly replicaUrl: string | null
  /** The maximum number of connections for each of: accounts, pages, listings. */
  readonly poolSize: number
  /** Maximum number of requests that wait for a connection. */
  readonly queue: number
  /** The time limit for reading a page, in ms. */
  readonly statementTimeout: number
  /** Folder of this node for what is known of the fields of imported entities (docs/decisions/0070). */
  readonly fieldsFolder: string
  /** Metadata fields that only administrators see (Q19). */
  readonly hiddenMetadata: readonly string[]
  /** CARREL_TOKEN_SECRET, newest first. */
  readonly tokenSecrets: readonly string[]
  /** Retention of events in days; null: forever. */
  readonly eventsRetention: number | null
  readonly keptVersions: KeptVersionLimits
  /** State that the event loops of this process share. */
  readonly shared: Shared
  /** Limits to use instead of the service's. */
  readonly limits?: ClientLimits | undefined
}

/** Time in ms that the server has to end a statement after its time limit. */
const timeoutGrace = 2_000
/** Interval in ms at which a node looks for changes of other nodes, even without requests. */
const pollInterval = 1_000

/**
 * Opens the store on PostgreSQL.
 * @throws StoreUnavailable when there is none and none is to be created, or it can't be used
 */
export async function openEngine(options: PostgresOptions): Promise<Storage> {
  const { url, statementTimeout, shared, limits = clientLimits } = options
  const poolSize = partFor(shared.loop, options.poolSize)
  const queue = partFor(shared.loop, options.queue)
  const keyring = keyringOf(options.tokenSecrets, () => secrets.current())
  const key = sealingKey()
  const watch = createServerWatch(shared.newestServer)
  const start: ConnectionOptions = {
    url,
    statementTimeout: 0,
    queryTimeout: 0,
    connectTimeout: limits.connect,
    setup: '',
    key,
    isPrimary: true,
  }
  const foreign = { ...start, isForeign: true }
  const started = shared.loop === null ? await openMigrated(start, options.create) : undefined
  const unlimited = { ...start, watch }
  const short = { ...unlimited, statementTimeout: limits.statement, queryTimeout: limits.statement }
  const accountPool = createPool({ ...short, size: poolSize, queue })
  const worker = lazyWorker(shared, statementTimeout)
  const pages: PoolOptions = {
    url,
    statementTimeout,
    queryTimeout: statementTimeout + timeoutGrace,
    connectTimeout: limits.connect,
    setup: '',
    size: poolSize,
    queue,
  }
  const databases = [...(options.replicaUrl === null ? [] : [options.replicaUrl]), url].map(databaseUrl => ({
    // A replica is a standby, and may lag.
    own: tableDatabase({ ...pages, url: databaseUrl, ...(databaseUrl === url && { watch }) }),
    exposed: tableDatabase({
      ...{ ...pages, url: databaseUrl, setup: readAsReader, isForeign: true },
      ...(databaseUrl === url && { watch: followed(watch) }),
    }),
  }))
  const [replica, primary] = databases.length > 1 ? databases : [undefined, databases[0]]
  const poolsByName = {
    accounts: accountPool,
    ...(primary && { pages: primary.own.pool, exposed: primary.exposed.pool }),
    ...(replica && { 'replica pages': replica.own.pool, 'replica exposed': replica.exposed.pool }),
  }
  const waiting = { max: poolSize, maxWaiting: queue, maxWait: limits.connect }
  const turns = createFairQueue(waiting)
  const places = createFairQueue({ ...waiting, maxOfOne: Math.ceil(poolSize / 2) })
  const records = recordTables({
    pools: databases.map(database => database.own.pool),
    worker: worker.get,
    queue: turns,
    fieldFiles: createFieldFiles(options.fieldsFolder),
  })
  const tables = createTableListings({
    databases: plan => {
      if (plan.entity.source.kind === 'exposed') return databases.map(database => database.exposed)
      // Row visibility is always read from the primary, because a replica may lag.
      const needsPrimary = entitiesIn(plan).some(
        ({ source }) => source.kind === 'table' && source.rows === 'audience',
      )
      return (needsPrimary ? databases.slice(-1) : databases).map(database => database.own)
    },
    listings: shared.listings,
    places,
    worker: worker.get,
    queue: turns,
  })

  const part = <N extends PartName>(name: N) =>
    offer(name, {
      read: work => perform(accountPool, work),
      change: (_, work) => change(accountPool, work),
      search: (method, args) => perform(accountPool, statementsNamed('searches', name, method)(...args)),
    })
  const lookup = createSessionLookup({
    connect: () => connect(short),
    watch,
    refresh: async (result, db) => {
      clock.refresh(result.mark, result.time)
      await secrets.refresh(result.secrets, db)
      await entities.refresh(result, db)
      await audiences.refresh(result, db)
      // A key of the trail that was made in a state that is lost seals nothing any more.
      if (isOpen && result.generation !== sealedIn) await perform(db, takeKey(keyring()))
      sealedIn = result.generation
    },
  })
  let isOpen = false
  let sealedIn = 0
  const clock = postgresClock(part('clock').raise)
  const secrets = sharedSecrets(accountPool)
  const audiences = postgresAudiences(accountPool, options.hiddenMetadata)
  const measured = { pages: turns, listings: places, held: part('entities').heldSize }
  const entities = postgresEntities({
    pool: accountPool,
    changes: part('entities'),
    lookup,
    audiences,
    records,
    tables,
    keptVersions: options.keptVersions,
    shared,
    connect: () => connect(unlimited),
    describe: async request => {
      const connection = await connect(
        request.isBounded
          ? { ...foreign, statementTimeout, queryTimeout: statementTimeout + timeoutGrace }
          : foreign,
      )
      try {
        return await describeTable(connection, request)
      } finally {
        await connection.close()
      }
    },
  })

  // Polls even without requests: this node must have a new secret before other nodes sign with it.
  const polling = setInterval(() => void lookup.ask().catch(() => {}), pollInterval).unref()
  const ofTrail = part('trail')
  const read = trailIn(() => connect(unlimited), keyring)
  const events = recordEvents({
    record: event => recordEvent(accountPool, event),
    refresh: (refreshed, event, clientIp) => refreshSession(accountPool, refreshed, event, clientIp),
    atOnce: partFor(shared.loop, mostAtOnce),
  })
  const trail = { ...ofTrail, record: events.record, checkpoint: () => ofTrail.checkpoint(keyring()), read }
  const lookForKey = () => accountPool.statement(db => perform(db, takeKey(keyring())))
  let kept: KeptTrail | undefined
  let check: StoreCheck
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= closeAll()
    return closing
  }
  const closeAll = async () => {
    clearInterval(polling)
    await events.close()
    await kept?.close()
    // Entities close before the pools, because they may be writing a version.
    await entities.close()
    await lookup.close()
    await Promise.all(Object.values(poolsByName).map(pool => pool.close()))
    setAhead(0)
    await worker.close()
  }
  // The main thread alone is patient: a worker that fails is started again.
  const patience = started ? startPatience : 0
  try {
    await patiently(patience, () => lookup.ask())
    if (started) await transactionOn(started.db, () => perform(started.db, openTrail(keyring())))
    isOpen = true
    // This also opens a connection, for which the first client would wait otherwise.
    await patiently(patience, lookForKey)
    check = await patiently(patience, () => createStoreCheck(accountPool))
  } catch (error) {
    await close()
    throw error
  } finally {
    await started?.db.close()
  }
  // The other event loops only look for a new key.
  kept =
    shared.loop === null
      ? keepTrail(trail, options.eventsRetention, clock)
      : keepTrail({ ...trail, checkpoint: lookForKey }, null, clock)
  const repository = part('repository')
  const people = part('people')
  return {
    isNew: started?.isNew ?? false,
    people: {
      ...people,
      withParents: keepParents(async () => (await lookup.ask()).groups, people.withParents),
    },
    accessTokens: part('accessTokens'),
    factors: part('factors'),
    sessions: {
      ...part('sessions'),
      ...postgresSessions({ pool: accountPool, lookup, refresh: events.refresh }),
      // The statement changes all epersons, which may take longer than a client's request may.
      endAll: async event => {
        const patient = createPool({ ...unlimited, size: 1, queue: 1 })
        try {
          return await change(patient, () => parts.sessions.changes.endAll(event))
        } finally {
          await patient.close()
        }
      },
    },
    attempts: part('attempts'),
    entities,
    repository: {
      ...repository,
      bitstreamsIn: async (bundle, viewer, window) => {
        // The look-up brings the list of audiences up to date.
        await lookup.ask()
        const admitting = viewer.kind === 'administrator' ? null : audiences.admitting(viewer, 'by address')
        return repository.bitstreamsIn(bundle, admitting, window)
      },
      putItems: async (items, event) => {
        // New audiences have a transaction of their own, so that the row of the state isn't locked until all
        // items are there.
        await repository.addAudiences(items)
        return repository.putItems(items, event, options.hiddenMetadata)
      },
    },
    secrets,
    identities: {
      ...part('identities'),
      begin: (login, event) => beginAtProvider(accountPool, login, event),
    },
    metrics: postgresMetrics(poolsByName, measured, shared, ofTrail.size),
    clock,
    trail,
    alerts: part('alerts'),
    processes: part('processes'),
    registry: part('registry'),
    ping: () => lookup.ask().then(() => check.requireSome()),
    close,
  }
}
