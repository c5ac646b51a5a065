import { readAt } from '../lib/files-at.ts'
import { haveOtherDigits, parseWritten } from '../lib/json.ts'
import { release } from '../lib/memory.ts'
import type { Field } from '../model/entities.ts'
import { lastUpTo } from '../storage/columns/edits.ts'
import { sortRecords } from '../storage/columns/sort-records.ts'
import { type Batch, noCode, readRun } from './batches.ts'
import { type Faults, faultOf, maxCounted, maxNamed, namedOf, RefusedImport } from './faults.ts'
import { ImportError, shown } from './import-error.ts'
import { rowNumber } from './notes.ts'
import { recordsIn } from './ordered-records.ts'

/** A field of the key, with its ranks. */
export interface KeyField {
  readonly field: Field
  /** Reads the rank of each record, in the order of the file. */
  readonly read: (into: Uint32Array) => void
  /** Number of distinct values. Missing values have this number as their rank. */
  readonly distinct: number
}

/** Access to records by their position in the file. */
export interface Records {
  line(at: number): number
  /** Reads all fields of a record. */
  read(at: number): Record<string, unknown>
}

/**
 * Numbers records in the order of the key.
 * @param numbers receives the number of each record, in the order of the file
 * @throws ImportError naming the lines of keys that are not unique, or a field that can't be part of a key
 */
export function numberByKey(key: readonly KeyField[], numbers: Uint32Array, records: Records): void {
  for (const { field } of key)
    if (field.type === 'json' || field.type === 'boolean')
      throw new ImportError(
        `the field ${shown(field.name)} can't be the key: its type is ${field.type}, and keys are numbers, text or date-times; --type with text compares its values as text`,
      )
  const [only] = key
  if (only && key.length === 1 && only.distinct === numbers.length) {
    // The ranks of a unique key are the numbers of the records.
    only.read(numbers)
    return
  }
  const ranked = key.map(({ field, read }) => {
    const ranks = new Uint32Array(numbers.length)
    read(ranks)
    return { field, ranks, descending: false }
  })
  const order = sortRecords(numbers.length, ranked)
  refuseDouble(ranked, order, records)
  for (const { ranks } of ranked) release(ranks)
  for (let n = 0; n < order.length; n++) numbers[order[n] as number] = n
}

/** A value, and the first line that has it. */
export interface First {
  readonly value: unknown
  readonly line: number
}

/** Reads each distinct value of a field, in the order of the file. */
export function firstsOf(
  { field, read, distinct }: KeyField,
  count: number,
  records: Records,
): readonly First[] {
  const ranks = new Uint32Array(count)
  read(ranks)
  const isSeen = new Uint8Array(distinct + 1)
  // Nulls have the last rank.
  isSeen[distinct] = 1
  const firsts: First[] = []
  for (const [at, rank] of ranks.entries()) {
    if (isSeen[rank]) continue
    isSeen[rank] = 1
    firsts.push({ value: records.read(at)[field.name], line: records.line(at) })
  }
  release(ranks)
  return firsts
}

/** Reports the lines with a value that an earlier line has, of a field whose values must differ. */
export function refuseRepeated(
  { field, read, distinct }: KeyField,
  count: number,
  records: Records,
  faults: Faults,
): void {
  const ranks = new Uint32Array(count)
  read(ranks)
  const first = new Int32Array(distinct).fill(-1)
  for (const [at, rank] of ranks.entries()) {
    if (rank >= distinct) continue
    const before = first[rank] ?? -1
    if (before < 0) first[rank] = at
    else
      faults.add(
        new ImportError(
          `the field ${shown(field.name)} is unique, and has the value ${shown(records.read(at)[field.name])} again, as on line ${records.line(before)}`,
          { line: records.line(at), field: field.name },
        ),
      )
  }
  release(ranks)
}

/** A field of the key, with the rank of each record. */
interface RankedKeyField extends Pick<KeyField, 'field'> {
  readonly ranks: Uint32Array
}

export const missingKey = (line: number, field: string | undefined): ImportError =>
  new ImportError(`the key field ${shown(field)} is missing or null; every record needs its key`, {
    line,
    ...(field !== undefined && { field }),
  })

/** Two records with the same key, by their positions in the file. */
interface Double {
  readonly first: number
  readonly again: number
}

/** Maximum number of duplicates held. When it is reached, all but the first ones in the file are forgotten. */
const maxDoubles = 10_000

