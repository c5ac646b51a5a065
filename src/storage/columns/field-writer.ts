import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { readAt, writeAt } from '../../lib/files-at.ts'
import { release } from '../../lib/memory.ts'
import type { FieldType } from '../../model/entities.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { byRank, type RankParts, rankPart } from './ranks-in-order.ts'
import type { Column } from './stored-column.ts'
import { fewestWide, headerOfField } from './stored-field.ts'
import type { Values } from './stored-values.ts'
import { amountsOf, fitAmounts, scaled } from './sums.ts'
import { aligned, ValueWriter, type WrittenValues } from './value-writer.ts'
import { eachJson } from './values.ts'

/** Number of values that are made whole at a time. */
const blockLength = 2 ** 16

/**
 * Adds the ranks to the values of a field, and gives the file its name.
 * @param ranks of all records; that of records without a value is the number of values
 * @param path that the file gets
 */
export function finishField(values: WrittenValues, count: number, ranks: RankParts, path: string): void {
  const { writing, distinct, places, json, doubles, scale } = values
  const descriptor = openSync(writing, 'r+')
  let end = aligned(values.end)
  const appendParts = (each: (part: Uint32Array) => ArrayBufferView<ArrayBufferLike>) => {
    const position = end
    for (const part of ranks()) end += writeAt(descriptor, each(part), end)
    end = aligned(end)
    return position
  }
  try {
    const isNarrow = distinct < fewestWide
    const position = appendParts(part => (isNarrow ? new Uint16Array(part) : part))
    const starts = end
    const postings = aligned(starts + 4 * (distinct + 2))
    byRank(ranks, distinct + 1, {
      starts: (some, low) => writeAt(descriptor, some, starts + 4 * low),
      numbers: (some, from) => writeAt(descriptor, some, postings + 4 * from),
    })
    writeAt(descriptor, Uint32Array.of(count), starts + 4 * (distinct + 1))
    end = aligned(postings + 4 * count)
    const whole = isNarrow || scale < 0 ? undefined : wholeNumbers(descriptor, doubles, distinct, scale)
    const amounts = whole ? appendParts(part => amountsOf(part, whole)) : 0
    if (whole) release(whole)
    ftruncateSync(descriptor, end)
    const field = {
      count,
      distinct,
      width: isNarrow ? 2 : 4,
      ranks: position,
      starts,
      postings,
      places,
      json,
      doubles,
      amounts,
      scale,
    }
    // A file without its header, of a machine that failed, counts as missing.
    fsyncSync(descriptor)
    writeAt(descriptor, headerOfField(field, end, path), 0)
  } finally {
    closeSync(descriptor)
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  renameSync(writing, path)
}

/** Returns the values times a power of ten; undefined unless all fit into 32 bits. @param doubles their position */
function wholeNumbers(
  descriptor: number,
  doubles: number,
  distinct: number,
  scale: number,
): Int32Array | undefined {
  const read = (from: number, length: number) => {
    const numbers = new Float64Array(length)
    readAt(descriptor, numbers, doubles + 8 * from)
    return numbers
  }
  for (const place of [0, distinct - 1]) if (!fitAmounts(read(place, 1), scale)) return undefined
  const whole = new Int32Array(distinct)
  for (let from = 0; from < distinct; from += blockLength)
    whole.set(scaled(read(from, Math.min(blockLength, distinct - from)), scale), from)
  return whole
}

/** Writes the file of a field. */
export function storeField(
  path: string,
  type: FieldType,
  column: Column,
  count: number,
  values: Values,
): void {
  const writer = new ValueWriter(path, type, values.length)
  try {
    eachJson(values, (json, rank) => {
      if ((rank & 0xfff) === 0) mayGoOn()
      writer.addJson(json)
    })
    mayGoOn()
  } catch (error) {
    writer.remove()
    throw error
  }
  const written = writer.finish()
  if (!written) return
  try {
    finishField(written, count, partsOf(column, count), path)
  } catch (error) {
    rmSync(written.writing, { force: true })
    throw error
  }
}

function partsOf(column: Column, count: number): RankParts {
  const room = new Uint32Array(Math.min(rankPart, count))
  return function* () {
    for (let from = 0; from < count; from += rankPart) {
      mayGoOn()
      const ranks = column.read(from, Math.min(count, from + rankPart))
      const part = room.subarray(0, ranks.length)
      part.set(ranks)
      yield part
    }
  }
}
