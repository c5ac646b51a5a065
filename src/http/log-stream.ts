import { writeSync } from 'node:fs'

let isBroken = false
/** A worker thread's own stream has no descriptor. */
const standardOutput = 1

/**
 * Where the log's lines go: standard output. A line that can't be written, because its disk is full or its reader has
 * gone, is lost, and the service goes on; the library's own stream would end or block the process.
 */
export const logStream = {
  write(line: string): void {
    // What was cut off stays a line of its own.
    const bytes = Buffer.from(isBroken ? `\n${line}` : line)
    try {
      isBroken = writeSync(process.stdout.fd ?? standardOutput, bytes) < bytes.length
    } catch {}
  },
}
