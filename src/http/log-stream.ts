import { writeSync } from 'node:fs'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** The descriptor of standard output; a worker thread's own stream has none. */
const standardOutput = 1

const key = 'carrel: whether the last line of the log was cut off'

/** 1 if the last line was cut off, 0 otherwise. Shared, because all event loops write to one output. */
const isCut = new Int32Array(
  (getEnvironmentData(key) as unknown as SharedArrayBuffer | undefined) ??
    new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
)

/** Tells the threads started from now on about lines that others have cut off. */
export const shareLog = (): void => setEnvironmentData(key, isCut.buffer as never)

/**
 * Writes the log's lines to standard output. A line that can't be written, because the disk is full or the
 * reader has gone, is lost, and the service goes on; the library's own stream would end or block the process.
 */
export const logStream = {
  write(line: string): void {
    // A cut-off line stays a line of its own.
    const bytes = Buffer.from(Atomics.load(isCut, 0) === 0 ? line : `\n${line}`)
    try {
      const written = writeSync(process.stdout.fd ?? standardOutput, bytes)
      Atomics.store(isCut, 0, written < bytes.length ? 1 : 0)
    } catch {}
  },
}
