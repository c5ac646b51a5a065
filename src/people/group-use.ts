import { quantity } from '../lib/quantities.ts'
import type { GroupUse } from '../storage/people.ts'

/** Describes where a group is in use, with the first few entities by name. */
export function placesOf({ entities, items, bitstreams }: GroupUse): string {
  const shown = entities.slice(0, 5)
  const more = entities.length - shown.length
  const count = (number: number, what: string) => (number === 0 ? [] : [quantity(number, what)])
  return [
    ...shown.map(entity => `the entity ${entity}`),
    ...(more > 0 ? [`${more} more`] : []),
    ...count(items, 'item'),
    ...count(bitstreams, 'file'),
  ].join(', ')
}
