import type { Entity, FieldType } from '../model/entities.ts'
import { openTable } from './csv.ts'
import { asImportError } from './faults.ts'
import { ImportError } from './import-error.ts'
import { arrayPieces, ndjsonPieces, type Piece, type ReadRecord, recordsOf } from './json-lines.ts'
import { numberedNote, rowNumber } from './notes.ts'
import { FileChanged } from './open-file.ts'
import { nothingSeen, type ReadingOptions, type Seen } from './reading-options.ts'
import { type Shaping, shapeOfRecords } from './shapes.ts'
import { type Source, unlessChanged } from './source.ts'
import type { Staging } from './staging.ts'

interface Asked {
  readonly key: Entity['key']
  readonly types?: ReadonlyMap<string, FieldType>
  readonly reading?: ReadingOptions
  readonly signal?: AbortSignal
}

/** @throws the reason of the signal */
export async function addAll(
  staging: Staging,
  batches: AsyncIterable<readonly ReadRecord[]>,
  { signal }: Pick<Asked, 'signal'>,
): Promise<void> {
  for await (const records of batches) {
    signal?.throwIfAborted()
    staging.add(records)
  }
  signal?.throwIfAborted()
}

/**
 * Adds the records of a file.
 * @param read called with the share that is done
 * @throws ImportError naming all faults, the last of which ended the reading
 */
export const readInto = (
  staging: Staging,
  source: Source,
  options: Asked,
  read: (share: number) => void,
): Promise<Seen> =>
  unlessChanged(source, async () => {
    const { signal, types = new Map() } = options
    let seen = nothingSeen
    const add = (batches: AsyncIterable<readonly ReadRecord[]>) =>
      addAll(staging, batches, options).catch(error => {
        throw error instanceof FileChanged ? error : staging.faults.endedBy(asImportError(error))
      })
    if (source.format === 'csv') {
      const table = await openTable(source, [options.key].flat(), options.reading, staging.notes)
      staging.declare(table.fields)
      await add(table.records(types, staging.faults, read))
      seen = { delimiter: table.delimiter, looks: table.looks() }
    } else {
      const pieces = (source.format === 'json' ? arrayPieces : ndjsonPieces)(source.open(read))
      if ([options.key].flat().includes(rowNumber))
        await add(numberedRecords(pieces, options.reading ?? {}, staging))
      else await staging.read(pieces, signal)
    }
    signal?.throwIfAborted()
    return seen
  })

const ownNumber = (line: number): ImportError =>
  new ImportError(
    `this record has a field ${rowNumber} of its own, and those before it were numbered; rename that of the file in a recipe, or leave it out there`,
    { line, field: rowNumber },
  )

/** Parses the records of pieces in order, and numbers them, unless the first one has a number of its own. */
async function* numberedRecords(
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
