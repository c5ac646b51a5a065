import type { Client } from '../../lib/fair-queue.ts'
import type { FieldRef, Rows } from '../../model/plan.ts'
import { baseOf, openColumn } from '../columns/columns.ts'
import { jsonAt, openValues } from '../columns/values.ts'
import type { RecordEntity } from '../entities.ts'
import type { Facts } from './facts.ts'
import { allValues } from './needs.ts'
import { type RecordSource, slotsOf } from './record-source.ts'

/**
 * Adds values of related records to records, as members with the names that the query gives them. No field of the
 * records has such a name.
 * @param slots those of the records
 * @returns the records, joined by commas
 */
export type AddRelated = (records: readonly string[], slots: ArrayLike<number>) => string

/** Looks values of related records up for lists that show them (docs/decisions/0078). */
export function createRelatedValues(source: Pick<RecordSource, 'inTurn'>, facts: Facts) {
  /** @returns undefined if no column shows a value of related records */
  return async (entity: RecordEntity, { columns }: Rows, client: Client): Promise<AddRelated | undefined> => {
    const refs = new Map<string, FieldRef>()
    for (const { value } of columns)
      if ('field' in value && value.field?.related) refs.set(value.field.name, baseOf(entity, value.field))
    if (refs.size === 0) return undefined
    return source.inTurn(client, async work => {
      const turn = { work, client }
      const slots = await facts.slots(turn, entity)
      const numbers =
        slots &&
        (await facts.kept(turn, entity, 'numbers of slots', () =>
          work.call('numbersOf', slots, slotsOf(entity)),
        ))
      const members: ((n: number) => string)[] = []
      for (const [name, ref] of refs) {
        const { column, values } = await facts.make(turn, entity, { ref, ...allValues })
        if (!values) throw new Error('the values of a field are not at hand')
        const { distinct, ranks } = openColumn(column, entity.source.count)
        const opened = openValues(values, distinct)
        members.push(n => {
          const rank = ranks[n] as number
          return `,${JSON.stringify(name)}:${rank === distinct ? 'null' : jsonAt(opened, rank)}`
        })
      }
      return (records, slots) =>
        records
          .map((record, at) => {
            const slot = slots[at] as number
            const n = numbers ? (numbers[slot] as number) : slot
            return `${record.slice(0, record.lastIndexOf('}'))}${members.map(one => one(n)).join('')}}`
          })
          .join()
    })
  }
}
