import { createProcesses, percent } from '../admin/processes/processes.ts'
import type { Store } from '../features.ts'
import type { Running } from '../lib/threads/child.ts'
import type { NewProcess, Process, Run } from '../model/processes.ts'

/** Shows the current step of long work, and the share of it that is done, 0 to 1 (D1). */
export interface ShownProgress {
  update(step: string, share: number): void
  /** Prints a line that stays above the bar. */
  note(line: string): void
  /** Shows that the last step is done, and ends the bar. */
  done(): void
  /** Ends the bar where it is. */
  stop(): void
}

/** Time in ms that work must take before it shows its progress. */
const short = 1_000
/** Time in ms between two lines in a file, and between two pictures of the bar on a terminal. */
const [pause, terminalPause] = [3_000, 100]
const width = 40
const clear = '\r\u001b[2K'

/**
 * Shows a bar on a terminal, otherwise a line every few seconds. It is on standard error, so that output
 * stays clean.
 */
export function showProgress(): ShownProgress {
  const { stderr } = process
  const begun = performance.now()
  /** When it was last shown. */
  let shown: number | undefined
  let line = ''
  const show = () => stderr.write(stderr.isTTY ? `${clear}${line}` : `${line}\n`)
  const set = (step: string, share: number) => {
    const percent = Math.round(share * 100)
    line = `${step} [${'='.repeat((percent * width) / 100).padEnd(width, '-')}] ${percent} %`
  }
  let last = ''
  const end = () => {
    if (shown !== undefined && stderr.isTTY) stderr.write(clear)
    shown = undefined
  }
  return {
    update: (step, share) => {
      last = step
      const now = performance.now()
      if (now - (shown ?? begun) < (shown === undefined ? short : stderr.isTTY ? terminalPause : pause))
        return
      shown = now
      set(step, share)
      show()
    },
    note: text => {
      if (shown === undefined || !stderr.isTTY) stderr.write(`${text}\n`)
      else stderr.write(`${clear}${text}\n${line}`)
    },
    done: () => {
      if (shown !== undefined && !stderr.isTTY) {
        set(last, 1)
        show()
      }
      end()
    },
    stop: end,
  }
}

/** Does work that shows its progress, whose bar ends with it, however that is. */
export async function withProgress<T>(work: (shown: ShownProgress) => Promise<T>): Promise<T> {
  const shown = showProgress()
  try {
    const done = await work(shown)
    shown.done()
    return done
  } finally {
    shown.stop()
  }
}

/** A process as its work sees it: the signal that interrupts it, its log and its progress. */
export type Listed = Pick<Run, 'signal' | 'log'> & Pick<Running, 'progress'>

/**
 * Runs the work of a command as a process, so that the service lists it and its progress, too (PR5). It never
 * waits for other processes.
 */
export const asProcess = <T>(
  { processes }: Pick<Store, 'processes'>,
  what: Pick<NewProcess, 'kind' | 'parameters'>,
  shown: Pick<ShownProgress, 'update'>,
  work: (listed: Listed) => Promise<T>,
  resultOf: (outcome: T) => Process['result'],
): Promise<T> => {
  const listed = (run: Run): Listed => ({
    signal: run.signal,
    log: line => run.log(line),
    progress: (step, share) => {
      run.progress(percent(share))
      shown.update(step, share)
    },
  })
  return createProcesses({ processes, atOnce: null }).follow(
    { ...what, eperson: null },
    run => work(listed(run)),
    resultOf,
  )
}
