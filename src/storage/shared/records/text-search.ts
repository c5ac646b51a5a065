import type { RecordEntity } from '../../entities.ts'
import type { Turn } from './facts.ts'
import type { TextCondition } from './needs.ts'
import type { PackedSelection } from './selections.ts'

/** The records in whose texts the words are. */
export function textMatches(
  _turn: Turn,
  { name }: RecordEntity,
  _condition: TextCondition,
): Promise<PackedSelection> {
  throw new Error(`${name} can't be searched for words`)
}
