import { TooMuch } from '../lib/errors.ts'
import { readAt } from '../lib/files-at.ts'
import { collectGarbageNow, release } from '../lib/memory.ts'
import type { FieldType } from '../model/entities.ts'
import { finishField } from '../storage/columns/field-writer.ts'
import { inParts, type RankParts, rankPart } from '../storage/columns/ranks-in-order.ts'
import { addWords } from '../storage/columns/search-texts.ts'
import { closeStored, openStored } from '../storage/columns/stored-field.ts'
import type { WrittenValues } from '../storage/columns/value-writer.ts'
import { openValues } from '../storage/columns/values.ts'
import { writeWords } from '../storage/columns/word-writer.ts'
import { wordsBeside } from '../storage/records/field-files.ts'
import type { RankTask } from './rank-field.ts'

/** The ranks of a field that has been ranked, and where what is known of it is to be written. */
export interface FieldFileTask {
  readonly type: FieldType
  readonly values: WrittenValues
  readonly count: number
  readonly path: string
  /** The file and the position of the ranks; null: the values are unique, so that they are the numbers. */
  readonly ranks: Pick<RankTask, 'descriptor' | 'position'> | null
  /** The number of each record, if the ranks are in the order of the file. */
  readonly numbers: Uint32Array | undefined
  /** True if what the thread did before has left so much that its garbage is to be collected. */
  readonly isLarge: boolean
}

export function writeFieldFile(task: FieldFileTask): void {
  const { type, values, count, path, ranks, numbers } = task
  if (task.isLarge) collectGarbageNow()
  finishField(values, count, ranks === null ? eachNumber(count) : partsIn(ranks, count, numbers), path)
  const stored = type === 'text' ? openStored(path, count) : undefined
  if (!stored) return
  try {
    writeWords(wordsBeside(path), builder => {
      addWords(builder, openValues(stored, stored.distinct), type, () => {
        if (builder.hasRareWords) throw rareWords
      })
    })
  } catch (error) {
    // Their words are collected if they are ever searched for.
    if (error !== rareWords && !(error instanceof TooMuch)) throw error
  } finally {
    closeStored(() => false)
  }
}

/** The numbers of all records, as their ranks. */
const eachNumber = (count: number): RankParts =>
  function* () {
    const part = new Uint32Array(Math.min(count, rankPart))
    for (let from = 0; from < count; from += part.length) {
      const length = Math.min(part.length, count - from)
      for (let n = 0; n < length; n++) part[n] = from + n
      yield part.subarray(0, length)
    }
  }

/** Reads ranks from a file. */
function partsIn(
  { descriptor, position }: NonNullable<FieldFileTask['ranks']>,
  count: number,
  numbers: Uint32Array | undefined,
): RankParts {
  if (numbers) {
    const inFile = new Uint32Array(count)
    readAt(descriptor, inFile, position)
    const ranks = new Uint32Array(count)
    for (let at = 0; at < count; at++) ranks[numbers[at] as number] = inFile[at] as number
    release(inFile)
    return inParts(ranks)
  }
  return function* () {
    const part = new Uint32Array(Math.min(count, rankPart))
    for (let from = 0; from < count; from += part.length) {
      const some = part.subarray(0, Math.min(part.length, count - from))
      readAt(descriptor, some, position + from * Uint32Array.BYTES_PER_ELEMENT)
      yield some
    }
  }
}

const rareWords = new Error('most words of the field occur only once')