function refuseDouble(key: readonly RankedKeyField[], order: Uint32Array, records: Records): void {
  const isSame = (one: number, other: number) => key.every(({ ranks }) => ranks[one] === ranks[other])
  let doubles: Double[] = []
  let count = 0
  const firstOnes = () => doubles.toSorted((one, other) => one.again - other.again).slice(0, maxNamed)
  // Records with equal keys are in the order of the file.
  for (let n = 1, first = order[0] as number; n < order.length; n++) {
    const again = order[n] as number
    if (!isSame(first, again)) {
      first = again
      continue
    }
    count++
    if (doubles.push({ first, again }) === maxDoubles) doubles = firstOnes()
  }
  if (count === 0) return
  const told = firstOnes().map(double => faultOf(doubleKey(key, double, records)))
  const lines = [...new Set(told.flatMap(({ line }) => line ?? []))]
  throw new RefusedImport({ faults: namedOf({ faults: told, lines, count }), more: 0, isCut: false })
}

function doubleKey(key: readonly RankedKeyField[], { first, again }: Double, records: Records): ImportError {
  const [earlier, record] = [records.read(first), records.read(again)]
  const valuesIn = (of: typeof record) => key.map(({ field }) => shown(of[field.name])).join(', ')
  const names = key.map(({ field }) => shown(field.name)).join(', ')
  const values = valuesIn(record)
  const [line, lineAgain] = [records.line(first), records.line(again)]
  const others = key.flatMap(({ field: { name } }) =>
    haveOtherDigits(earlier[name], record[name]) ? name : [],
  )
  const [only] = key
  if (others.length > 0) {
    const where = line === lineAgain ? 'earlier on this line' : `on line ${line}`
    const [field] = others
    return new ImportError(
      `the key ${key.length === 1 ? names : `(${names})`} has ${values} after ${valuesIn(earlier)} ${where}, which are equal numbers; each record needs a key of its own, and ${others.map(asText).join(' ')} tells such keys apart`,
      { line: lineAgain, ...(key.length === 1 && field !== undefined && { field }) },
    )
  }
  const where = line === lineAgain ? 'earlier on this line' : `as on line ${line}`
  const isOwn = key.some(({ field }) => field.name === rowNumber)
  return only && key.length === 1
    ? new ImportError(
        `the key ${names} has the value ${values} again, ${where}; each record needs a key of its own${isOwn ? '' : numbering.advice}`,
        { line: lineAgain, field: only.field.name, ...(!isOwn && { repair: numbering.repair }) },
      )
    : new ImportError(
        `the key (${names}) has the values ${values} again, ${where}; each record needs a key of its own${numbering.advice}`,
        { line: lineAgain, repair: numbering.repair },
      )
}

/** The last resort, if no fields tell the records apart. */
const numbering = {
  advice: `: take further fields into it, or number the records with --key ${rowNumber}`,
  repair: { key: [rowNumber] },
}

const asText = (name: string): string => `--type ${/^[\w.-]+$/.test(name) ? name : shown(name)}=text`

/** Refuses the records of a batch that lack a part of their key. @param refuse is called for each of them */
export function refuseKeyless(
  batch: Batch,
  key: readonly string[],
  refuse: (error: ImportError) => void,
): void {
  const lacking: { readonly at: number; readonly name: string }[] = []
  for (const name of key) {
    const field = batch.fields.findIndex(one => one.name === name)
    if (batch.fields[field]?.filled === batch.count) continue
    const codes = new Uint16Array(batch.count).fill(noCode)
    if (field >= 0) readAt(batch.descriptor, codes, readRun(batch, field).codes)
    let at = codes.indexOf(noCode)
    for (let n = 0; at >= 0 && n < maxCounted; n++, at = codes.indexOf(noCode, at + 1))
      lacking.push({ at, name })
  }
  for (const { at, name } of lacking.toSorted((one, other) => one.at - other.at))
    refuse(missingKey(lineOf(batch, at), name))
}

/** @param n number of the record in the batch */
export function lineOf({ descriptor, lines }: Batch, n: number): number {
  const line = new Uint32Array(1)
  readAt(descriptor, line, lines + n * line.byteLength)
  return line[0] as number
}

/** A batch with the number of its first record. */
type Placed = Batch & { readonly start: number }

/** Reads single records, for messages. */
export function recordsOf(batches: readonly Placed[]): Records {
  const starts = batches.map(({ start }) => start)
  const find = (at: number) => {
    const batch = batches[lastUpTo(starts, at)] as Placed
    return { batch, n: at - batch.start }
  }
  return {
    line: at => {
      const { batch, n } = find(at)
      return lineOf(batch, n)
    },
    read: at => {
      const { batch, n } = find(at)
      return parseWritten(recordsIn(batch)[n] as string) as Record<string, unknown>
    },
  }
}
