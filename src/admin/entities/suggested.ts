import { areComparable, relationsBetween } from '../../model/relations.ts'
import type { Entities } from '../../storage/entities.ts'
import type { ForeignKey } from '../../storage/exposing.ts'

/**
 * The relations that the foreign keys of an exposed table suggest, to entities that it isn't related to yet.
 */
export async function suggestedRelations(
  entities: Pick<Entities, 'all' | 'foreignKeys'>,
  name: string,
): Promise<readonly ForeignKey[]> {
  const all = await entities.all()
  const keys = (await entities.foreignKeys?.(name)) ?? []
  return keys.filter(key => {
    const [from, to] = [all.get(key.entity), all.get(key.to.entity)]
    const typeOf = (entity: typeof from, field: string | undefined) =>
      entity?.fields.find(one => one.name === field)
    return (
      from &&
      to &&
      !relationsBetween(all, from.name, to.name) &&
      key.fields.every((field, at) => {
        const [one, other] = [typeOf(from, field), typeOf(to, key.to.fields[at])]
        return one && other && areComparable(one, other)
      })
    )
  })
}
