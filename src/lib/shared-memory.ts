import { collect } from './collect.ts'

/**
 * Memory shared between threads. V8 doesn't count it, so its garbage collector sees no need to run while
 * gigabytes of it are garbage. Each thread that has held a reference must collect before the memory is freed.
 */

/**
 * Bytes received or made by this thread after which garbage is collected. A minor collection takes a
 * millisecond and frees what was dropped soon; a major one takes longer.
 */
const perMinor = 32 * 1024 * 1024
const perMajor = 256 * 1024 * 1024

let sinceMinor = 0
let sinceMajor = 0
let isPlanned = false

/** Counts shared memory that this thread has made or received. @param bytes its size */
export function countShared(bytes: number): void {
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
  if (sinceMajor < perMajor) collect({ type: 'minor' })
  else {
    sinceMajor = 0
    collect({ type: 'major' })
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
  collect({ type: 'minor' })
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

export function sharedMemory(bytes: number): SharedArrayBuffer {
  countShared(bytes)
  return new SharedArrayBuffer(bytes)
}

export const sharedNumbers = (length: number): Uint32Array<SharedArrayBuffer> =>
  new Uint32Array(sharedMemory(length * Uint32Array.BYTES_PER_ELEMENT))

/** Returns a copy in shared memory. */
export function shareNumbers(numbers: Uint32Array): Uint32Array<SharedArrayBuffer> {
  const shared = sharedNumbers(numbers.length)
  shared.set(numbers)
  return shared
}
