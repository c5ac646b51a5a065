import type { Processes } from '../admin/processes/statements.ts'
import { localUploads, openUploads, type UploadConfig } from '../admin/uploads/open-uploads.ts'
import type { Config } from '../config/config.ts'
import type { Store } from '../features.ts'
import { openFiles } from '../files/open-files.ts'
import { clearTemporaryFolders, hasEnded } from '../lib/process-ids.ts'
import { type Clock, maxSkew } from '../storage/storage.ts'
import { nearlyFull } from '../storage/trail.ts'
import { announce } from './output.ts'

/** Time in ms between two runs. */
const interval = 60_000
/** Time in ms by which the store's clock may be behind before the operator is told. */
const maxBehind = 60_000
/** Time in ms after which the operator is told again that this machine's clock is wrong. */
const tellAgainAfter = 24 * 3600 * 1000

type KeptConfig = Pick<Config, 'eventsSize' | 'sessionLifetime' | 'files'> & UploadConfig

/**
 * Does the housekeeping of a store once a minute (T11, docs/decisions/0024), and at once.
 * @returns a function for the last time
 */
export async function keepHouse(
  {
    clock,
    identities,
    isOnDuty,
    processes,
    repository,
    sessions,
    trail,
  }: Pick<Store, 'clock' | 'identities' | 'isOnDuty' | 'processes' | 'repository' | 'sessions' | 'trail'>,
  config: KeptConfig,
): Promise<() => Promise<void>> {
  const { eventsSize, sessionLifetime } = config
  const files = await openFiles(config.files, repository)
  const uploads = await openUploads(config)
  // Unpacked archives are in the node's own folder, wherever uploads are.
  const own = config.sharedFiles ? localUploads(config) : uploads
  const tellOfClock = createClockTeller(clock)
  let isOver = false
  let trailKept: Promise<void> = Promise.resolve()
  const keepTrail = createTrailKeeper(trail, eventsSize, () => isOver)

  async function work(): Promise<void> {
    tellOfClock()
    await clock.advance()
    // Only a node on the same machine sees that a program has ended.
    await tidyProcesses(processes, clock.certain())
    clearTemporaryFolders()
    const forAll = await isOnDuty('housekeeping')
    if (forAll) await workForAll()
    // Last, so that a bucket that doesn't answer keeps nothing else waiting.
    const places = forAll && config.sharedFiles ? [own, uploads] : [own]
    const { lifetime } = config.uploads
    await Promise.all([files.clearIncoming(), ...places.map(place => place.clear(lifetime, clock.certain()))])
  }
  /** The work that one node does for all. */
  async function workForAll(): Promise<void> {
    let after: string | undefined = ''
    while (after !== undefined) after = await sessions.forget(clock.certain(), after)
    if (sessionLifetime !== null)
      await identities.forgetSessions(new Date(Math.max(0, clock.certain() - sessionLifetime * 1000)))
    // It may take long, and neither the start nor other work waits for it.
    trailKept = trailKept.then(keepTrail).catch(() => {})
  }
  // Work that fails is done again a minute later; requests report the failure.
  const attempt = () => work().catch(() => {})

  await attempt()
  const timer = setInterval(() => void attempt(), interval).unref()
  return async () => {
    isOver = true
    clearInterval(timer)
    await attempt()
    await trailKept
  }
}

/** Tells the operator once that the store's clock is behind, and once a day that this machine's differs from it. */
function createClockTeller(clock: Clock): () => void {
  let wasBehind = false
  let toldAt = Number.NEGATIVE_INFINITY
  return () => {
    const skew = clock.skew()
    const isBehind = clock.behind() > maxBehind
    if (isBehind && !wasBehind)
      announceBehind(skew === null ? "This machine's clock" : "The database's clock", new Date(clock.now()))
    wasBehind = isBehind
    if (Math.abs(skew ?? 0) <= maxSkew || performance.now() - toldAt < tellAgainAfter) return
    toldAt = performance.now()
    announceSkew(skew ?? 0)
  }
}

function announceSkew(skew: number): void {
  const seconds = (Math.abs(skew) / 1000).toFixed(1)
  const sentence = `This machine's clock is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} the database's. Carrel goes by the database's; set both by NTP.`
  announce('warn', sentence, { seconds: String(skew / 1000), msg: sentence })
}

function announceBehind(whose: string, time: Date): void {
  const sentence =
    `${whose} is behind: Carrel has already seen ${time.toISOString()}, and continues from there, so nothing ` +
    'that has expired becomes valid again. If the clock is right now and was wrong then, run ' +
    '`carrel eperson logout --all`: everyone has to log in again, and Carrel follows the clock again.'
  announce('warn', sentence, { time: time.toISOString(), msg: sentence })
}

/** Pause in ms between two steps, and maximum number of steps in a round. */
const stepPause = 50
const maxSteps = 200
/** The part of the limit that is left when events are removed, so that few removals leave a marker. */
const leftOver = 0.95

/**
 * Keeps the events that a client may repeat within their size, and tells the operator before they reach it.
 * @param limit in bytes
 */
function createTrailKeeper(
  trail: Pick<Store['trail'], 'keepWithin'>,
  limit: number,
  isOver: () => boolean,
): () => Promise<void> {
  let told: 'nothing' | 'nearly full' | 'pruned' = 'nothing'
  return async () => {
    let removed = 0
    for (let step = 0; step < maxSteps; step++) {
      const wasRemoved = removed > 0
      const kept = await trail.keepWithin(wasRemoved ? limit * leftOver : limit)
      removed += kept.removed
      const isNearlyFull = kept.bytes > limit * nearlyFull
      if (removed > 0 && told !== 'pruned') {
        told = 'pruned'
        announceTrail(
          `The audit trail's events that repeat have reached CARREL_EVENTS_SIZE (${megabytes(limit)}): the oldest of them are removed.`,
          kept.bytes,
        )
      } else if (isNearlyFull && told === 'nothing') {
        told = 'nearly full'
        announceTrail(
          `The audit trail's events that repeat take ${megabytes(kept.bytes)} of ${megabytes(limit)} (CARREL_EVENTS_SIZE): soon the oldest of them will be removed.`,
          kept.bytes,
        )
      } else if (!isNearlyFull) told = 'nothing'
      const isDone = kept.isDone && wasRemoved === removed > 0
      if (isDone || isOver()) return
      await new Promise(resolve => setTimeout(resolve, stepPause))
    }
  }
}

const megabytes = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(bytes < 1024 ** 2 ? 1 : 0)} MB`

function announceTrail(what: string, bytes: number): void {
  const sentence = `${what} Raise the setting, or export and prune events (\`carrel events\`).`
  announce('warn', sentence, { bytes: String(bytes), msg: sentence })
}

/** Time in ms for which ended processes are kept, and their maximum number. */
const keptFor = 90 * 24 * 3600 * 1000
const mostKept = 1_000

/** Maintains the list: marks processes whose program has ended as interrupted, and removes old ones. */
export async function tidyProcesses(
  processes: Pick<Processes, 'owners' | 'interrupt' | 'prune'>,
  now: number,
): Promise<void> {
  const gone = (await processes.owners()).filter(hasEnded)
  await processes.interrupt(gone)
  await processes.prune(new Date(Math.max(0, now - keptFor)).toISOString(), mostKept)
}
