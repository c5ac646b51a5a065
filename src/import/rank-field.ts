import { rmSync } from 'node:fs'
import { languageCompare } from '../lib/collation.ts'
import { readAt, writeAt } from '../lib/files-at.ts'
import { instant, kindMarks, numberOf, textOfBinary } from '../lib/sort-keys.ts'
import type { FieldType } from '../model/entities.ts'
import { ValueWriter, type WrittenValues } from '../storage/columns/value-writer.ts'
import { type Batch, noCode, type Run, readRun, runKinds } from './batches.ts'
import { writeTexts } from './column.ts'
import { differentTexts } from './equal-numbers.ts'
import { ImportError, shown } from './import-error.ts'
import { endOfCompared, mergeRuns, type RunRanks, type Taker } from './merge.ts'
import { allStyles, printerOf, type Styles } from './number-forms.ts'
import { RunCursor } from './run-cursor.ts'
import { packTexts, sortTexts } from './sort-texts.ts'
import type { Appender } from './spool.ts'

export interface RankTask {
  readonly name: string
  readonly type: FieldType
  readonly collation: string | undefined
  /** The batches, each with the index of the field in it; -1 if the batch lacks the field. */
  readonly batches: readonly (Pick<Batch, 'descriptor' | 'count' | 'runs'> & { readonly field: number })[]
  /** The number of each record, in the order of the file; undefined: ranks are written in the order of the file. */
  readonly numbers: Uint32Array | undefined
  /** The file to which the ranks are written, at the first position, and meanwhile those of the runs, at the other. */
  readonly descriptor: number
  readonly position: number
  readonly room: number
  /**
   * The styles in which the records write their numbers, and the beginning of the path of a file with the
   * distinct values; undefined: their sort keys don't tell how they are written.
   */
  readonly values: { readonly path: string; readonly styles: Styles } | undefined
}

export interface RankedField {
  /** Number of distinct values. */
  readonly distinct: number
  readonly values?: WrittenValues
  /** Two batches with a code in each, whose values are the same number in different texts. */
  readonly pair?: readonly { readonly batch: number; readonly code: number }[]
}

/**
 * Writes the position of each record's value among the distinct values of the field, with nulls last.
 * @param spool receives data that doesn't fit into memory
 * @throws ImportError if the field is too large for its collation
 */
export function rankField(task: RankTask, spool: Appender): RankedField {
  const { batches } = task
  const runs = batches.map(batch => (batch.field < 0 ? undefined : readRun(batch, batch.field)))
  const found = runs.filter(run => run !== undefined)
  const isOrdered = task.type !== 'date-time' || areUniform(found)
  const sortable = isOrdered ? found : found.map(run => asInstants(run, spool))
  const most = found.reduce((sum, { size }) => sum + size, 0)
  const writer = task.values && new ValueWriter(task.values.path, task.type, most)
  const taker = writer && takerFor(writer, printerOf(task.values?.styles ?? allStyles))
  const { ranks, placeOf } = merged(sortable, task, isOrdered ? taker : taker && textTaker(taker), !isOrdered)
  const values = writer?.finish()
  // Records write the same instant in several forms, and the first record of each tells in which it is shown.
  if (values && values.distinct !== ranks.distinct) rmSync(values.writing)
  const pair = differentTexts(sortable, ranks)?.map(({ run, code }) => ({
    batch: runs.indexOf(found[run]),
    code,
  }))
  writeRanks(task, runs, ranks, placeOf)
  return {
    distinct: ranks.distinct,
    ...(pair && { pair }),
    ...(values?.distinct === ranks.distinct && { values }),
  }
}

/** Records whose ranks are put in order at a time. Another pass takes less time than more memory would. */
const windowLength = 2 ** 20

/** @param placeOf the rank that a value gets instead, by its rank; undefined: the same */
function writeRanks(
  { batches, numbers, descriptor, position }: RankTask,
  runs: readonly (Run | undefined)[],
  ranks: RunRanks,
  placeOf: Uint32Array | undefined,
): void {
  const { distinct } = ranks
  const count = batches.reduce((sum, batch) => sum + batch.count, 0)
  const window = new Uint32Array(Math.min(count, windowLength))
  const codes = new Uint16Array(batches.reduce((most, batch) => Math.max(most, batch.count), 0))
  for (let low = 0; low < count; low += windowLength) {
    let at = 0
    let next = 0
    for (const [index, batch] of batches.entries()) {
      const run = runs[index]
      const inOrder = run && next++
      const from = at
      at += batch.count
      if (numbers === undefined && (at <= low || from >= low + windowLength)) continue
      const some = codes.subarray(0, batch.count)
      if (run) readAt(batch.descriptor, some, run.codes)
      else some.fill(noCode)
      const ofRun = inOrder === undefined ? none : ranks.of(inOrder)
      if (numbers === undefined) placeInFile(some, ofRun, distinct, window, from - low)
      else placeNumbered(some, ofRun, distinct, window, numbers.subarray(from, at), low)
    }
    const filled = window.subarray(0, count - low)
    if (placeOf) for (let n = 0; n < filled.length; n++) filled[n] = placeOf[filled[n] as number] ?? distinct
    writeAt(descriptor, filled, position + low * Uint32Array.BYTES_PER_ELEMENT)
  }
}

