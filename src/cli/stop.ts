import { setTimeout as delay } from 'node:timers/promises'
import type { StopTimes } from '../config/parts.ts'
import { createLog, writeLine } from '../http/log.ts'
import type { Phase } from '../model/limits.ts'

/** What ends a service. */
export type Cause = 'SIGTERM' | 'SIGINT' | 'end of parent'

export interface Stoppable {
  readonly times: StopTimes
  readonly setPhase: (phase: Phase) => void
  /** Returns the number of requests that have begun and whose answer isn't whole yet, over all event loops. */
  readonly underWay: () => number
  /** Takes no more connections, and resolves when all requests have been answered or cut. */
  readonly close: () => Promise<void>
  /** Called when the last request has been answered. */
  readonly end: () => Promise<void>
}

export interface Stopping {
  /** True once the service has been told to end. */
  readonly hasBegun: () => boolean
  /** Says how to end from now on. Before that, nothing is under way, and a signal ends the process at once. */
  prepare(parts: Stoppable): void
}

/**
 * Time in ms to end after the last request. A store that doesn't answer may take much longer, and has nothing
 * to lose (D4).
 */
const graceToEnd = 5_000
export const inTime = (end: Promise<void>) => Promise.race([end, delay(graceToEnd)])

/** Interval in ms at which a service below npm looks for its parent. */
const lookEvery = 500
/** Time in ms within which npm repeats a signal that a terminal has sent to all processes below it. */
const echo = 500

/** True below `npm start`, `npm run` and `npx`. */
const isBelowNpm = () => process.env.npm_lifecycle_event !== undefined || process.env.npm_command === 'exec'

/** Ends the service on SIGTERM, SIGINT and, below npm, when its parent has ended (D4). A second signal doesn't wait. */
export function stopOnSignal(): Stopping {
  let parts: Stoppable | undefined
  let begun: { readonly cause: Cause; readonly at: number } | undefined

  function stop(cause: Cause): void {
    const isEcho = begun?.cause === cause && performance.now() - begun.at < echo
    if (begun && cause === 'end of parent') return
    if (begun && isEcho && isBelowNpm()) return
    if (begun) process.exit(1)
    begun = { cause, at: performance.now() }
    if (parts) void stopInOrder(parts, cause)
    else process.exit(0)
  }

  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  onEndOfParent(() => stop('end of parent'))
  return {
    hasBegun: () => begun !== undefined,
    prepare: given => {
      parts = given
    },
  }
}

async function stopInOrder(
  { times, setPhase, underWay, close, end }: Stoppable,
  cause: Cause,
): Promise<void> {
  const begun = performance.now()
  setPhase('stopping')
  const requests = underWay()
  tell(
    `Stopping because of ${cause === 'end of parent' ? `the ${cause}` : cause}; requests under way: ${requests}.`,
    'stopping',
    { cause, requests },
  )
  // A person at a terminal shouldn't wait.
  if (cause !== 'SIGINT') await delay(times.delay)
  let cut = 0
  const late = setTimeout(() => {
    cut = underWay()
  }, times.grace)
  await close()
  clearTimeout(late)
  await inTime(end())
  const ms = Math.round(performance.now() - begun)
  tell(`Stopped after ${(ms / 1000).toFixed(1)} s; requests cut: ${cut}.`, 'stopped', { cut, ms })
  process.exit(0)
}

/** Writes a line, also in a log of few levels. One that can't be written is lost: requests are still under way. */
function tell(sentence: string, msg: string, members: object): void {
  if (!process.stdout.isTTY) createLog('info').info(members, msg)
  else writeLine(`${sentence}\n`)
}

/**
 * Calls back when the parent of a service below npm has ended. npm passes a signal to its shell only, and the shell
 * to nobody. A service whose parent had ended before is in the background on purpose, and so is one that leads its
 * own process group.
 */
function onEndOfParent(ended: () => void): void {
  if (!isBelowNpm() || leadsGroup()) return
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) ended()
  }, lookEvery).unref()
}

function leadsGroup(): boolean {
  try {
    return process.kill(-process.pid, 0)
  } catch {
    return false
  }
}
