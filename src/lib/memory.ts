import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// Garbage collections on request, for cases in which V8 can't know that there is garbage or that
// memory isn't needed again.

interface Collecting {
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

function collectGarbage(options: Collecting): void {
  gc ??= exposed()
  gc(options)
}

/** Collects garbage that holds large memory which V8 doesn't count. */
export const collectGarbageNow = (): void => collectGarbage({ type: 'major' })

/** Delay in ms. */
const soon = 1_000

/**
 * Collects the garbage that starting has left, which V8 would leave until the heap has grown. It takes 20 to
 * 40 ms, longer on a busy machine.
 */
export function collectGarbageAfterStart(): void {
  setTimeout(collectGarbage, soon, { type: 'major', flavor: 'last-resort' } satisfies Collecting).unref()
}

/**
 * Memory shared between threads. V8 doesn't count it, so its garbage collector sees no need to run while
 * gigabytes of it are garbage. Each thread that has held a reference must collect before the memory is freed.
 */

/**
 * Bytes received or made by this thread after which garbage is collected. A minor collection takes a
 * millisecond and frees what was dropped soon; a major one takes longer.
 */
const perMinor = 32 * 1024 * 1024
const perMajor = 64 * 1024 * 1024

let sinceMinor = 0
let sinceMajor = 0
let isPlanned = false

/** Counts shared memory that this thread has made or received. @param bytes its size */
function countShared(bytes: number): void {
  sinceMinor += bytes
  sinceMajor += bytes
  if (isPlanned || sinceMinor < perMinor) return
  isPlanned = true
  // The collection runs after the current work has dropped its references.
  setImmediate(collectNow).unref()
}

function collectNow(): void {
  isPlanned = false
  sinceMinor = 0
  if (sinceMajor < perMajor) collectGarbage({ type: 'minor' })
  else {
    sinceMajor = 0
    collectGarbage({ type: 'major' })
  }
}

/** Bytes of dropped buffers after which garbage is collected. */
const perPieces = 16 * 1024 * 1024
let ofPieces = 0

/**
 * Counts buffers that came from the network and were dropped at once, such as those of a large body. Their
 * memory is already free by then, but V8 counts what was allocated, and would begin to search the whole heap.
 * A collection of young objects takes half a millisecond.
 * @param bytes their size
 */
export function countPassed(bytes: number): void {
  ofPieces += bytes
  if (ofPieces < perPieces) return
  ofPieces = 0
  collectGarbage({ type: 'minor' })
}

/** Counts all shared memory in a message from another thread. */
export function countSharedIn(message: unknown): void {
  if (typeof message !== 'object' || message === null) return
  if (ArrayBuffer.isView(message)) countView(message)
  else
    for (const member of Object.values(message)) {
      if (ArrayBuffer.isView(member)) countView(member)
      else if (Array.isArray(member)) for (const one of member) if (ArrayBuffer.isView(one)) countView(one)
    }
}

function countView({ buffer, byteLength }: ArrayBufferView): void {
  if (buffer instanceof SharedArrayBuffer) countShared(byteLength)
}

/**
 * Bytes from which shared memory is mapped by itself. Otherwise it comes from the heaps of the C library, which
 * keep most of what is freed: several hundred MB after a flood of new orders. V8 maps what might grow.
 */
const mappedFrom = 128 * 1024

function sharedMemory(bytes: number): SharedArrayBuffer {
  countShared(bytes)
  return bytes < mappedFrom
    ? new SharedArrayBuffer(bytes)
    : new SharedArrayBuffer(bytes, { maxByteLength: bytes })
}

// An array without a length would follow that of the memory, and each access would take eight times as long.

export const sharedBytes = (length: number): Uint8Array<SharedArrayBuffer> =>
  new Uint8Array(sharedMemory(length), 0, length)

export const sharedNumbers = (length: number): Uint32Array<SharedArrayBuffer> =>
  new Uint32Array(sharedMemory(length * Uint32Array.BYTES_PER_ELEMENT), 0, length)

/** Returns a copy in shared memory. */
export function shareNumbers(numbers: Uint32Array): Uint32Array<SharedArrayBuffer> {
  const shared = sharedNumbers(numbers.length)
  shared.set(numbers)
  return shared
}

/**
 * Frees the memory of a large array at once, instead of whenever it is collected. The
 * array can't be used any more.
 */
export function release({ buffer }: ArrayBufferView<ArrayBufferLike>): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
