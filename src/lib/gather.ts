import { countPassed } from './memory.ts'

/** Size of the buffer in bytes. Pieces from a network are small, and each write takes a turn of a thread. */
const atOnce = 128 * 1024

/**
 * Collects pieces in one buffer, and passes it on whenever it is full and at the end. Pieces are copied,
 * because pieces that wait to be written would become old objects, and V8 would search its whole heap to free
 * them, which costs more than hashing and writing.
 * @param write writes the bytes, which are overwritten once its promise resolves
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
    // Nothing is being written any more, so the memory can be freed.
    gathered.buffer.transfer(0)
  }
}
