import { readlinkSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { setPriority } from 'node:os'
import { extname } from 'node:path'
import { parentPort, Worker } from 'node:worker_threads'
import { StoreUnavailable } from '../../model/errors.ts'

/** Calls from the main thread to a worker thread, typed by the worker's handlers. */
export type Handlers = Readonly<Record<string, (...args: never[]) => unknown>>

type Call = readonly [id: number, name: string, args: readonly unknown[]]
type Reply =
  | readonly [id: number, kind: 'result', result: unknown]
  | readonly [id: number, kind: 'unavailable' | 'error', message: string]

export interface Thread<H extends Handlers> {
  call<K extends keyof H & string>(name: K, ...args: Parameters<H[K]>): Promise<Awaited<ReturnType<H[K]>>>
  /** The number of calls without an answer yet. */
  readonly busy: number
  /** Whether the thread has ended, as after a crash. It can't be used any more. */
  readonly hasEnded: boolean
  close(): Promise<void>
}

/**
 * @param name the path of the file below `storage/`, without its extension
 * @param data the worker's `workerData`
 */
export function startThread<H extends Handlers>(name: string, data: unknown): Thread<H> {
  const file = new URL(`../${name}${extname(import.meta.url)}`, import.meta.url)
  const worker = new Worker(loaderOf(file), { eval: true, workerData: data, stdout: false, stderr: false })
  const pending = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>()
  let next = 0
  let ended: Error | undefined

  worker.on('message', ([id, kind, value]: Reply) => {
    const call = pending.get(id)
    pending.delete(id)
    if (pending.size === 0) worker.unref()
    if (kind === 'result') call?.resolve(value as never)
    else call?.reject(kind === 'unavailable' ? new StoreUnavailable(value) : new Error(value))
  })
  const end = (error: Error) => {
    ended = error
    for (const call of pending.values()) call.reject(error)
    pending.clear()
  }
  worker.on('error', error => end(new StoreUnavailable(`the ${name} thread failed`, { cause: error })))
  worker.on('exit', () => end(ended ?? new StoreUnavailable(`the ${name} thread has ended`)))
  // A thread without pending calls doesn't keep the process alive.
  worker.unref()

  return {
    call: (method, ...args) => {
      if (ended) return Promise.reject(ended)
      const id = next++
      return new Promise((resolve, reject) => {
        if (pending.size === 0) worker.ref()
        pending.set(id, { resolve: resolve as (result: never) => void, reject })
        worker.postMessage([id, method, args] satisfies Call)
      })
    },
    get busy() {
      return pending.size
    },
    get hasEnded() {
      return ended !== undefined
    },
    close: async () => {
      await worker.terminate()
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

/** The worker's side: answers calls in order. The buffer of a typed array is transferred, not copied. */
export function serveThread(handlers: Handlers): void {
  const port = parentPort
  if (!port) throw new Error('this file must run as a worker thread')
  port.on('message', ([id, name, args]: Call) => {
    let reply: Reply
    try {
      const handler = handlers[name] as ((...args: readonly unknown[]) => unknown) | undefined
      if (!handler) throw new Error(`no handler ${name}`)
      reply = [id, 'result', handler(...args)]
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
