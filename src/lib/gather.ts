import { countPassed } from './shared-memory.ts'

/** In bytes. Pieces off a network are small, and each write takes a turn of a thread. */
const atOnce = 128 * 1024

/**
 * Collects pieces in one buffer, and hands it over whenever it is full, and at the end. Pieces are copied: those that wait to be
 * written would grow old, and V8 would look through its whole heap to free them, which costs more than hashing and writing.
 * @param write its bytes are overwritten once the promise resolves
 */
export async function gather(
  pieces: AsyncIterable<Buffer>,
  write: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  const gathered = Buffer.allocUnsafeSlow(atOnce)
  let filled = 0
  try {
    for await (const piece of pieces) {
      countPassed(piece.length)
      for (let at = 0; at < piece.length; ) {
        const copied = piece.copy(gathered, filled, at)
        at += copied
        filled += copied
        if (filled < atOnce) continue
        await write(gathered)
        filled = 0
      }
    }
    if (filled > 0) await write(gathered.subarray(0, filled))
  } finally {
    // Nothing is being written any more.
    gathered.buffer.transfer(0)
  }
}
