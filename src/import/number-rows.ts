import { ImportError } from './import-error.ts'
import { type Piece, type ReadRecord, recordsOf } from './json-lines.ts'
import { type Note, rowNumber } from './notes.ts'
import { type Shaping, shapeOfRecords } from './shapes.ts'
import type { Staging } from './staging.ts'

export const numberedNote: Note = { kind: 'rows-numbered', field: rowNumber, count: 0, line: 1 }

const ownNumber = (line: number): ImportError =>
  new ImportError(
    `this record has a field ${rowNumber} of its own, and those before it were numbered; rename that of the file in a recipe, or leave it out there`,
    { line, field: rowNumber },
  )

/** Parses the records of pieces in order, and numbers them, unless the first one has a number of its own. */
export async function* numberedRecords(
  pieces: AsyncIterable<Piece>,
  shaping: Shaping,
  { faults, notes }: Pick<Staging, 'faults' | 'notes'>,
): AsyncIterable<ReadRecord[]> {
  const refuse = (error: ImportError) => faults.add(error)
  const shaped = shapeOfRecords(shaping)
  let n = 0
  let isOwn: boolean | undefined
  for await (const piece of pieces)
    yield [...recordsOf(piece, refuse)].map(one => {
      const { line, record } = shaped?.(one, refuse) ?? one
      const hasNumber = Object.hasOwn(record, rowNumber)
      if (isOwn === undefined && !hasNumber) notes.add(numberedNote)
      isOwn ??= hasNumber
      if (isOwn) return { line, record }
      if (hasNumber) throw ownNumber(line)
      return { line, record: { [rowNumber]: ++n, ...record } }
    })
}
