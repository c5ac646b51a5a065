import { setPriority } from 'node:os'
import { maxLine, maxLines } from '../admin/processes/statements.ts'
import { OperatorError, StoreUnavailable } from '../lib/errors.ts'
import type { FromChild, Report, Running, ToChild } from '../lib/threads/child.ts'

/**
 * Niceness of the process: below the service that answers requests, but no further, because a person waits
 * for the result.
 */
const niceness = 5
/** Time in ms between two reports of progress, and of lines. */
const reportInterval = 250

class Cancelled extends Error {}

/**
 * Runs the work of a process that a service has started (`lib/threads/child.ts`). The process gets its job over
 * the channel to the service, and ends with it.
 */
export function serveChild<Job>(work: (job: Job, running: Running) => Promise<Report>): void {
  const interruption = new AbortController()
  const cancel = () => interruption.abort(new Cancelled())
  // The channel is closed when the service has ended, however that was; the work ends, too.
  const say = (message: FromChild) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {})
  }

  /** Time of the last report in ms. The end of a step is always reported. */
  let last = 0
  function progress(step: string, share: number): void {
    const now = performance.now()
    if (share < 1 && now - last < reportInterval) return
    last = now
    say({ kind: 'progress', step, share })
  }

  let lines: string[] = []
  let told = 0
  let more = 0
  let telling: NodeJS.Timeout | undefined
  function log(line: string): void {
    // The channel can't take more lines: there may be one for each of a million items.
    if (++told > maxLines) more++
    else lines.push(line.slice(0, maxLine + 1))
    telling ??= setTimeout(tellLines, reportInterval)
  }
  function tellLines(): void {
    clearTimeout(telling)
    telling = undefined
    if (lines.length > 0 || more > 0) say({ kind: 'log', lines, more })
    lines = []
    more = 0
  }

  async function run(job: Job): Promise<FromChild> {
    try {
      return {
        kind: 'done',
        report: JSON.stringify(await work(job, { signal: interruption.signal, progress, log })),
      }
    } catch (error) {
      if (interruption.signal.aborted) return { kind: 'cancelled' }
      if (error instanceof StoreUnavailable) return { kind: 'unavailable', message: error.message }
      if (error instanceof OperatorError)
        return { kind: 'refused', message: error.message, details: error.details }
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
      return { kind: 'failed', message }
    }
  }

  // The reader of the service's log may have gone, too.
  process.stderr.on('error', () => {})
  process.on('message', (message: ToChild<Job>) => {
    if ('cancel' in message) cancel()
    else
      void run(message.job).then(outcome => {
        tellLines()
        // The channel keeps the process alive until the outcome has been sent.
        if (process.connected)
          process.send?.(outcome, undefined, undefined, () => process.connected && process.disconnect?.())
        else if (outcome.kind !== 'done')
          process.stderr.write('carrel: the service has ended, and with it the work that it had begun.\n')
      })
  })
  process.on('disconnect', cancel)
  // The service gets these signals, too, and then tells this process.
  process.on('SIGINT', () => {}).on('SIGTERM', () => {})
  try {
    setPriority(niceness)
  } catch {
    // Some containers forbid it: slower for others under load, but correct.
  }
}
