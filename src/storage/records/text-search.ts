import { hash } from 'node:crypto'
import type { FieldRef, Leaf, Scalar } from '../../model/plan.ts'
import { type PackedColumn, typeOf } from '../columns/columns.ts'
import type { SearchedField, SearchTask } from '../columns/search-texts.ts'
import type { PackedSelection } from '../columns/selections.ts'
import type { RecordEntity } from '../entities.ts'
import { whilePresent } from '../runtime/limits.ts'
import type { Facts } from './facts.ts'
import type { Turn } from './kept-facts.ts'

/** Finds the records whose texts contain the words (Q27). A field's first search builds its word index. */
export async function textMatches(
  turn: Turn,
  entity: RecordEntity,
  { fields, words, negated }: Leaf<'text'>,
  facts: Facts,
): Promise<PackedSelection> {
  const inRow = words.some(phrase => phrase.words.length > 1)
  const searched: SearchedField[] = []
  for (const ref of fields) searched.push(await searchedField(turn, entity, ref, inRow, facts))
  const task: SearchTask = { count: entity.source.count, fields: searched, words, negated }
  return whilePresent(turn.client, stop => turn.work.call('searchTexts', task, stop))
}

/** Names a relevance in the cache. */
export const nameOfRelevance = ({ fields, words }: Relevance): string =>
  `relevance ${hash('sha256', JSON.stringify([fields, words]), 'base64')}`

export type Relevance = Extract<Scalar, { kind: 'relevance' }>

/** Returns the relevance of all records as a column to sort by. */
export async function relevanceOfAll(
  turn: Turn,
  entity: RecordEntity,
  relevance: Relevance,
  facts: Facts,
): Promise<PackedColumn> {
  return facts.kept(turn, entity, nameOfRelevance(relevance), async () => {
    const fields: SearchedField[] = []
    for (const ref of relevance.fields) fields.push(await searchedField(turn, entity, ref, true, facts))
    const task: SearchTask = { count: entity.source.count, fields, words: relevance.words, negated: false }
    return whilePresent(turn.client, stop => turn.work.call('relevance', task, stop))
  })
}

async function searchedField(
  turn: Turn,
  entity: RecordEntity,
  ref: FieldRef,
  inRow: boolean,
  facts: Facts,
): Promise<SearchedField> {
  const need = { ref, values: inRow || !facts.hasWords(entity, ref), lookups: 0, postings: true }
  const { column, postings, values } = await facts.make(turn, entity, need)
  const { type } = typeOf(entity, ref)
  const words = await facts.words(turn, entity, ref)
  return { type, column, postings, words, values: inRow ? values : null }
}
