import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from './service.ts'

/** A clock of processes that tests set, as an operator sets that of a machine. The tests' own goes on as it is. */
export interface ShiftedClock {
  /** For the environment of a process: it is loaded into each of its threads. */
  readonly env: Readonly<Record<string, string>>
  /** From now on the clock is so many seconds ahead; less than 0: behind. */
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
    // At once, or a thread could read half of it.
    renameSync(`${order}.new`, order)
  }
  shift(0)
  return { env: { NODE_OPTIONS: `--require=${file}` }, shift }
}
