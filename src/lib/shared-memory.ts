import { collect } from './collect.ts'

/**
 * Memory that threads share. V8 doesn't count it, so that its garbage collector sees no need to run while gigabytes of it
 * are garbage: each thread that has had a part of it in its hands must collect before it is free.
 */

/** In bytes that came into this thread's hands. What was soon let go of is found in a millisecond, the rest takes longer. */
const perMinor = 32 * 1024 * 1024
const perMajor = 256 * 1024 * 1024

let sinceMinor = 0
let sinceMajor = 0
let isPlanned = false

/** Says that this thread has made, or was given, so many bytes of memory that threads share. */
export function countShared(bytes: number): void {
  sinceMinor += bytes
  sinceMajor += bytes
  if (isPlanned || sinceMinor < perMinor) return
  isPlanned = true
  // When what runs now has let go of it.
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

/** In bytes. */
const perPieces = 16 * 1024 * 1024
let ofPieces = 0

/**
 * Says that so many bytes of buffers have come off the network and were let go of at once, as of a large body. Their memory is
 * freed by then, but V8 counts what was made, and would begin to look through the whole heap; a look at the young objects
 * takes half a millisecond.
 */
export function countPassed(bytes: number): void {
  ofPieces += bytes
  if (ofPieces < perPieces) return
  ofPieces = 0
  collect({ type: 'minor' })
}

/** The same for whatever of it is in a message from another thread. */
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

/** Memory that threads share. */
export function sharedMemory(bytes: number): SharedArrayBuffer {
  countShared(bytes)
  return new SharedArrayBuffer(bytes)
}

export const sharedNumbers = (length: number): Uint32Array<SharedArrayBuffer> =>
  new Uint32Array(sharedMemory(length * Uint32Array.BYTES_PER_ELEMENT))

/** A copy that threads can share. */
export function shareNumbers(numbers: Uint32Array): Uint32Array<SharedArrayBuffer> {
  const shared = sharedNumbers(numbers.length)
  shared.set(numbers)
  return shared
}
