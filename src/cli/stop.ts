import { readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { StopTimes } from '../config/parts.ts'
import { createLog, writeLine } from '../http/log.ts'
import type { Phase } from '../model/limits.ts'

/** The reason why a service stops. */
type Cause = 'SIGTERM' | 'SIGINT' | 'end of parent'

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

interface Stopping {
  /** Aborts when the service is told to end. */
  readonly signal: AbortSignal
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

/** Ends the service on SIGTERM, SIGINT and, below npm, when npm has ended (D4). A second signal doesn't wait. */
export function stopOnSignal(): Stopping {
  const ending = new AbortController()
  let parts: Stoppable | undefined
  let begun: { readonly cause: Cause; readonly at: number } | undefined

  function stop(cause: Cause): void {
    const isEcho = begun?.cause === cause && performance.now() - begun.at < echo
    if (begun && cause === 'end of parent') return
    if (begun && isEcho && isBelowNpm()) return
    if (begun) process.exit(1)
    begun = { cause, at: performance.now() }
    ending.abort()
    if (parts) void stopInOrder(parts, cause)
    else process.exit(0)
  }

  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  onEndOfParent(() => stop('end of parent'))
  return {
    signal: ending.signal,
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
 * Calls back when npm and the shell between it and the service have ended. npm passes a signal to its shell only, and
 * the shell doesn't pass it on. A service that a script leaves in the background on purpose goes on.
 */
function onEndOfParent(ended: () => void): void {
  if (!isBelowNpm() || leadsGroup() || isInBackground()) return
  const parent = process.ppid
  const npm = npmAbove()
  if (npm === undefined) return
  setInterval(() => {
    if (process.ppid !== parent && !isRunning(npm)) ended()
  }, lookEvery).unref()
}

/** Returns the pid of the npm above this process, or of the parent where the system can't tell. */
function npmAbove(): number | undefined {
  try {
    for (let pid = process.ppid; pid > 0; ) {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      if (/^Name:\s*np[mx]\b/.test(status)) return pid
      pid = Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0)
    }
    return undefined
  } catch {
    return process.ppid
  }
}

/**
 * True if the shell of a script has put this process into the background: it then has no input, unlike the shell
 * (POSIX, "Asynchronous Lists"). Signals that the shell or nohup ignores don't tell, because Node resets them.
 */
function isInBackground(): boolean {
  const nothing = '/dev/null'
  try {
    return (
      readlinkSync('/proc/self/fd/0') === nothing && readlinkSync(`/proc/${process.ppid}/fd/0`) !== nothing
    )
  } catch {
    return false
  }
}

const leadsGroup = () => isRunning(-process.pid)

/** @param pid that of a process, or of a group if negative */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
