import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { startThread, type Thread } from '../lib/threads/thread.ts'
import type { FieldFileTask } from './field-file.ts'
import type { Declarations } from './field-list.ts'
import type { Piece } from './json-lines.ts'
import type { RankTask } from './rank-field.ts'
import { Appender, openSpool } from './spool.ts'
import { createWork, type Encoded, type Ranking } from './work.ts'
import type { WorkData, WorkHandlers } from './worker.ts'

/** Maximum number of threads; more would take more memory than an import may use. */
const maxThreads = 3

/**
 * Size in MB of a semi-space of V8, of which each thread has three for young objects. With the default of
 * Node, an import is a few percent faster, but that memory is larger than all other memory of an import.
 */
const youngObjects = 2

/** Percentage by which the heap may grow before garbage is collected. */
const heapGrowth = 30

/** Threads that share the work of an import. */
export interface WorkerPool {
  /** Number of threads. */
  readonly size: number
  /** Does work in the calling thread, for imports so small that starting threads takes longer. */
  readonly here: WorkHandlers
  /** The spool of the calling thread. */
  readonly spool: Appender
  /** Descriptor of the file to which all threads write ranks. */
  readonly ranks: number
  encode(piece: Piece): Promise<Encoded>
  rank(task: RankTask): Promise<Ranking>
  writeField(task: FieldFileTask): Promise<void>
  readonly isClosed: boolean
  /** Ends all work. */
  close(): Promise<void>
}

/** @param file prefix for the names of temporary files */
export function createWorkerPool(
  file: string,
  { types, shaping = {}, constraints = [] }: Pick<Declarations, 'types' | 'shaping' | 'constraints'>,
): WorkerPool {
  const size = Math.max(1, Math.min(availableParallelism(), maxThreads))
  const ranks = openSpool(`${file}-ranks.staging`)
  const own = openSpool(`${file}-own.staging`)
  const spools = [ranks, own]
  const spool = new Appender(own.descriptor)
  const threads: Thread<WorkHandlers>[] = []
  let isClosed = false

  function start(): void {
    // These flags apply to threads started from now on. In the calling thread, the memory for young
    // objects merely stops growing.
    setFlagsFromString(`--min-semi-space-size=${youngObjects}`)
    setFlagsFromString(`--max-semi-space-size=${youngObjects}`)
    setFlagsFromString('--semi-space-growth-factor=1')
    // Strings are constantly made and dropped. By default, garbage of twice the size in use or more
    // may wait for collection.
    setFlagsFromString(`--heap-growing-percent=${heapGrowth}`)
    const { descriptor, close } = openSpool(`${file}-${threads.length}.staging`)
    spools.push({ descriptor, close })
    const data: WorkData = { descriptor, types, shaping, constraints }
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
    here: createWork(spool, types, shaping, constraints),
    spool,
    ranks: ranks.descriptor,
    encode: piece => leastBusy().call('encode', piece),
    rank: task => leastBusy().call('rank', task),
    writeField: task => leastBusy().call('writeField', task),
    get isClosed() {
      return isClosed
    },
    close: async () => {
      isClosed = true
      // A thread that still writes could otherwise write to a file that another thread opens.
      await Promise.all(threads.map(thread => thread.close()))
      for (const { close } of spools) close()
    },
  }
}
