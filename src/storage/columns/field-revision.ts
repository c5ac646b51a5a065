import type { FieldType } from '../../model/entities.ts'
import { orderOf } from '../../model/value-order.ts'
import { type Edit, Edited, packEdits, packParts } from './edits.ts'
import type { ChangesParts, PackedChanges } from './field-changes.ts'
import { findPlace, type Place } from './look-up.ts'
import { addedValues, type NewValue } from './rank-revision.ts'
import { jsonReader } from './readable-records.ts'
import { StoredColumn } from './stored-column.ts'
import { FileNumbers, noAmount, type StoredField } from './stored-field.ts'
import { FileValues } from './stored-values.ts'
import { typedAt } from './values.ts'

/** What a field of a changed version is made of. */
interface FieldRevision {
  /** The file of the base. */
  readonly base: StoredField
  readonly name: string
  readonly type: FieldType
  /** Edits of the records, in the order of the key. */
  readonly edits: readonly Edit[]
  /** The written records as JSON, and the value of each. */
  readonly written: readonly string[]
  readonly values: readonly NewValue[]
  /** Records of the base that had to be read, by number. */
  readonly read: ReadonlyMap<number, string>
}

/** Finds keys among the values of a file. */
export function placesInFile(
  base: StoredField,
  field: { readonly type: FieldType; readonly collation: string | undefined },
  keys: readonly string[],
): Place[] {
  const values = new FileValues(base)
  const order = orderOf(field)
  return keys.map(key =>
    findPlace(values.length, rank => order.compare(order.key(typedAt(values, rank, field.type)), key)),
  )
}

/**
 * Makes the changes of a field. Time and memory grow with the number of edits, and not with that of records.
 * @returns numbers of records of the base that must be read before: they have become the first that have a value,
 *   and may write it otherwise, such as 1.0 instead of 1
 */
export function reviseField(revision: FieldRevision): PackedChanges | readonly number[] {
  const { base, edits, values, read } = revision
  const print = jsonReader({ name: revision.name, path: [] })
  const texts = revision.written.map(print)
  const touched = touchedRanks(revision)
  const firstOf = firstRecords(revision)
  const before = new FileValues(base)
  const json: string[] = []
  const ofValues: Edit[] = []
  /** For each edit of values, the number of records with the value if it is new. */
  const sizes: number[] = []
  const edit = (at: number, isThere: boolean, text: string | undefined, size: number) => {
    ofValues.push({ at, isThere, written: text === undefined ? -1 : json.length })
    if (text !== undefined) json.push(text)
    sizes.push(size)
  }
  const itemOf = new Map<string, number>()
  const added = addedValues(values)
  let next = 0
  const addUpTo = (rank: number) => {
    for (let one = added[next]; one !== undefined && one.at <= rank; one = added[++next]) {
      itemOf.set(one.key, json.length)
      edit(one.at, false, texts[one.first] ?? '', one.size)
    }
  }
  const missing: number[] = []
  for (const { rank, size, written } of touched) {
    if (rank === base.distinct) continue
    addUpTo(rank)
    const first = size === 0 ? undefined : firstOf(rank, written)
    if (size === 0) edit(rank, true, undefined, 0)
    else if (first !== undefined) {
      const record = first < 0 ? revision.written[~first] : read.get(first)
      if (record === undefined) missing.push(first)
      else if (print(record) !== before.bytesAt(rank).toString()) edit(rank, true, print(record), 0)
    }
  }
  addUpTo(base.distinct)
  if (missing.length > 0) return missing

  const packed = packEdits(base.distinct, ofValues)
  const edited = new Edited(packed)
  const places = edited.places()
  const rankOf = (value: NewValue): number => {
    if (value === null) return edited.length
    return value.place.isThere
      ? edited.moved(value.place.at)
      : (places[itemOf.get(value.key) as number] as number)
  }
  const bytes = Buffer.from(json.join(''))
  const padded = new Uint32Array(Math.ceil(bytes.length / Uint32Array.BYTES_PER_ELEMENT))
  new Uint8Array(padded.buffer).set(bytes)
  const parts: ChangesParts = [
    packEdits(base.count, edits),
    packed,
    Uint32Array.from(values, rankOf),
    amountsOf(texts, base),
    sums(json.map(text => Buffer.byteLength(text))),
    padded,
    Uint32Array.from(touched, ({ rank }) => rank),
    sums(touched.map(({ more }) => more)),
    sums(sizes),
    Uint32Array.of(Number(areDoubles(json, revision.type))),
  ]
  return packParts(parts)
}