const none = new Uint32Array()

/** Puts ranks into a part of the records in the order of the file. @param from the place of the first one in it */
function placeInFile(
  codes: Uint16Array,
  ranks: Uint32Array,
  distinct: number,
  window: Uint32Array,
  from: number,
): void {
  const end = Math.min(codes.length, window.length - from)
  for (let n = Math.max(0, -from); n < end; n++) {
    const code = codes[n] as number
    window[from + n] = code === noCode ? distinct : (ranks[code] as number)
  }
}

/** Puts ranks into a part of the records in the order of their numbers. @param low the first number in it */
function placeNumbered(
  codes: Uint16Array,
  ranks: Uint32Array,
  distinct: number,
  window: Uint32Array,
  numbers: Uint32Array,
  low: number,
): void {
  const { length } = window
  for (let n = 0; n < codes.length; n++) {
    const place = (numbers[n] as number) - low
    if (place < 0 || place >= length) continue
    const code = codes[n] as number
    window[place] = code === noCode ? distinct : (ranks[code] as number)
  }
}

const takerFor = (writer: ValueWriter, print: (value: number) => string): Taker => ({
  key: (key, isMarked) => {
    if (!isMarked) writer.addText(key)
    else if (key.startsWith(kindMarks.text)) writer.addText(key.slice(1))
    else if (key.startsWith(kindMarks.number)) writer.addNumber(numberOf(key), print)
    else writer.addJson(key.endsWith('1') ? 'true' : 'false')
  },
  numbers: sorted => {
    for (let at = 0; at < sorted.length; at++) writer.addNumber(sorted[at] as number, print)
  },
})

/** Takes instants as they are written. */
const textTaker = ({ key, numbers }: Taker): Taker => ({
  key: (one, isMarked) => key(one.slice(one.indexOf(endOfCompared) + 1), isMarked),
  numbers,
})

function merged(
  runs: readonly Run[],
  { name, collation, ...task }: RankTask,
  taker: Taker | undefined,
  isSplit: boolean,
) {
  const room = { descriptor: task.descriptor, position: task.room }
  if (collation === undefined) return { ranks: mergeRuns(runs, room, taker, isSplit), placeOf: undefined }
  const texts = collatedTexts(name, collation)
  const ranks = mergeRuns(runs, room, { key: key => texts.add(textOfBinary(key)), numbers: () => {} })
  return { ranks, placeOf: texts.places() }
}

/** True if all date-times have the same form, in which the texts sort like the instants. */
function areUniform(runs: readonly Run[]): boolean {
  const lengths = runs.map(({ descriptor, lengths }) => {
    const first = new Uint32Array(1)
    readAt(descriptor, first, lengths)
    return first[0]
  })
  return runs.every(({ kind }) => kind === runKinds.instants) && new Set(lengths).size <= 1
}

/** Makes keys of the instants, each with its text after it. */
function asInstants(run: Run, spool: Appender): Run {
  const instants: string[] = []
  const codes: number[] = []
  for (const cursor = new RunCursor(run, false, 1); instants.length < run.size; cursor.next()) {
    instants.push(instant(textOfBinary(cursor.key)) + endOfCompared + cursor.key)
    codes.push(cursor.code)
  }
  const texts = packTexts(instants, true)
  const order = sortTexts(texts)
  return {
    ...run,
    kind: runKinds.texts,
    descriptor: spool.descriptor,
    ...writeTexts(spool, texts, order),
    codeOf: Uint16Array.from(order, text => codes[text] as number),
  }
}

/** Maximum number and total characters of the distinct values of a field that are sorted in memory. */
const maxDistinct = 5_000_000
const maxCharacters = 256 * 1024 * 1024

/** The distinct texts of a field, to be sorted by a collation. */
interface CollatedTexts {
  /** Adds a text. Texts are added in the order of their code points. @throws ImportError if there are too many */
  add(text: string): void
  /**
   * @returns the position of each text. Texts that the collation treats as equal keep the order of their code
   * points, so that each distinct text has a position of its own, as without a collation (Q6).
   */
  places(): Uint32Array
}

/** @param name the name of the field */
function collatedTexts(name: string, collation: string): CollatedTexts {
  const texts: string[] = []
  let characters = 0
  return {
    add: text => {
      characters += text.length
      if (texts.length === maxDistinct || characters > maxCharacters)
        throw new ImportError(
          `the field ${shown(name)} is too large for a collation: its distinct values are more than ${maxDistinct.toLocaleString('en')}, or longer than 256 million characters together; import it without --collation`,
        )
      texts.push(text)
    },
    places: () => {
      const compare = languageCompare(collation)
      const sorted = Uint32Array.from(texts.keys()).sort(
        (one, other) => compare(texts[one] as string, texts[other] as string) || one - other,
      )
      const places = new Uint32Array(texts.length)
      for (const [place, text] of sorted.entries()) places[text] = place
      return places
    },
  }
}
