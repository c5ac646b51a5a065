import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// Asks V8 to collect garbage, where it can't know that there is some, or that it isn't needed again.

export interface Collecting {
  /** `minor`: only what is new, in about a millisecond. */
  readonly type: 'minor' | 'major'
  /** `last-resort`: also what could be made again, such as code that has not run lately. */
  readonly flavor?: 'last-resort'
}

let gc: ((options: Collecting) => void) | undefined

/** V8 has it for tests, and there is no other way to ask. */
function exposed(): (options: Collecting) => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

export function collect(options: Collecting): void {
  gc ??= exposed()
  gc(options)
}

/** In ms. */
const soon = 1_000

/** Collects what starting has left: V8 wouldn't look before the heap has grown. It takes 20 to 40 ms, longer on a busy machine. */
export function collectAfterStart(): void {
  setTimeout(collect, soon, { type: 'major', flavor: 'last-resort' } satisfies Collecting).unref()
}
