import { readlinkSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { setPriority } from 'node:os'
import { MessageChannel, MessagePort, parentPort, Worker } from 'node:worker_threads'
import { StoreUnavailable } from '../errors.ts'
import { programFile } from '../own-files.ts'
import { answerOver, type Calls, callsOver, type Handlers, handlerIn } from './calls.ts'

/** The work of a worker, for one store at a time. */
interface Work<H extends Handlers> {
  readonly handlers: H
  close(): void
  /**
   * Makes handlers for another thread that connects, closed when that thread ends; without it, all threads
   * use the same.
   */
  connect?(): Work<H>
}

/** Calls that every worker answers: the first begins its work, and after the last it is ready for another store. */
const own = { open: '#open', connect: '#connect', close: '#close' } as const

export interface Thread<H extends Handlers> {
  readonly call: Calls<H>['call']
  /** The number of calls without an answer yet. */
  readonly busy: number
  /** True if the thread has ended, as after a crash. It can't be used any more. */
  readonly hasEnded: boolean
  close(): Promise<void>
}

/** A thread that this one has started. */
interface OwnThread<H extends Handlers> extends Thread<H> {
  /** @returns a port over which another thread can call this one */
  connect(): MessagePort
}

/**
 * Workers of closed stores, by name. Without them, a process that opens one store after the other, such as a
 * test, spent two thirds of its time on starting workers.
 */
const idle = new Map<string, Worker[]>()
const maxIdle = 2

const isRunning = ({ threadId }: Worker) => threadId !== -1

function newWorker(file: URL): Worker {
  const worker = new Worker(loaderOf(file), { eval: true, stdout: false, stderr: false })
  // Without a listener, an error would end the process, even while no store uses the worker.
  worker.on('error', () => {})
  return worker
}

/**
 * Starts a thread, or takes one that is idle.
 * @param name the path of the file below `src/`, without its extension
 * @param data argument of the function that the worker gives to `serveThread`
 */
export function startThread<H extends Handlers>(name: string, data: unknown): OwnThread<H> {
  const file = programFile(name)
  const parked = (idle.get(name) ?? []).filter(isRunning)
  idle.set(name, parked)
  const worker = parked.pop() ?? newWorker(file)
  const calls = callsOver<H>(worker)
  // Callers know the types of the handlers, but not of these calls.
  const tell = calls.call as unknown as (name: string, ...args: readonly unknown[]) => Promise<unknown>
  const listeners = {
    error: (error: Error) => calls.end(new StoreUnavailable(`the ${name} thread failed`, { cause: error })),
    exit: () => calls.end(new StoreUnavailable(`the ${name} thread has ended`)),
  }
  for (const [event, listener] of Object.entries(listeners)) worker.on(event, listener)

  // A worker that can't open its store ends, and the calls that follow fail with the reason.
  tell(own.open, data).catch(error => {
    calls.end(error)
    return worker.terminate()
  })

  return {
    call: calls.call,
    get busy() {
      return calls.busy
    },
    get hasEnded() {
      return calls.ended !== undefined
    },
    connect: () => {
      const { port1, port2 } = new MessageChannel()
      tell(own.connect, port2).catch(() => port1.close())
      return port1
    },
    close: async () => {
      // Results of a busy worker aren't wanted any more, so it is ended.
      const isFree = calls.ended === undefined && calls.busy === 0 && (idle.get(name)?.length ?? 0) < maxIdle
      const isClosed =
        isFree &&
        (await tell(own.close).then(
          () => true,
          () => false,
        ))
      calls.end(new StoreUnavailable('the store is closed'))
      if (!isClosed) {
        // Without a reference, the process could end before the promise is settled.
        worker.ref()
        await worker.terminate()
        return
      }
      calls.leave()
      for (const [event, listener] of Object.entries(listeners)) worker.off(event, listener)
      idle.get(name)?.push(worker)
    },
  }
}

/** Calls a thread that another one has started. @param connecting the port to call it over */
export function remoteThread<H extends Handlers>(name: string, connecting: Promise<MessagePort>): Thread<H> {
  let waiting = 0
  let calls: Calls<H> | undefined
  let failure: unknown
  const connected = connecting.then(port => {
    calls = callsOver<H>(port)
    port.on('close', () => calls?.end(new StoreUnavailable(`the ${name} thread has ended`)))
    return { port, calls }
  })
  connected.catch(error => {
    failure = error
  })
  return {
    call: (method, ...args) => {
      if (calls) return calls.call(method, ...args)
      waiting++
      return connected
        .finally(() => {
          waiting--
        })
        .then(one => one.calls.call(method, ...args))
    },
    get busy() {
      return waiting + (calls?.busy ?? 0)
    },
    get hasEnded() {
      return failure !== undefined || calls?.ended !== undefined
    },
    close: async () => {
      const open = await connected.catch(() => undefined)
      open?.calls.end(new StoreUnavailable('the store is closed'))
      open?.port.close()
    },
  }
}

/**
 * Makes the code that loads the file of a thread. A thread doesn't use the process's compile cache by itself,
 * and compiling and stripping the types of its files takes several times as long as its work at start.
 */
export function loaderOf(file: URL): string {
  const cache = getCompileCacheDir()
  const useCache =
    cache === undefined ? '' : `require('node:module').enableCompileCache(${JSON.stringify(cache)});`
  return `${useCache} import(${JSON.stringify(file.href)})`
}

/**
 * Answers calls on the worker's side, and begins them in order.
 * @param open begins to work on the data that `startThread` was given
 */
export function serveThread<D>(open: (data: D) => Work<Handlers>): void {
  const port = parentPort
  if (!port) throw new Error('this file must run as a worker thread')
  let work: Work<Handlers> | undefined
  let failure: unknown
  const connected = new Map<MessagePort, () => void>()

  const handle = (its: Work<Handlers> | undefined, name: string, args: readonly unknown[]): unknown => {
    if (!work || !its) throw failure ?? new StoreUnavailable('the store is closed')
    return handlerIn(its.handlers)(name, args)
  }

  function connect(other: MessagePort): void {
    const its = work?.connect?.()
    const end = () => {
      if (connected.delete(other)) its?.close()
    }
    connected.set(other, end)
    other.on('close', end)
    answerOver(other, (name, args) => handle(its ?? work, name, args))
  }

  answerOver(port, (name, args) => {
    const [given] = args
    switch (name) {
      case own.open:
        try {
          work = open(given as D)
        } catch (error) {
          failure = error
          throw error
        }
        return undefined
      case own.connect:
        if (given instanceof MessagePort) connect(given)
        return undefined
      case own.close:
        for (const [other, end] of connected) {
          other.close()
          end()
        }
        work?.close()
        work = undefined
        return undefined
      default:
        return handle(work, name, args)
    }
  })
}

/**
 * Gives the calling thread a lower priority than the one that answers requests. On Linux each thread has its
 * own priority.
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

/** Starts the threads of an engine. All event loops of a process use the same ones. */
export interface Threads {
  /**
   * Starts a thread, unless it is running.
   * @param name the path of its file below `src/`, without the extension
   * @param slot tells threads of the same name apart
   * @param data argument of the function that the thread gives to `serveThread`
   */
  start<H extends Handlers>(name: string, slot: number, data: unknown): Thread<H>
}

export interface OwnThreads extends Threads {
  /** @returns a port to the thread, for another event loop */
  connect(name: string, slot: number, data: unknown): MessagePort
}

export function createThreads(): OwnThreads {
  const running = new Map<string, OwnThread<Handlers>>()
  function start(name: string, slot: number, data: unknown): OwnThread<Handlers> {
    const key = `${name} ${slot}`
    const known = running.get(key)
    if (known && !known.hasEnded) return known
    const thread = startThread(name, data)
    running.set(key, thread)
    return thread
  }
  return {
    start: <H extends Handlers>(name: string, slot: number, data: unknown) =>
      start(name, slot, data) as unknown as Thread<H>,
    connect: (name, slot, data) => start(name, slot, data).connect(),
  }
}
