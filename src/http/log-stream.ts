import { writeSync } from 'node:fs'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** A worker thread's own stream has no descriptor. */
const standardOutput = 1

const key = 'carrel: whether the last line of the log was cut off'

/** Not 0 if it was. All event loops write to one output. */
const isCut = new Int32Array(
  (getEnvironmentData(key) as unknown as SharedArrayBuffer | undefined) ??
    new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
)

/** Lets the threads that are started from now on know of lines that others have cut off. */
export const shareLog = (): void => setEnvironmentData(key, isCut.buffer as never)

/**
 * Where the log's lines go: standard output. A line that can't be written, because its disk is full or its reader has
 * gone, is lost, and the service goes on; the library's own stream would end or block the process.
 */
export const logStream = {
  write(line: string): void {
    // What was cut off stays a line of its own.
    const bytes = Buffer.from(Atomics.load(isCut, 0) === 0 ? line : `\n${line}`)
    try {
      const written = writeSync(process.stdout.fd ?? standardOutput, bytes)
      Atomics.store(isCut, 0, written < bytes.length ? 1 : 0)
    } catch {}
  },
}
