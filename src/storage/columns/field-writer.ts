import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { readAt, writeAt } from '../../lib/files-at.ts'
import { release } from '../../lib/memory.ts'
import type { FieldType } from '../../model/entities.ts'
import { amountsOf, fitAmounts, scaled } from './amounts.ts'
import { byRank, countRanks } from './ranks-in-order.ts'
import type { Column } from './stored-column.ts'
import { headerLength, headerOfField, type Ranks } from './stored-field.ts'
import type { Values } from './stored-values.ts'
import { aligned, ValueWriter, type WrittenValues } from './value-writer.ts'
import { eachJson } from './values.ts'

/** Number of records whose amounts are written at a time. */
const blockLength = 2 ** 20

/** Maximum number of distinct values for ranks of two bytes, one of which is null's. */
const maxNarrow = 0xffff

/**
 * Adds the ranks to the values of a field, and gives the file its name.
 * @param ranks of all records; that of records without a value is the number of values
 * @param path that the file gets
 */
export function finishField(values: WrittenValues, ranks: Uint32Array, path: string): void {
  const { writing, distinct, places, doubles, scale } = values
  const descriptor = openSync(writing, 'r+')
  let end = aligned(values.end)
  const append = (view: Ranks) => {
    const position = end
    end = aligned(end + writeAt(descriptor, view, end))
    return position
  }
  const appendAndFree = (view: Ranks) => {
    const position = append(view)
    release(view)
    return position
  }
  try {
    const isNarrow = distinct < maxNarrow
    const position = isNarrow ? appendAndFree(narrowed(ranks)) : append(ranks)
    const counted = countRanks(ranks, new Uint32Array(distinct + 2))
    const starts = append(counted)
    const postings = end
    for (const some of byRank(ranks, counted)) writeAt(descriptor, some.numbers, postings + 4 * some.from)
    end = aligned(postings + 4 * ranks.length)
    release(counted)
    let amounts = 0
    if (!isNarrow && scale >= 0) {
      const numbers = new Float64Array(distinct)
      readAt(descriptor, numbers, doubles)
      if (fitAmounts(numbers, scale)) {
        amounts = end
        const whole = scaled(numbers, scale)
        for (let from = 0; from < ranks.length; from += blockLength)
          end += writeAt(descriptor, amountsOf(ranks.subarray(from, from + blockLength), whole), end)
        end = aligned(end)
      }
    }
    ftruncateSync(descriptor, end)
    const field = {
      count: ranks.length,
      distinct,
      width: isNarrow ? 2 : 4,
      ranks: position,
      starts,
      postings,
      places,
      json: headerLength,
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

/**
 * Writes the file of a field.
 * @param column is used for nothing else any more
 * @param tick called now and then; it may throw to stop
 */
export function storeField(
  path: string,
  type: FieldType,
  { ranks }: Column,
  values: Values,
  tick: () => void,
): void {
  const writer = new ValueWriter(path, type)
  let written: WrittenValues | undefined
  try {
    eachJson(values, (json, rank) => {
      if ((rank & 0xfff) === 0) tick()
      writer.addJson(json)
    })
    tick()
  } catch (error) {
    writer.remove()
    throw error
  }
  try {
    written = writer.finish()
    if (!written) return
    const wide = ranks instanceof Uint32Array ? ranks : Uint32Array.from(ranks)
    if (wide !== ranks) release(ranks)
    finishField(written, wide, path)
    release(wide)
  } catch (error) {
    if (written) rmSync(written.writing, { force: true })
    throw error
  }
}

function narrowed(ranks: Uint32Array): Ranks {
  const narrow = new Uint16Array(ranks.length)
  for (let n = 0; n < ranks.length; n++) narrow[n] = ranks[n] as number
  return narrow
}
