import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from './service.ts'

/**
 * The clock of processes, which a test can set as an operator sets that of a machine. The test's own clock
 * doesn't change.
 */
export interface ShiftedClock {
  /** Environment of a process, which loads the clock into each of its threads. */
  readonly env: Readonly<Record<string, string>>
  /** Sets the clock this number of seconds ahead or, if negative, behind. */
  shift(seconds: number): void
}

export function shiftedClock(t: TestContext): ShiftedClock {
  const folder = temporaryFolder(t, 'sqlite')
  const order = join(folder, 'shift')
  const file = join(folder, 'clock.cjs')
  writeFileSync(
    file,
    `const { readFileSync } = require('node:fs')
     const Real = Date
     const now = () => Real.now() + 1000 * Number(readFileSync(${JSON.stringify(order)}, 'utf8'))
     globalThis.Date = class Date extends Real {
       constructor(...given) { given.length === 0 ? super(now()) : super(...given) }
       static now() { return now() }
     }`,
  )
  const shift = (seconds: number) => {
    writeFileSync(`${order}.new`, String(seconds))
    // Renamed, so that a thread never reads half of it.
    renameSync(`${order}.new`, order)
  }
  shift(0)
  return { env: { NODE_OPTIONS: `--require=${file}` }, shift }
}
