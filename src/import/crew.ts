import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import type { FieldType } from '../model/entities.ts'
import { startThread, type Thread } from '../threads/thread.ts'
import type { Piece } from './json-lines.ts'
import type { RankTask } from './rank-field.ts'
import { Appender, openSpool } from './spool.ts'
import { createWork, type Encoded, type Ranking } from './work.ts'
import type { WorkData, WorkHandlers } from './worker.ts'

/** More threads than this would take more memory than an import may. */
const maxThreads = 3

/**
 * The memory for young objects, in MB, of which a thread has three. With what Node gives it by itself, an import is a few
 * percent faster, and that memory is more than all the rest.
 */
const youngObjects = 2

/** How much memory may grow before it is collected, as a share of what is in use, in percent. */
const heapGrowth = 30

/** The threads that share out the work of an import. */
export interface Crew {
  /** How many there are. */
  readonly size: number
  /** Does the work in this thread, for an import so small that starting others takes longer. */
  readonly here: WorkHandlers
  /** The spool of this thread. */
  readonly spool: Appender
  /** The file that all threads write the ranks to. */
  readonly ranks: number
  encode(piece: Piece): Promise<Encoded>
  rank(task: RankTask): Promise<Ranking>
  /** Ends what is under way. */
  close(): Promise<void>
}

/** @param file begins the names of temporary files */
export function createCrew(file: string, types: ReadonlyMap<string, FieldType>): Crew {
  const size = Math.max(1, Math.min(availableParallelism(), maxThreads))
  const ranks = openSpool(`${file}-ranks.staging`)
  const own = openSpool(`${file}-own.staging`)
  const spools = [ranks, own]
  const spool = new Appender(own.descriptor)
  const threads: Thread<WorkHandlers>[] = []

  function start(): void {
    // For the threads that start from now on. That of this one only stops growing.
    setFlagsFromString(`--min-semi-space-size=${youngObjects}`)
    setFlagsFromString(`--max-semi-space-size=${youngObjects}`)
    setFlagsFromString('--semi-space-growth-factor=1')
    // Strings are made and forgotten all the time. By default, twice and more of what is in use may wait to be collected.
    setFlagsFromString(`--heap-growing-percent=${heapGrowth}`)
    const { descriptor, close } = openSpool(`${file}-${threads.length}.staging`)
    spools.push({ descriptor, close })
    const data: WorkData = { descriptor, types }
    threads.push(startThread<WorkHandlers>('import/worker', data))
  }
  function leastBusy(): Thread<WorkHandlers> {
    const free = threads.find(({ busy }) => busy === 0)
    if (free) return free
    if (threads.length < size) start()
    return threads.toSorted((one, other) => one.busy - other.busy)[0] as Thread<WorkHandlers>
  }

  return {
    size,
    here: createWork(spool, types),
    spool,
    ranks: ranks.descriptor,
    encode: piece => leastBusy().call('encode', piece),
    rank: task => leastBusy().call('rank', task),
    close: async () => {
      // A thread that still writes could otherwise write to a file that another one opens.
      await Promise.all(threads.map(thread => thread.close()))
      for (const { close } of spools) close()
    },
  }
}
