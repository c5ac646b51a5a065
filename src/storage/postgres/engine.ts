import { setAhead } from '../../lib/ms-now.ts'
import { type Keyring, keyringOf } from '../../model/keys.ts'
import type { FieldPlace } from '../field-place.ts'
import { createFieldCopies } from '../records/field-copies.ts'
import { createFieldFiles } from '../records/field-files.ts'
import { type EngineOptions, partFor } from '../runtime/event-loops.ts'
import { keepParents } from '../statements/group-tree.ts'
import { keepTrail } from '../statements/keep-trail.ts'
import { createDuties, leasesOf } from '../statements/leases.ts'
import {
  type AllOffered,
  offerAll,
  type Parts,
  type Runners,
  statementsNamed,
} from '../statements/offered.ts'
import { type OwnOffers, ownParts, type Storage } from '../statements/parts.ts'
import { mostAtOnce, RepeatedEvents } from '../statements/repeated-events.ts'
import type { Sessions } from '../statements/sessions.ts'
import { openTrail, takeKey } from '../statements/trail.ts'
import type { Trail } from '../trail.ts'
import { sealingKey } from './chains.ts'
import { postgresEntities } from './entities.ts'
import { patiently, startPatience } from './errors.ts'
import { recordEvent } from './events.ts'
import { beginAtProvider, refreshSession } from './hot.ts'
import { openMigrated, transactionOn } from './migrate.ts'
import { type AudiencesOf, change, perform } from './perform.ts'
import { type ConnectionSettings, openPools, type Pools, postgresMetrics, unlimitedTo } from './pools.ts'
import { lazyWorker, recordTables } from './record-source.ts'
import { createServerWatch } from './server-watch.ts'
import type { ServerWatch } from './servers.ts'
import { createSessionLookup, postgresSessions, type SessionLookup } from './session-lookup.ts'
import { postgresAudiences, postgresClock, sharedSecrets } from './shared-state.ts'
import { createStoreCheck, type StoreCheck } from './store-check.ts'
import { createTableListings } from './table-listings.ts'
import { trailIn } from './trail.ts'

interface PostgresOptions extends EngineOptions, ConnectionSettings {
  /** Folder of this node for what is known of the fields of imported entities (docs/decisions/0070). */
  readonly fieldsFolder: string
  /** Opens the place where nodes share these files; undefined: each derives its own. */
  readonly fieldPlace: (() => Promise<FieldPlace>) | undefined
  /** Tells the operator what keeps nodes from sharing them. */
  readonly tell: (problem: string) => void
}

/** Interval in ms at which a node looks for changes of other nodes, even without requests. */
const pollInterval = 1_000

