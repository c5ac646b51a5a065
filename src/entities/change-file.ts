import { missingKey } from '../import/check-key.ts'
import { openTable } from '../import/csv.ts'
import { asImportError, type Faults } from '../import/faults.ts'
import { ImportError, shown } from '../import/import-error.ts'
import { arrayPieces, ndjsonPieces, type ReadRecord, recordsOf } from '../import/json-lines.ts'
import { adviceFor } from '../import/local-forms.ts'
import { completeTime, type Notes, rowNumber } from '../import/notes.ts'
import { FileChanged } from '../import/open-file.ts'
import type { ReadingOptions } from '../import/reading-options.ts'
import { shapeOfRecords } from '../import/shapes.ts'
import {
  type GivenFile,
  openSource,
  refuseWrapped,
  type Source,
  unlessChanged,
  WrappedRecords,
} from '../import/source.ts'
import { fieldValue, fits, kindOf } from '../import/types.ts'
import { haveOtherDigits } from '../lib/json.ts'
import type { Field } from '../model/entities.ts'
import { compareKeys } from '../model/record-changes.ts'
import { orderOf } from '../model/value-order.ts'
import type { RecordEntity } from '../storage/entities.ts'

/** A record to insert, to replace or to delete, with the sort keys of its key. */
export interface Change extends ReadRecord {
  readonly key: readonly string[]
}

/** Maximum number of records of a file of changes, and its maximum size in bytes, because it is held in memory. */
const maxChanges = 100_000
const maxBytes = 64 * 1024 * 1024
/** Maximum number of cells that are missing in rows and taken as empty. */
const maxFilled = 2_000_000

/**
 * Reads a file of changes.
 * @param faults receives parts that are not records
 * @param notes receives what is assumed
 * @throws ImportError naming the error that ended the reading, after these faults
 */
export async function readChanges(
  input: string | GivenFile,
  entity: RecordEntity,
  {
    scratchFolder,
    signal,
    reading,
    faults,
    notes,
  }: {
    readonly scratchFolder: string
    readonly signal: AbortSignal | undefined
    readonly reading: ReadingOptions | undefined
    readonly faults: Faults
    readonly notes: Notes
  },
  progress: (share: number) => void,
): Promise<ReadRecord[]> {
  const tooMany = () =>
    new ImportError(
      `these are more than ${maxChanges.toLocaleString('en')} records, or more than 64 MB; import all records of ${entity.name} instead`,
    )
  const source = shortSource(await openSource(input, scratchFolder, signal, reading?.encoding), tooMany)
  const changes: ReadRecord[] = []
  const refuse = (error: ImportError) => faults.add(error)
  const times = entity.fields.filter(({ type }) => type === 'date-time').map(({ name }) => name)
  const isByRow = [entity.key].flat().includes(rowNumber)
  // Rows of a file of changes are others than those that were numbered.
  const key = [entity.key].flat().filter(name => name !== rowNumber)
  const add = (records: Iterable<ReadRecord>, shaped = shapeOfRecords({})) => {
    signal?.throwIfAborted()
    for (const one of records) {
      const { line, record } = shaped ? shaped(one, refuse) : one
      if (isByRow && !Object.hasOwn(record, rowNumber)) throw unnumbered(entity)
      for (const name of times) completeTime(record, name, line, notes)
      changes.push({ line, record })
      if (changes.length > maxChanges) throw tooMany()
    }
  }
  const read = async () => {
    if (source.format === 'csv') {
      const table = await openTable(source, key, reading, notes, maxFilled)
      // Cells of known fields get the types that the entity has for them.
      const types = new Map(entity.fields.map(({ name, type }) => [name, type]))
      for await (const records of table.records(types, faults, progress)) add(records)
    } else {
      const pieces = source.format === 'json' ? arrayPieces : ndjsonPieces
      const shaped = shapeOfRecords(reading ?? {})
      for await (const piece of pieces(source.open(progress))) add(recordsOf(piece, refuse), shaped)
      if (changes.length <= 1 || faults.found().faults.length > 0) await refuseWrapped(source, entity.key)
    }
  }
  try {
    await unlessChanged(source, read)
  } catch (error) {
    // Faults found in a file that has changed are meaningless.
    if (error instanceof FileChanged || error instanceof WrappedRecords) throw error
    throw faults.endedBy(asImportError(error))
  } finally {
    await source.close()
  }
  return changes
}

