import { parseExact } from '../../lib/json.ts'
import type { FieldType } from '../../model/entities.ts'
import type { TextQuery } from '../../model/plan.ts'
import { relevanceOf, searchable, textsIn } from '../../model/text-query.ts'
import { mayGoOn } from '../runtime/limits.ts'
import {
  type GivenColumn,
  type GivenPostings,
  openColumn,
  openPostings,
  type PackedColumn,
  packRanks,
} from './columns.ts'
import { openChanges, type RevisedField } from './field-changes.ts'
import { rankRange, ranksOf } from './rank-sets.ts'
import { type Sought, select, soughtAll, soughtRanks } from './select.ts'
import { compact, noBits, type Selection, setBits } from './selections.ts'
import type { Values } from './stored-values.ts'
import { type GivenValues, jsonAt, openValues, Packer } from './values.ts'
import { type GivenWords, lookUp, openWordIndex, type PackedWords } from './word-index.ts'
import { packWords, WordIndexBuilder } from './word-writer.ts'

/** A field in which a task searches for words (Q27, docs/decisions/0038). */
export interface SearchedField {
  readonly type: FieldType
  readonly column: GivenColumn
  readonly postings: GivenPostings | null
  readonly words: GivenWords
  /** Needed only for phrases of several words, and for relevance. */
  readonly values: GivenValues | null
}

export interface SearchTask {
  /** Number of records in the version. */
  readonly count: number
  readonly fields: readonly SearchedField[]
  readonly words: TextQuery
  readonly negated: boolean
}

export function indexWords(values: Values, type: FieldType): PackedWords {
  const builder = new WordIndexBuilder()
  addWords(builder, values, type)
  return packWords(builder)
}

/** Indexes the written values of a changed version. */
export function indexWritten(field: RevisedField, type: FieldType): PackedWords {
  const { json, starts } = openChanges(field)
  const packer = new Packer(starts.length - 1)
  for (let item = 0; item + 1 < starts.length; item++)
    packer.add(json.toString('utf8', starts[item], starts[item + 1]))
  return indexWords(openValues(packer.finish(), starts.length - 1), type)
}

/** @param tick called now and then; it may throw to stop */
export function addWords(
  builder: WordIndexBuilder,
  values: Values,
  type: FieldType,
  tick: () => unknown = mayGoOn,
): void {
  if (values.length === 0) return
  for (const { from, end, starts, json } of values.parts(0, values.length)) {
    const base = starts[0] as number
    let escaped = nextEscape(json, 0)
    for (let rank = from; rank < end; rank++) {
      if ((rank & 0x3ff) === 0) tick()
      let first = (starts[rank - from] as number) - base
      let last = (starts[rank - from + 1] as number) - base
      const isText = json[first] === quoteMark
      if (isText && escaped < first) escaped = nextEscape(json, first)
      if (type === 'json' ? !isText : isText && escaped < last) {
        builder.add(rank, textsOf(json.toString('utf8', first, last), type))
        continue
      }
      if (isText) {
        first++
        last--
      }
      builder.addText(rank, json, first, last)
    }
  }
}

const quoteMark = 0x22
const backslash = 0x5c

function nextEscape(json: Buffer, from: number): number {
  const at = json.indexOf(backslash, from)
  return at < 0 ? json.length : at
}

/** Returns the words of a value. */
const searchableOf = (values: Values, type: FieldType, rank: number): string =>
  searchable(textsOf(jsonAt(values, rank), type))

/** Returns the texts of a value. In a text field, a value that is not a text counts as its JSON. */
function textsOf(json: string, type: FieldType): readonly string[] {
  if (json.startsWith('"')) return [JSON.parse(json) as string]
  return type === 'json' ? textsIn(parseExact(json)) : [json]
}

export function searchTexts({ count, fields, words, negated }: SearchTask): Selection {
  const opened = fields.map(({ column: given, postings, ...rest }) => {
    const column = openColumn(given, count)
    return { ...rest, column, postings: postings && openPostings(postings, column) }
  })
  const found = (query: TextQuery) =>
    soughtAll(
      'or',
      opened.map(({ column, postings, words: index, type, values }): Sought => {
        const { distinct } = column
        const known = values && openValues(values, distinct)
        const read = (rank: number) => (known ? searchableOf(known, type, rank) : '')
        return soughtRanks(column, postings, ranksOf(lookUp(openWordIndex(index), query, distinct, read)))
      }),
      count,
    )
  // In a single field, each value is tested with all phrases; otherwise phrases may be in different fields.
  const sought =
    opened.length === 1
      ? found(words)
      : soughtAll(
          'and',
          words.map(phrase => found([phrase])),
          count,
        )
  const selection = select(sought, count)
  if (!negated) return selection
  const known = soughtAll(
    'or',
    opened.map(({ column, postings }) => soughtRanks(column, postings, rankRange(0, column.distinct))),
    count,
  )
  return without(select(known, count), selection, count)
}

/** Returns the relevance of all records as a column. */
export function relevanceColumn({ count, fields, words }: SearchTask): PackedColumn {
  const sums = new Float64Array(count)
  for (const { column, type, values: kept, words: index } of fields) {
    const { distinct, ranks } = openColumn(column, count)
    if (!kept) throw new Error('the values of a field are not at hand')
    const values = openValues(kept, distinct)
    const read = (rank: number) => searchableOf(values, type, rank)
    const relevance = new Float64Array(distinct + 1)
    for (const phrase of words)
      for (const rank of lookUp(openWordIndex(index), [phrase], distinct, read)) {
        if ((rank & 0x3ff) === 0) mayGoOn()
        if (relevance[rank] === 0) relevance[rank] = relevanceOf([read(rank)], words)
      }
    for (let n = 0; n < count; n++) sums[n] = (sums[n] as number) + (relevance[ranks[n] as number] as number)
  }
  const distinct = [...new Set(sums)].sort((one, other) => one - other)
  const places = new Map(distinct.map((sum, place) => [sum, place]))
  return packRanks(
    Uint32Array.from(sums, sum => places.get(sum) as number),
    distinct.length,
  )
}

function without(all: Selection, some: Selection, count: number): Selection {
  const words = bitsOf(all, count).slice()
  const left = bitsOf(some, count)
  for (let at = 0; at < words.length; at++) words[at] = (words[at] as number) & ~(left[at] as number)
  return compact(words, count)
}

function bitsOf(selection: Selection, count: number): Uint32Array {
  if (selection.kind === 'bits') return selection.words
  const words = noBits(count)
  setBits(words, selection.numbers)
  return words
}
