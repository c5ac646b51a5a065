import type { FieldType } from '../model/entities.ts'
import type { Batch } from './batches.ts'
import { Encoder } from './encoder.ts'
import { asImportError, Faults, type Found, type RefusedImport } from './faults.ts'
import { ImportError } from './import-error.ts'
import { type Piece, recordsOf } from './json-lines.ts'
import { type RankedField, type RankTask, rankField } from './rank-field.ts'
import type { Appender } from './spool.ts'

/** The parts of an import that its threads share (crew.ts). */

export interface Encoded {
  readonly batches: readonly Batch[]
  readonly found: Found
  /** True if reading has to end. */
  readonly isEnd: boolean
}

export type Ranking = RankedField | { readonly refused: string }

/** @param spool a spool that no other thread writes */
export function createWork(spool: Appender, types: ReadonlyMap<string, FieldType>) {
  let faults = new Faults()
  const refuse = (error: ImportError) => faults.add(error)
  const encoder = new Encoder(spool, types, refuse)
  return {
    encode(piece: Piece): Encoded {
      const batches: Batch[] = []
      const take = (batch: Batch | undefined) => {
        if (batch) batches.push(batch)
      }
      faults = new Faults()
      let end: RefusedImport | undefined
      try {
        const records = recordsOf({ ...piece, bytes: asBuffer(piece.bytes) }, refuse)
        for (const record of records) take(encoder.add(record))
      } catch (error) {
        end = faults.endedBy(asImportError(error))
      }
      take(encoder.flush())
      return { batches, found: end?.found ?? faults.found(), isEnd: end !== undefined }
    },

    rank(task: RankTask): Ranking {
      let ranked: RankedField = { distinct: 0 }
      const refused = refusal(() => {
        ranked = rankField(task, spool)
      })
      return refused === undefined ? ranked : { refused }
    },
  }
}

/** Returns the message of an import error, because errors lose their class on the way to another thread. */
function refusal(work: () => void): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    if (error instanceof ImportError) return error.message
    throw error
  }
}

/** Restores a buffer, which arrives from another thread as a plain array. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength)