/** A rank of the base that other records have now. */
interface Touched {
  readonly rank: number
  /** Number of records that have it now, and how many more than before. */
  readonly size: number
  readonly more: number
  /** The first written record that has it; undefined: none. */
  readonly written: number | undefined
}

function touchedRanks({ base, edits, values }: FieldRevision): readonly Touched[] {
  const rankOf = new StoredColumn(base).reader(edits.length)
  const found = new Map<number, { more: number; written: number | undefined }>()
  const count = (rank: number, more: number, written?: number) => {
    const known = found.get(rank) ?? { more: 0, written: undefined }
    found.set(rank, { more: known.more + more, written: known.written ?? written })
  }
  for (const { at, isThere } of edits) if (isThere) count(rankOf(at), -1)
  for (const [n, value] of values.entries())
    if (value === null) count(base.distinct, 1)
    else if (value.place.isThere) count(value.place.at, 1, n)
  const starts = new FileNumbers(base.path, base.starts, base.distinct + 2)
  return [...found]
    .sort(([one], [other]) => one - other)
    .map(([rank, { more, written }]) => {
      const from = starts.at(rank)
      return { rank, more, size: starts.at(rank + 1) - from + more, written }
    })
}

/**
 * Returns a function that finds the first record that has a value: the number of one of the base, or ~n (below 0)
 * for a written one; undefined if it is the one that was the first before.
 */
function firstRecords({ base, edits }: FieldRevision) {
  const starts = new FileNumbers(base.path, base.starts, base.distinct + 2)
  const postings = new FileNumbers(base.path, base.postings, base.count)
  const edited = new Set(edits.flatMap(({ at, isThere }) => (isThere ? at : [])))
  const placeOf = edits.flatMap(({ at, written }) => (written < 0 ? [] : at))
  return (rank: number, written: number | undefined): number | undefined => {
    const from = starts.at(rank)
    const end = starts.at(rank + 1)
    let at = from
    while (at < end && edited.has(postings.at(at))) at++
    // A record that is written at a place comes before the one that was there.
    if (written !== undefined && (at === end || (placeOf[written] as number) <= postings.at(at)))
      return ~written
    return at === from ? undefined : postings.at(at)
  }
}

/** The number of each written record as the file has them; none if there are none, or one that doesn't fit. */
function amountsOf(texts: readonly string[], { amounts, scale }: StoredField): Uint32Array {
  const found = new Int32Array(texts.length)
  const unit = 10 ** scale
  for (const [n, text] of texts.entries()) {
    const amount = text === '' ? noAmount : Math.round(Number(text) * unit)
    if (
      amounts === 0 ||
      (text !== '' && !(Math.abs(amount) <= 0x7fff_ffff && amount / unit === Number(text)))
    )
      return new Uint32Array()
    found[n] = amount
  }
  return new Uint32Array(found.buffer)
}

const areDoubles = (json: readonly string[], type: FieldType): boolean =>
  type !== 'integer' || json.every(text => Number.isSafeInteger(Number(text)))

/** Returns the sums of the first numbers, from that of none to that of all. */
function sums(numbers: readonly number[]): Uint32Array {
  const sums = new Uint32Array(numbers.length + 1)
  for (const [n, number] of numbers.entries()) sums[n + 1] = (sums[n] as number) + number
  return sums
}