const unnumbered = ({ name }: RecordEntity) =>
  new ImportError(
    `the key of ${name} is ${rowNumber}, and this file has no such field, so it can't name records: write their numbers there, or import all records again, without --update or --delete`,
  )

/**
 * Limits the size of a source. Bytes are counted as they are read, because a record that is not yet
 * complete takes memory, too.
 */
const shortSource = (source: Source, tooLong: () => ImportError): Source => ({
  ...source,
  open: async function* (progress) {
    let bytes = 0
    for await (const chunk of source.open(progress)) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLong()
      yield chunk
    }
  },
})

/**
 * Checks changes and sorts them by key.
 * @param onlyKeys true if only the key fields are checked
 * @param faults receives what is wrong with the records
 * @returns the changes in the order of the key
 */
export function checkChanges(
  records: readonly ReadRecord[],
  entity: RecordEntity,
  onlyKeys: boolean,
  faults: Faults,
): readonly Change[] {
  const keyOf = keysOf(entity)
  const compare = compareKeys(entity)
  const changes: Change[] = []
  for (const one of records) {
    if (!hasTypes(one, entity, onlyKeys, faults)) continue
    try {
      changes.push({ ...one, key: keyOf(one.record, one.line) })
    } catch (error) {
      faults.add(asImportError(error))
    }
  }
  changes.sort((one, other) => compare(one.key, other.key) || one.line - other.line)
  for (const [at, { key, line, record }] of changes.entries()) {
    const before = changes[at - 1]
    if (!before || compare(before.key, key) !== 0) continue
    const names = [entity.key].flat()
    const valuesIn = (of: typeof record) => names.map(name => shown(of[name])).join(', ')
    const isOther = names.some(name => haveOtherDigits(before.record[name], record[name]))
    faults.add(
      new ImportError(
        isOther
          ? `the key ${valuesIn(record)} equals ${valuesIn(before.record)} on line ${before.line}, as a number; each record needs a key of its own, and only a key of text tells such ones apart`
          : `the key ${valuesIn(record)} is there again, as on line ${before.line}; each record needs a key of its own`,
        { line },
      ),
    )
  }
  return changes
}

/** @returns true if the values have the types of their fields */
function hasTypes(
  { line, record }: ReadRecord,
  { name: entity, fields, key }: RecordEntity,
  onlyKeys: boolean,
  faults: Faults,
) {
  const keys = [key].flat()
  let isRight = true
  for (const { name, type } of fields) {
    if (onlyKeys && !keys.includes(name)) continue
    const kind = kindOf(fieldValue(record, name))
    if (kind === undefined || fits(kind, type)) continue
    isRight = false
    faults.add(
      new ImportError(
        `the field ${shown(name)} of ${entity} is ${type}, and this record has ${shown(record[name])}; ${adviceFor(record[name], type)}, or import all records again with another --type`,
        { line, field: name },
      ),
    )
  }
  return isRight
}

/** Returns a function that gives the sort keys of a record's key. */
export function keysOf({ fields, key }: RecordEntity) {
  const orders = [key].flat().map(name => ({ name, order: orderOf(fieldNamed(fields, name)) }))
  return (record: Readonly<Record<string, unknown>>, line = 0): string[] =>
    orders.map(({ name, order }) => {
      const value = fieldValue(record, name)
      if (value === null) throw missingKey(line, name)
      return order.key(value)
    })
}

function fieldNamed(fields: readonly Field[], name: string): Field {
  const found = fields.find(field => field.name === name)
  if (!found) throw new Error(`there is no field ${name}`)
  return found
}
