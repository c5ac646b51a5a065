import { setTimeout as delay } from 'node:timers/promises'
import { Overloaded } from '../../lib/fair-queue.ts'
import type { Process } from '../../model/processes.ts'
import type { Processes } from './statements.ts'

/**
 * A process as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). The store
 * is asked once a second, so any event loop and node can report on any process.
 */
interface Listeners {
  /**
   * Reports on a process.
   * @param after number of the last line that the client has
   * @param mayGoOn resolves to true while the caller may still read the process
   * @throws Overloaded if there are too many listeners
   */
  events(
    process: Process,
    after: number,
    mayGoOn: () => Promise<boolean>,
    gone: AbortSignal,
  ): AsyncGenerator<Uint8Array>
  /** Ends all answers: their clients ask again. */
  close(): void
}

/** Maximum number of listeners in one event loop. */
const maxListeners = 50
/** Interval in ms at which the store is asked. */
const step = 1_000
/** Time in ms after which a comment is sent on a silent connection: proxies close idle ones. */
const keepAlive = 15_000
/** Time in ms after which a client has to ask again. */
const longest = 3_600_000
const linesAtOnce = 500

export function createListeners(processes: Pick<Processes, 'one' | 'lines'>): Listeners {
  const closing = new AbortController()
  let listeners = 0

  async function* tell(
    { id }: Process,
    after: number,
    mayGoOn: () => Promise<boolean>,
    gone: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    // Counted here, where `finally` is sure to run: for a client that has already gone, the generator never starts.
    listeners++
    const ends = AbortSignal.any([gone, closing.signal])
    const begun = performance.now()
    let told = begun
    let last = after
    let shown = ''
    try {
      while (!ends.aborted && performance.now() - begun < longest && (await mayGoOn())) {
        // The process is read before its lines: if it has ended, all lines are there.
        const process = await processes.one(id)
        if (!process) return
        const { lines } = await processes.lines(id, last, linesAtOnce)
        let text = ''
        for (const line of lines) {
          text += event('log', { time: line.time, text: line.text }, line.n)
          last = line.n
        }
        const { state, progress } = process
        const now = JSON.stringify({ state, progress })
        if (now !== shown) text += event('progress', { state, progress })
        shown = now
        const isWhole = lines.length < linesAtOnce
        const isOver = process.ended !== null || state === 'interrupted'
        if (isOver && isWhole) text += event('end', { state, result: process.result, fault: process.fault })
        if (text === '' && performance.now() - told > keepAlive) text = ':\n\n'
        if (text !== '') {
          told = performance.now()
          yield Buffer.from(text)
        }
        if (isOver && isWhole) return
        if (isWhole) await delay(step, undefined, { signal: ends }).catch(() => {})
      }
    } finally {
      listeners--
    }
  }

  return {
    events: (process, after, mayGoOn, gone) => {
      if (listeners >= maxListeners)
        throw new Overloaded(
          `${maxListeners} clients listen to processes already. Ask for the process itself instead.`,
        )
      return tell(process, after, mayGoOn, gone)
    },
    close: () => closing.abort(),
  }
}

/** Formats an event. JSON has no line break, so the data is one line. */
const event = (name: string, data: object, id?: number) =>
  `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
