import type { EventEmitter } from 'node:events'
import { MessagePort, type Transferable, type Worker } from 'node:worker_threads'
import { OutOfDescriptors, StoreUnavailable, TooMuch } from '../errors.ts'
import { Overloaded } from '../fair-queue.ts'
import { countSharedIn } from '../memory.ts'
import { isOutOfDescriptors } from '../system-errors.ts'

/**
 * Handlers of calls between threads over a port. Calls are typed by the handlers of the side that answers.
 */
export type Handlers = Readonly<Record<string, (...args: never[]) => unknown>>

/** A worker is the port to itself for the thread that started it. */
type Port = MessagePort | Worker

/** Both kinds of port are emitters, with different types. */
const events = (port: Port) => port as unknown as EventEmitter

type Call = readonly [id: number, name: string, args: readonly unknown[]]
type Reply =
  | readonly [id: number, kind: 'result', result: unknown]
  | readonly [id: number, kind: ErrorKind, message: string]

/** Errors that a caller has to tell apart. */
const errors = {
  'out of descriptors': OutOfDescriptors,
  unavailable: StoreUnavailable,
  overloaded: Overloaded,
  'too much': TooMuch,
  error: Error,
} as const
type ErrorKind = keyof typeof errors

const kindOf = (error: unknown): ErrorKind =>
  isOutOfDescriptors(error)
    ? 'out of descriptors'
    : ((Object.keys(errors) as ErrorKind[]).find(kind => error instanceof errors[kind]) ?? 'error')

export interface Calls<H extends Handlers> {
  /** Ports among the arguments are transferred. */
  call<K extends keyof H & string>(name: K, ...args: Parameters<H[K]>): Promise<Awaited<ReturnType<H[K]>>>
  /** The number of calls without an answer yet. */
  readonly busy: number
  /** The reason why no call can be answered any more; undefined while calls can. */
  readonly ended: Error | undefined
  /** Fails all calls, also later ones, with the first error that was given. */
  end(error: Error): void
  /** Leaves the port to others. */
  leave(): void
}

/** Makes calls over a port. Without calls under way, it doesn't keep the process alive. */
export function callsOver<H extends Handlers>(port: Port): Calls<H> {
  const pending = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>()
  let next = 0
  let ended: Error | undefined

  const take = ([id, kind, value]: Reply) => {
    countSharedIn(value)
    const call = pending.get(id)
    pending.delete(id)
    if (pending.size === 0 && !ended) port.unref()
    if (kind === 'result') call?.resolve(value as never)
    else call?.reject(new errors[kind](value))
  }
  events(port).on('message', take)
  port.unref()

  return {
    call: (name, ...args) => {
      if (ended) return Promise.reject(ended)
      const id = next++
      return new Promise((resolve, reject) => {
        if (pending.size === 0) port.ref()
        pending.set(id, { resolve, reject })
        port.postMessage([id, name, args] satisfies Call, portsIn(args))
      })
    },
    get busy() {
      return pending.size
    },
    get ended() {
      return ended
    },
    end: error => {
      ended ??= error
      for (const call of pending.values()) call.reject(ended)
      pending.clear()
    },
    leave: () => {
      events(port).off('message', take)
    },
  }
}

const portsIn = (args: readonly unknown[]): Transferable[] => args.filter(one => one instanceof MessagePort)

/** Finds handlers by the names of calls. @returns the function that `answerOver` takes */
export function handlerIn(handlers: Handlers): (name: string, args: readonly unknown[]) => unknown {
  return (name, args) => {
    const handler = handlers[name] as ((...args: readonly unknown[]) => unknown) | undefined
    if (!handler) throw new Error(`no handler ${name}`)
    return handler(...args)
  }
}

/**
 * Answers calls over a port. The buffer of a typed array is transferred, not copied, unless threads share it.
 * @param handle may return a promise
 */
export function answerOver(port: Port, handle: (name: string, args: readonly unknown[]) => unknown): void {
  const reply = (answer: Reply) => port.postMessage(answer, transferable(answer[2]))
  events(port).on('message', ([id, name, args]: Call) => {
    try {
      const result = handle(name, args)
      if (result instanceof Promise)
        result.then(
          value => reply([id, 'result', value]),
          error => reply(failure(id, error)),
        )
      else reply([id, 'result', result])
    } catch (error) {
      reply(failure(id, error))
    }
  })
}

function failure(id: number, error: unknown): Reply {
  const kind = kindOf(error)
  if (!(error instanceof Error)) return [id, kind, String(error)]
  return [id, kind, kind === 'error' ? (error.stack ?? error.message) : error.message]
}

function transferable(result: unknown): Transferable[] {
  if (result instanceof MessagePort) return [result]
  return ArrayBuffer.isView(result) && result.buffer instanceof ArrayBuffer ? [result.buffer] : []
}
