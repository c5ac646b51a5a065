import { SingleBar } from 'cli-progress'

/** Says what long work is at, and the share of it that is done, 0 to 1 (D1). */
export interface ShownProgress {
  update(step: string, share: number): void
  /** A line that stays, beside the bar. */
  note(line: string): void
  stop(): void
}

/** A bar on a terminal, a line every few seconds otherwise; on standard error, so that output stays clean. */
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
  return {
    update: (step, share) => {
      // What is done in a moment needs no progress.
      if (!started && performance.now() - begun < 1_000) return
      if (started) bar.update(Math.round(share * 100), { step })
      else bar.start(100, Math.round(share * 100), { step })
      started = true
    },
    note: line => {
      // The bar is drawn again below it.
      process.stderr.write(started && process.stderr.isTTY ? `\r\u001b[2K${line}\n` : `${line}\n`)
    },
    stop: () => bar.stop(),
  }
}