/** The parts of the store of which this node holds some in memory. Each look-up brings them up to date. */
function createKnownParts(options: PostgresOptions, pools: Pools, offered: OwnOffers, watch: ServerWatch) {
  const { accounts, turns: queue, places } = pools
  const { shared, keptVersions } = options
  const worker = lazyWorker(shared, options.statementTimeout)
  const clock = postgresClock(offered.clock.raise)
  const lease = leasesOf(offered.identities, clock)
  const duties = createDuties(lease)
  const secrets = sharedSecrets(accounts)
  const keyring = keyringOf(options.tokenSecrets, secrets.current)
  const audiences = postgresAudiences(accounts, options.hiddenMetadata)
  let isOpen = false
  let sealedIn = 0
  const lookup = createSessionLookup({
    connect: pools.connectShort,
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
  const copies = copiesOf(options, keyring)
  const entities = postgresEntities({
    copies,
    pool: accounts,
    changes: offered.entities,
    lookup,
    audiences,
    records: recordTables({
      pools: pools.pages,
      worker: worker.get,
      queue,
      fieldFiles: createFieldFiles(options.fieldsFolder, () => shared.fields),
    }),
    tables: createTableListings({
      databases: pools.databasesFor,
      listings: shared.listings,
      places,
      worker: worker.get,
      queue,
    }),
    keptVersions,
    shared,
    connect: pools.connectUnlimited,
    describe: pools.describe,
    lease,
  })
  const opened = () => {
    isOpen = true
  }
  const close = async () => {
    // Entities close before the pools, because they may be writing a version.
    await entities.close()
    await duties.close()
    await copies?.close()
    await lookup.close()
    await pools.close()
    setAhead(0)
    await worker.close()
  }
  return { clock, lease, duties, secrets, keyring, audiences, lookup, entities, opened, close }
}

/** The files of fields that nodes share. The other event loops call the main thread for them. */
function copiesOf({ fieldPlace, fieldsFolder: folder, shared, tell }: PostgresOptions, keyring: Keyring) {
  if (shared.loop !== null || !fieldPlace) return undefined
  let opened: Promise<FieldPlace> | undefined
  const place = () => {
    opened ??= fieldPlace()
    return opened
  }
  const copies = createFieldCopies({ folder, place, keyring, tell })
  shared.fields = copies
  return copies
}

type KnownParts = ReturnType<typeof createKnownParts>
type Started = Awaited<ReturnType<typeof openMigrated>>

/** Opens what the first client would wait for otherwise. @param started undefined: the main thread has */
async function getReady(
  { lookup, keyring, opened }: KnownParts,
  lookForKey: () => Promise<void>,
  { accounts }: Pools,
  started: Started | undefined,
): Promise<StoreCheck> {
  // The main thread alone is patient: a worker that fails is started again.
  const patience = started ? startPatience : 0
  await patiently(patience, () => lookup.ask())
  if (started) await transactionOn(started.db, () => perform(started.db, openTrail(keyring())))
  opened()
  await patiently(patience, lookForKey)
  return patiently(patience, () => createStoreCheck(accounts))
}

/**
 * Opens the store on PostgreSQL.
 * @param features the statements of features
 * @throws StoreUnavailable when there is none and none is to be created, or it can't be used
 */
export async function openEngine<F extends Parts>(
  options: PostgresOptions,
  features: F,
): Promise<Storage & AllOffered<F>> {
  const { shared } = options
  const key = sealingKey()
  const watch = createServerWatch(shared.newestServer)
  const started =
    shared.loop === null ? await openMigrated(unlimitedTo(options, key), options.create) : undefined
  const pools = openPools(options, key, watch)
  const { accounts } = pools
  const offered = offerAll(ownParts, runnersOn(accounts, ownParts))
  const known = createKnownParts(options, pools, offered, watch)
  const { clock, lease, duties, secrets, keyring, lookup, entities } = known
  // Polls even without requests: this node must have a new secret before other nodes sign with it.
  const polling = setInterval(() => void lookup.ask().catch(() => {}), pollInterval).unref()
  const events = new RepeatedEvents({
    record: event => recordEvent(accounts, event),
    refresh: (refreshed, event, clientIp) => refreshSession(accounts, refreshed, event, clientIp),
    atOnce: partFor(shared.loop, mostAtOnce),
  })
  const trail: Trail = {
    ...offered.trail,
    record: event => events.record(event),
    checkpoint: () => offered.trail.checkpoint(keyring()),
    read: trailIn(pools.connectUnlimited, keyring),
  }
  const lookForKey = () => accounts.statement(db => perform(db, takeKey(keyring())))
  const duty = { isOnDuty: () => duties.isOn('trail'), lookForKey }
  let kept: ReturnType<typeof keepTrail> | undefined
  let closing: Promise<void> | undefined
  const closeAll = async () => {
    clearInterval(polling)
    await events.close()
    await kept?.close()
    await known.close()
  }
  const close = () => {
    closing ??= closeAll()
    return closing
  }
  let check: StoreCheck
  try {
    check = await getReady(known, lookForKey, pools, started)
  } catch (error) {
    await close()
    throw error
  } finally {
    await started?.db.close()
  }
  // The other event loops only look for a new key.
  kept =
    shared.loop === null
      ? keepTrail({ ...trail, ...duty }, options.eventsRetention, clock)
      : keepTrail({ ...trail, checkpoint: lookForKey }, null, clock)
  const { groupTree, identities } = offered
  const storage: Storage = {
    ...offered,
    isNew: started?.isNew ?? false,
    groupTree: {
      withParents: keepParents(async () => (await lookup.ask()).groups, groupTree.withParents),
    },
    sessions: sessionsOn(pools, offered.sessions, lookup, events),
    entities,
    secrets,
    identities: { ...identities, begin: (login, event) => beginAtProvider(accounts, login, event) },
    metrics: postgresMetrics(pools, { trail: offered.trail.size, held: offered.entities.heldSize }, shared),
    clock,
    lease,
    isOnDuty: duties.isOn,
    trail,
    ping: () => lookup.ask().then(() => check.requireSome()),
    close,
  }
  return { ...offerAll(features, runnersOn(accounts, features, audiencesIn(known))), ...storage }
}

const audiencesIn =
  ({ lookup, audiences }: KnownParts): AudiencesOf =>
  async (viewer, how) => {
    // The look-up brings the list of audiences up to date.
    await lookup.ask()
    return audiences.admitting(viewer, how)
  }

const runnersOn =
  (pool: Pools['accounts'], parts: Parts, audiencesOf?: AudiencesOf) =>
  (name: string): Runners => ({
    read: work => perform(pool, work, audiencesOf),
    change: (_, work) => change(pool, work),
    search: (method, args) => perform(pool, statementsNamed(parts, 'searches', name, method)(...args)),
  })

const sessionsOn = (
  pools: Pools,
  offered: OwnOffers['sessions'],
  lookup: SessionLookup,
  events: RepeatedEvents,
): Sessions => ({
  ...offered,
  ...postgresSessions({
    pool: pools.accounts,
    lookup,
    refresh: (refreshed, event) => events.refresh(refreshed, event),
  }),
  // The statement changes all epersons, which may take longer than a client's request may.
  endAll: async event => {
    const patient = pools.createPatient()
    try {
      return await change(patient, () => ownParts.sessions.changes.endAll(event))
    } finally {
      await patient.close()
    }
  },
})
