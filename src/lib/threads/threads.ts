import type { MessagePort } from 'node:worker_threads'
import type { Handlers } from './calls.ts'
import { type OwnThread, startThread, type Thread } from './thread.ts'

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
