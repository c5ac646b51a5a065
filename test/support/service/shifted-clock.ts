import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { databaseOf, runSqlIn } from './engines.ts'
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

/** The clock that a store goes by: the machine's, or the database's, whose function is replaced in that database alone. */
export async function clockOfStore(t: TestContext, dataFolder: string) {
  const machine = shiftedClock(t)
  if ((await databaseOf(dataFolder)) === undefined)
    return { env: machine.env, shift: async (seconds: number) => machine.shift(seconds) }
  await runSqlIn(
    dataFolder,
    `CREATE TABLE public.clock_shift AS SELECT 0::float8 AS seconds;
     GRANT SELECT ON public.clock_shift TO public;
     ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO real_clock_timestamp;
     CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
       'SELECT real_clock_timestamp() + make_interval(secs => (SELECT seconds FROM public.clock_shift))'`,
  )
  return {
    env: machine.env,
    shift: async (seconds: number) =>
      void (await runSqlIn(dataFolder, 'UPDATE public.clock_shift SET seconds = $1', [seconds])),
  }
}
