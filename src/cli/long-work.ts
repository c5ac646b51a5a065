import { SingleBar } from 'cli-progress'
import { createProcesses } from '../admin/processes/processes.ts'
import type { NewProcess, Process, Run } from '../model/processes.ts'
import type { Storage } from '../storage/storage.ts'

/** Shows the current step of long work, and the share of it that is done, 0 to 1 (D1). */
interface ShownProgress {
  update(step: string, share: number): void
  /** Prints a line that stays above the bar. */
  note(line: string): void
  /** Shows that the last step is done, and ends the bar. */
  done(): void
  /** Ends the bar where it is. */
  stop(): void
}

/**
 * Shows a bar on a terminal, otherwise a line every few seconds. It is on standard error, so that output
 * stays clean.
 */
export function showProgress(): ShownProgress {
  const bar = new SingleBar({
    format: '{step} [{bar}] {percentage} %',
    stream: process.stderr,
    noTTYOutput: true,
    notTTYSchedule: 3_000,
    hideCursor: true,
    clearOnComplete: true,
  })
  const begun = performance.now()
  let started = false
  let last = ''
  return {
    update: (step, share) => {
      last = step
      // Short work needs no progress.
      if (!started && performance.now() - begun < 1_000) return
      if (started) bar.update(Math.round(share * 100), { step })
      else bar.start(100, Math.round(share * 100), { step })
      started = true
    },
    note: line => {
      // The bar is drawn again below the line.
      process.stderr.write(started && process.stderr.isTTY ? `\r\u001b[2K${line}\n` : `${line}\n`)
    },
    done: () => {
      if (started) bar.update(100, { step: last })
      bar.stop()
    },
    stop: () => bar.stop(),
  }
}

/**
 * Runs the work of a command as a process, so that the service lists it, too. It never waits for other
 * processes.
 */
export const asProcess = <T>(
  { processes }: Pick<Storage, 'processes'>,
  what: Pick<NewProcess, 'kind' | 'parameters'>,
  work: (run: Run) => Promise<T>,
  resultOf: (outcome: T) => Process['result'],
): Promise<T> =>
  createProcesses({ processes, atOnce: null }).follow({ ...what, eperson: null }, work, resultOf)
