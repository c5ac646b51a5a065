import { readlinkSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { setPriority } from 'node:os'
import { extname } from 'node:path'
import { parentPort, Worker } from 'node:worker_threads'
import { StoreUnavailable } from '../../model/errors.ts'

/** Calls from the main thread to a worker thread, typed by the worker's handlers. */
export type Handlers = Readonly<Record<string, (...args: never[]) => unknown>>

/** What a worker does for one store at a time. */
interface Work<H extends Handlers> {
  readonly handlers: H
  /** Closes what it has opened. */
  close(): void
}

type Call = readonly [id: number, name: string, args: readonly unknown[]]
type Reply =
  | readonly [id: number, kind: 'result', result: unknown]
  | readonly [id: number, kind: 'unavailable' | 'error', message: string]

/** Calls that every worker answers: it begins with the first, and is ready for another store after the second. */
const own = { open: '#open', close: '#close' } as const

export interface Thread<H extends Handlers> {
  call<K extends keyof H & string>(name: K, ...args: Parameters<H[K]>): Promise<Awaited<ReturnType<H[K]>>>
  /** The number of calls without an answer yet. */
  readonly busy: number
  /** Whether the thread has ended, as after a crash. It can't be used any more. */
  readonly hasEnded: boolean
  close(): Promise<void>
}

/**
 * Workers of stores that were closed, by name. A process that opens one store after the other, such as a test, spent two
 * thirds of its time on starting them.
 */
const idle = new Map<string, Worker[]>()
const maxIdle = 2

const isRunning = ({ threadId }: Worker) => threadId !== -1

function newWorker(file: URL): Worker {
  const worker = new Worker(loaderOf(file), { eval: true, stdout: false, stderr: false })
  // Without a listener it would end the process, also while no store uses the worker.
  worker.on('error', () => {})
  return worker
}

/**
 * @param name the path of the file below `storage/`, without its extension
 * @param data what the worker's `serveThread` is to open
 */
export function startThread<H extends Handlers>(name: string, data: unknown): Thread<H> {
  const file = new URL(`../${name}${extname(import.meta.url)}`, import.meta.url)
  const parked = (idle.get(name) ?? []).filter(isRunning)
  idle.set(name, parked)
  const worker = parked.pop() ?? newWorker(file)
  const pending = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>()
  let next = 0
  let ended: Error | undefined

  const listeners = {
    message: ([id, kind, value]: Reply) => {
      const call = pending.get(id)
      pending.delete(id)
      if (pending.size === 0 && !ended) worker.unref()
      if (kind === 'result') call?.resolve(value as never)
      else call?.reject(kind === 'unavailable' ? new StoreUnavailable(value) : new Error(value))
    },
    error: (error: Error) => end(new StoreUnavailable(`the ${name} thread failed`, { cause: error })),
    exit: () => end(ended ?? new StoreUnavailable(`the ${name} thread has ended`)),
  }
  function end(error: Error): void {
    ended = error
    for (const call of pending.values()) call.reject(error)
    pending.clear()
  }
  for (const [event, listener] of Object.entries(listeners)) worker.on(event, listener)
  // A thread without pending calls doesn't keep the process alive.
  worker.unref()

  function call(method: string, args: readonly unknown[]): Promise<never> {
    if (ended) return Promise.reject(ended)
    const id = next++
    return new Promise<never>((resolve, reject) => {
      if (pending.size === 0) worker.ref()
      pending.set(id, { resolve, reject })
      worker.postMessage([id, method, args] satisfies Call)
    })
  }

  // A worker that can't open what it is to work on ends: the calls that follow fail with the reason.
  call(own.open, [data]).catch(error => {
    ended ??= error
    return worker.terminate()
  })

  return {
    call: (method, ...args) => call(method, args),
    get busy() {
      return pending.size
    },
    get hasEnded() {
      return ended !== undefined
    },
    close: async () => {
      // Nobody waits for what a busy one does.
      const isFree = ended === undefined && pending.size === 0 && (idle.get(name)?.length ?? 0) < maxIdle
      const isClosed =
        isFree &&
        (await call(own.close, []).then(
          () => true,
          () => false,
        ))
      ended ??= new StoreUnavailable('the store is closed')
      if (!isClosed) {
        // Or the process could end before the promise is settled.
        worker.ref()
        await worker.terminate()
        return
      }
      for (const [event, listener] of Object.entries(listeners)) worker.off(event, listener)
      idle.get(name)?.push(worker)
    },
  }
}

/**
 * A thread doesn't use the process's compile cache by itself, and compiling and stripping the types of its files takes
 * several times as long as its work at start.
 */
function loaderOf(file: URL): string {
  const cache = getCompileCacheDir()
  const useCache =
    cache === undefined ? '' : `require('node:module').enableCompileCache(${JSON.stringify(cache)});`
  return `${useCache} import(${JSON.stringify(file.href)})`
}

/**
 * The worker's side: answers calls in order. The buffer of a typed array is transferred, not copied.
 * @param open begins to work on what `startThread` was given
 */
export function serveThread<D>(open: (data: D) => Work<Handlers>): void {
  const port = parentPort
  if (!port) throw new Error('this file must run as a worker thread')
  let work: Work<Handlers> | undefined
  let failure: unknown

  function answer(name: string, args: readonly unknown[]): unknown {
    if (name === own.open)
      try {
        work = open(args[0] as D)
        return undefined
      } catch (error) {
        failure = error
        throw error
      }
    if (name === own.close) {
      work?.close()
      work = undefined
      return undefined
    }
    if (!work) throw failure ?? new StoreUnavailable('the store is closed')
    const handler = work.handlers[name] as ((...args: readonly unknown[]) => unknown) | undefined
    if (!handler) throw new Error(`no handler ${name}`)
    return handler(...args)
  }

  port.on('message', ([id, name, args]: Call) => {
    let reply: Reply
    try {
      reply = [id, 'result', answer(name, args)]
    } catch (error) {
      const kind = error instanceof StoreUnavailable ? 'unavailable' : 'error'
      reply = [
        id,
        kind,
        error instanceof Error
          ? kind === 'error'
            ? (error.stack ?? error.message)
            : error.message
          : String(error),
      ]
    }
    const result = reply[2]
    port.postMessage(
      reply,
      ArrayBuffer.isView(result) && result.buffer instanceof ArrayBuffer ? [result.buffer] : [],
    )
  })
}

/**
 * Gives the calling thread a lower priority than the one that answers requests. On Linux each thread has its own priority.
 * @param nice from 0 (normal) to 19 (only when the processor is otherwise idle)
 */
export function lowerPriority(nice: number): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').pop())
    if (Number.isInteger(thread)) setPriority(thread, nice)
  } catch {
    // Other platforms keep the normal priority: slower under load, but correct.
  }
}
