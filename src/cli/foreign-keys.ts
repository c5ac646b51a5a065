import { suggestedRelations } from '../admin/suggested.ts'
import type { Entities, ForeignKey } from '../storage/entities.ts'
import { addRelation, described } from './entity-relations.ts'

/** What the foreign keys of an exposed table have become. */
export interface Suggested {
  /** Declared now. */
  readonly related: readonly ForeignKey[]
  /** Left to the operator. */
  readonly suggested: readonly ForeignKey[]
}

/**
 * The relations that the foreign keys of an exposed table suggest, to entities that it isn't related to yet.
 * @param take whether to declare them, where there is no choice between several
 */
export async function relateByForeignKeys(
  entities: Entities,
  name: string,
  take: boolean,
): Promise<Suggested> {
  const keys = await suggestedRelations(entities, name)
  const related: ForeignKey[] = []
  for (const key of keys)
    if (take && keys.filter(other => pairOf(other) === pairOf(key)).length === 1) {
      await addRelation(entities, { ...key, isNew: true })
      related.push(key)
    }
  return { related, suggested: keys.filter(key => !related.includes(key)) }
}

/** The same for both directions. */
const pairOf = ({ entity, to }: ForeignKey) => [entity, to.entity].toSorted().join(' ')

/** A line for each relation. */
export const inWords = ({ related, suggested }: Suggested): readonly string[] => [
  ...related.map(key => `Related by a foreign key: ${described(key)}.`),
  ...suggested.map(key => {
    const { entity, fields, to } = key
    const command = [argument(entity, fields), argument(to.entity, to.fields)]
    return command.includes(undefined)
      ? `A foreign key suggests a relation, which --relate declares: ${described(key)}`
      : `A foreign key suggests a relation: carrel entity relate ${command.join(' ')}`
  }),
]

/** As a shell takes it; undefined where a comma is part of a name. */
function argument(entity: string, fields: readonly string[]): string | undefined {
  if (fields.length > 1 && fields.some(field => field.includes(','))) return undefined
  const text = `${entity}.${fields.join(',')}`
  return /^[\w.,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
