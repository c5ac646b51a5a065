import { nobody } from '../../lib/fair-queue.ts'
import { sharedMemory } from '../../lib/shared-memory.ts'
import type { RecordEntity } from '../entities.ts'
import { unpackRecords } from './loaded-records.ts'
import { type RecordSource, slotsOf } from './record-source.ts'

/** How many records are read at a time, which takes a few milliseconds. Others have their turn between two pieces. */
const loadStep = 2_048

/** Reads the records of all slots, for all clients to come. @returns what `unpackRecords` takes */
export async function loadRecords(
  source: Pick<RecordSource, 'open'>,
  entity: RecordEntity,
): Promise<Uint8Array<SharedArrayBuffer>> {
  const count = slotsOf(entity)
  const packed = new Uint8Array(sharedMemory(packedLength(entity)))
  const { starts, json } = unpackRecords(packed, count)
  const open = await source.open(entity, nobody)
  try {
    let n = 0
    let at = 0
    while (n < count) {
      const endOfPiece = Math.min(n + loadStep, count)
      const lines = await open.piece([n, endOfPiece], 'ndjson', [], null)
      for (let from = 0; from < lines.length; ) {
        const newline = lines.indexOf(newlineByte, from)
        const end = newline < 0 ? lines.length : newline
        json.set(lines.subarray(from, end), at)
        at += end - from
        starts[++n] = at
        from = end + 1
      }
      if (n !== endOfPiece) throw new Error(`${entity.name} has ${n} records up to slot ${endOfPiece}`)
    }
  } finally {
    await open.close()
  }
  return packed
}

/** In bytes. */
export const packedLength = (entity: RecordEntity): number =>
  entity.source.bytes + (slotsOf(entity) + 1) * Uint32Array.BYTES_PER_ELEMENT

const newlineByte = 0x0a
