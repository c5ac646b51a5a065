import type { Entity } from '../../model/entities.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import type { WorkerHandlers } from '../shared/record-worker.ts'
import { startThread, type Thread } from '../shared/thread.ts'
import type { Storage } from '../storage.ts'
import { postgresAccounts } from './accounts.ts'
import { postgresAudiences } from './audiences.ts'
import { type ConnectionOptions, connect, createPool, type PoolOptions } from './driver.ts'
import { postgresEntities } from './entities.ts'
import { describeTable, readAsReader } from './expose.ts'
import { postgresIdentities } from './identities.ts'
import { migrate } from './migrate.ts'
import { recordTables } from './record-source.ts'
import { postgresRepository } from './repository.ts'
import { sharedSecrets } from './secrets.ts'
import { createSessionLookup } from './session-lookup.ts'
import { createTables, type TablePlace } from './table-listings.ts'

interface PostgresOptions {
  readonly url: string
  /** Where query endpoints may read, which may be behind; null: nowhere else. */
  readonly replicaUrl: string | null
  /** Connections for each of: accounts, pages, listings. */
  readonly poolSize: number
  /** Requests that may wait for a connection. */
  readonly queue: number
  /** Milliseconds. */
  readonly statementTimeout: number
  /** Bytes of orders and records that are kept in memory. */
  readonly cacheSize: number
}

/** Milliseconds that a look-up, or a change of an account, may take: a client has its answer, or its 503, within 5 s. */
const shortPatience = 3_000
/** How long after its time limit a statement that the server should have ended is given up, in ms. */
const afterTimeout = 2_000
/** How often what other nodes changed is looked at when no request asks, in ms. */
const lookEvery = 1_000

/** Opens the store on PostgreSQL, creating it where there is none. */
export async function openEngine(options: PostgresOptions): Promise<Storage> {
  const { url, statementTimeout, poolSize, queue } = options
  const unhurried: ConnectionOptions = { url, statementTimeout: 0, patience: 0, begin: '' }
  try {
    await migrate(unhurried)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const { host, pathname } = new URL(url)
    throw new StoreUnavailable(`${error.message} (CARREL_DATABASE_URL: ${host}${pathname})`, { cause: error })
  }

  const short: ConnectionOptions = {
    url,
    statementTimeout: shortPatience,
    patience: shortPatience,
    begin: '',
  }
  const accountPool = createPool({ ...short, size: poolSize, queue })
  const worker = workerWhenNeeded()

  const pages: PoolOptions = {
    url,
    statementTimeout,
    patience: statementTimeout + afterTimeout,
    begin: '',
    size: poolSize,
    queue,
  }
  const places = [...(options.replicaUrl === null ? [] : [options.replicaUrl]), url].map(placeUrl => ({
    plain: placeAt({ ...pages, url: placeUrl }),
    exposed: placeAt({ ...pages, url: placeUrl, begin: readAsReader }),
  }))
  const records = recordTables({ pools: places.map(place => place.plain.pool), worker: worker.get })
  const tables = createTables({
    places: ({ source }: Entity) => {
      if (source.kind === 'exposed') return places.map(place => place.exposed)
      // Who may see a row is not read where it may be of a moment ago.
      const isCurrent = source.kind === 'table' && source.rows === 'audience'
      return (isCurrent ? places.slice(-1) : places).map(place => place.plain)
    },
    maxListings: poolSize,
    worker: worker.get,
  })

  const lookup = createSessionLookup({
    connect: () => connect(short),
    follow: async (seen, db) => {
      await secrets.follow(seen.secrets, db)
      await entities.follow(seen.entities, db)
      await audiences.follow(seen.audiences, db)
    },
  })
  const secrets = sharedSecrets(accountPool)
  const audiences = postgresAudiences(accountPool)
  const entities = postgresEntities({
    pool: accountPool,
    lookup,
    audiences,
    records,
    tables,
    cacheSize: options.cacheSize,
    connect: () => connect(unhurried),
    describe: async request => {
      const connection = await connect(unhurried)
      try {
        return await describeTable(connection, request)
      } finally {
        await connection.close()
      }
    },
  })

  // Also when no request asks: what others sign with a new secret must be known before it is met.
  const looking = setInterval(() => void lookup.ask().catch(() => {}), lookEvery)
  looking.unref()
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= closeAll()
    return closing
  }
  const closeAll = async () => {
    clearInterval(looking)
    entities.close()
    await lookup.close()
    await Promise.all(
      [accountPool, ...places.flatMap(one => [one.plain.pool, one.exposed.pool])].map(one => one.close()),
    )
    await worker.close()
  }
  try {
    await lookup.ask()
  } catch (error) {
    await close()
    throw error
  }
  return {
    accounts: postgresAccounts(accountPool, lookup),
    entities,
    repository: postgresRepository(accountPool, audiences),
    secrets,
    identities: postgresIdentities(accountPool),
    ping: async () => {
      await lookup.ask()
    },
    close,
  }
}

/** A client that hasn't taken anything for ten minutes won't: its listing ends, and with it what the server keeps for it. */
const stalled = "SET idle_in_transaction_session_timeout = '10min'"
/** The server ends what it works at for a node that has gone, too; not every engine and platform can. */
const checkClient = 'SET client_connection_check_interval = 1000'

function placeAt(options: PoolOptions): TablePlace {
  const pool = createPool({ ...options, attempt: checkClient })
  return {
    pool,
    begin: options.begin,
    connect: () => connect({ ...options, begin: `${stalled}; ${options.begin}`, attempt: checkClient }),
    // Not through the pool, which may be waiting for the very statement that is to be stopped.
    cancel: async processId => {
      const connection = await connect({ ...options, begin: '' })
      await connection.rows('SELECT pg_cancel_backend($1)', processId)
      await connection.close()
    },
  }
}

function workerWhenNeeded() {
  let thread: Thread<WorkerHandlers> | undefined
  return {
    get: () => {
      if (thread === undefined || thread.hasEnded)
        thread = startThread<WorkerHandlers>('shared/record-worker', null)
      return thread
    },
    close: async () => {
      await thread?.close()
    },
  }
}
