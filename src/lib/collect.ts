import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// Garbage collections on request, for cases in which V8 can't know that there is garbage or that
// memory isn't needed again.

export interface Collecting {
  /** `minor` collects only new objects, in about a millisecond. */
  readonly type: 'minor' | 'major'
  /** `last-resort` also discards what can be made again, such as code that has not run recently. */
  readonly flavor?: 'last-resort'
}

let gc: ((options: Collecting) => void) | undefined

/** Returns V8's function for collecting garbage. V8 has it for tests, and offers no other way. */
function exposed(): (options: Collecting) => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

export function collect(options: Collecting): void {
  gc ??= exposed()
  gc(options)
}

/** Delay in ms. */
const soon = 1_000

/**
 * Collects the garbage that starting has left, which V8 would leave until the heap has grown. It takes 20 to
 * 40 ms, longer on a busy machine.
 */
export function collectAfterStart(): void {
  setTimeout(collect, soon, { type: 'major', flavor: 'last-resort' } satisfies Collecting).unref()
}
