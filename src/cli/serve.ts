import { existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { Command } from 'commander'
import { type Config, toConfig } from '../config/config.ts'
import type { Store } from '../features.ts'
import { openFiles } from '../files/open-files.ts'
import { MisconfiguredFiles, StoreUnavailable } from '../lib/errors.ts'
import { holdFile } from '../lib/held-file.ts'
import { collectGarbageAfterStart } from '../lib/memory.ts'
import { systemReason } from '../lib/system-errors.ts'
import { administratorGroup } from '../model/accounts.ts'
import { ownLimits, phaseIn } from '../model/limits.ts'
import { createShared, type OwnShared } from '../storage/runtime/event-loops.ts'
import type { ReportLoss } from '../storage/storage.ts'
import { Failure } from './failures.ts'
import { ownCommand } from './given-path.ts'
import { keepHouse } from './housekeeping.ts'
import { drain, listenFailure, reservePort } from './listen.ts'
import { announce } from './output.ts'
import { inTime, stopOnSignal } from './stop.ts'
import { openStore, placeOf, restorePlace } from './store.ts'
import { warm } from './warm.ts'
import { spawnWorker, startWorkers, type Workers } from './workers.ts'

/** `carrel serve`: the service itself. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Start the service.')
    .option(
      '--demo',
      'in a new store, add an administrator, epersons, groups, 10,000 letters and some files to try',
    )
    .action(async ({ demo }: { demo?: boolean }) => {
      const { signal, ...stopping } = stopOnSignal()
      const asked = toConfig(process.env)
      const phase = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
      const setPhase = phaseIn(phase).set
      const shared = createShared(asked.cacheSize)
      // The worker loads the service while this thread opens the store.
      const spawned = asked.workers > 1 ? [spawnWorker()] : []
      const own = asked.workers > 1 ? withOneConnection(asked) : asked
      const storage = await openStore(own, { create: true }, shared, announceLoss, announceFields)
      let closeService = async () => {}
      try {
        const fail = () => {
          // Closing the store may leave nothing that keeps the process alive until the end of this.
          process.exitCode = 1
          void inTime(storage.close()).finally(() => process.exit(1))
        }
        await checkFiles(storage, asked)
        const served = markServed(asked)
        const stopHousekeeping = await keepHouse(storage, asked)
        if (demo || asked.warm) setPhase('starting')
        const service = await listen(asked, { spawned, storage, shared, phase, fail })
        const { config } = service
        closeService = async () => {
          await Promise.all([service.close(), stopHousekeeping()])
        }
        stopping.prepare({
          ...service,
          times: config.stop,
          setPhase,
          end: async () => {
            await stopHousekeeping()
            await storage.close()
            served.release()
          },
        })
        // The demo is added only once the service listens: a start that fails adds nothing to the store.
        const created = demo
          ? await (await import('./demo.ts')).createDemo(storage, config.files, () => signal.aborted)
          : undefined
        if (config.warm) await warm(storage, manyRecords, signal)
        if (signal.aborted) return
        setPhase('ready')
        announceReady(config, service.loops())
        if (served.others > 0) announceOthers(config)
        // A login would be a use of the store that another process is adding the demo to.
        if (created && created !== 'elsewhere')
          await (await import('./tell-demo.ts')).inviteAdministrator(config, storage)
        // Without it, the first questions only take longer.
        if (!config.warm) await storage.entities.prepare(manyRecords).catch(() => {})
        collectGarbageAfterStart()
        await announceStore(config, storage)
        if (created) await (await import('./tell-demo.ts')).tellDemo(created, config)
        // A leftover of a restore is removed. If that fails, the next start tries again.
        const { clearAfterRestore } = await import('../admin/backup/place.ts')
        await clearAfterRestore(restorePlace(config)).catch(() => {})
      } catch (error) {
        // The end takes the store away from work that is still to be done.
        if (signal.aborted) return
        await closeService()
        await storage.close()
        throw error
      }
    })
}

/** Time in ms for which the start waits for the place of files. */
const patienceWithFiles = 5_000

/**
 * Names wrong settings of a bucket (D18). A bucket that doesn't answer yet, or a folder that has lost the files of
 * the store, is a warning.
 */
async function checkFiles({ repository }: Store, { files: place }: Config): Promise<void> {
  const files = await openFiles(place, repository)
  const late = delay(patienceWithFiles, new StoreUnavailable(`${files.place} does not answer yet`))
  const fault = await Promise.race([files.require().catch((error: unknown) => error), late])
  if (fault === undefined) return
  const reason = fault instanceof StoreUnavailable ? fault.message : systemReason(fault)
  if (reason === undefined || fault instanceof MisconfiguredFiles) throw fault
  announce('warn', `Files can't be read or written: ${reason}.`, {
    msg: "files can't be read or written",
    fault: reason,
  })
}

/** Number of records from which on a question shouldn't wait for a thread to start, which takes 0.1 s. */
const manyRecords = 1_000_000

interface Service extends Workers {
  /** The configuration with the number of the port. */
  readonly config: Config
}

interface Parts {
  readonly spawned: Worker[]
  readonly storage: Store
  readonly shared: OwnShared
  /** Memory for the phase of the service. */
  readonly phase: Int32Array<SharedArrayBuffer>
  /** Called when the service can't go on. */
  readonly fail: () => void
}

/** Builds the service and listens. */
async function listen(asked: Config, parts: Parts): Promise<Service> {
  for (let attempt = 1; ; attempt++) {
    let release = () => {}
    try {
      const reserved = await reservePort(asked, asked.workers > 1)
      release = reserved.release
      const { close, ...service } = await answer(reserved.config, parts)
      return { config: reserved.config, ...service, close: () => close().finally(release) }
    } catch (error) {
      release()
      // Another program may have taken the free port that was found; then another one is looked for.
      if (asked.port !== 0 || attempt === maxAttempts || !(error instanceof Failure)) throw error
    }
  }
}
const maxAttempts = 5

async function answer(config: Config, { storage, ...parts }: Parts): Promise<Workers> {
  if (config.workers > 1) return startWorkers({ ...parts, config })
  // Imported here, because it takes longer to load than other commands take to run.
  const { buildApp } = await import('../app.ts')
  const limits = { ...ownLimits(config), phase: phaseIn(parts.phase).get }
  const app = await buildApp(config, storage, undefined, limits, parts.shared.threads)
  try {
    await app.listen({ host: config.host, port: config.port })
  } catch (error) {
    await app.close()
    throw listenFailure(error, config.host, config.port)
  }
  return {
    loops: () => ({ running: 1, wanted: 1 }),
    underWay: limits.requests.count,
    close: () => drain(app, config.stop.grace),
  }
}

/**
 * Announces the addresses, in one line (D4). People begin with the console's. The log also says how many workers
 * run so far, as `/health/ready` does.
 */
function announceReady(
  { baseUrl, console: hasConsole, host, port }: Config,
  { running, wanted }: ReturnType<Workers['loops']>,
): void {
  const address = `${baseUrl}/api`
  const listening = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  const places = hasConsole ? `${baseUrl}/ (API: ${address}, ` : `${address} (`
  announce('info', `Carrel answers at ${places}listening on ${listening}).`, {
    ...(hasConsole && { console: `${baseUrl}/` }),
    address,
    listening,
    ...(running < wanted && { workers: { running, wanted } }),
    msg: 'ready',
  })
}

/** Announces each loss once, with advice (D5). */
const announceLoss: ReportLoss = loss => {
  if (loss === null)
    announce('info', 'The files of the store are back. The service goes on.', {
      msg: 'the files of the store are back',
    })
  else
    announce('error', `Nothing can be read or written: ${loss}.`, { msg: 'the store has lost a file', loss })
}

/** The settings of a main thread whose workers answer the requests, and have the connections for them. */
const withOneConnection = (asked: Config): Config => ({
  ...asked,
  database: asked.database.kind === 'embedded' ? asked.database : { ...asked.database, poolSize: 1 },
})

/** Announces that nodes derive what others have derived. */
function announceFields(problem: string): void {
  announce('warn', `What is derived of fields can't be shared by nodes: ${problem}. Each derives its own.`, {
    msg: "what is derived of fields can't be shared",
    problem,
  })
}

/** Maximum number of services on one folder that know of each other. */
const mostServices = 16

/**
 * Marks the folder of an embedded store as served, so that a second service on it, which is usually a mistake,
 * can say so. Each service holds the lock of a file. The system releases it however the service ends, also in a
 * container that is gone, so a mark never outlives its service. The files stay: removing one would be a race.
 */
function markServed({ database, dataFolder }: Config): { readonly others: number; release(): void } {
  let others = 0
  let release: (() => void) | undefined
  const places = database.kind === 'embedded' ? mostServices : 0
  for (let place = 0; place < places; place++) {
    const path = join(dataFolder, `serving.${place}`)
    if (release && !existsSync(path)) break
    const unlock = lockOf(path)
    if (!unlock) others++
    else if (release) unlock()
    else release = unlock
  }
  return { others, release: () => release?.() }
}

/** @returns a function that releases the lock; undefined if another process holds it */
function lockOf(path: string): (() => void) | undefined {
  try {
    const file = holdFile(path, (why, cause) => new Error(why, { cause }))
    return () => file.close()
  } catch (error) {
    // A folder that can't be marked, such as on a full disk, can still be served.
    return isLocked(error) ? undefined : () => {}
  }
}

/** True for SQLITE_BUSY (https://sqlite.org/rescode.html#busy). */
const isLocked = (error: unknown) =>
  ((error as Error).cause as { readonly errcode?: unknown } | undefined)?.errcode === 5

function announceOthers(config: Config): void {
  const store = placeOf(config)
  announce(
    'warn',
    `Another service is also using the store in ${store}. Both answer, but each counts limits separately. If this isn't intended, stop one of them, or give one of them its own folder with CARREL_DATA.`,
    { store, msg: 'another service uses the store, too' },
  )
}

/** Announces a new store, and a missing administrator. */
async function announceStore(config: Config, { isNew, people }: Store): Promise<void> {
  const store = placeOf(config)
  if (isNew) announce('info', `Created a new store in ${store}.`, { store, msg: 'created a new store' })
  const groups = await people.listGroups()
  if (groups.some(({ name, members }) => name === administratorGroup && members > 0)) return
  const command = `${ownCommand()} eperson add <email> --admin`
  announce('warn', `There is no administrator. To add one, run \`${command}\`.`, {
    msg: `there is no administrator; to add one, run \`${command}\``,
  })
}
