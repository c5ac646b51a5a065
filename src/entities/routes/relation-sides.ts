import { commaList, quote } from '../../http/parameters.ts'
import { PlanRefused, StoreUnavailable, TooMuch } from '../../lib/errors.ts'
import { exactText } from '../../lib/json.ts'
import type { Entity, Field } from '../../model/entities.ts'
import { type Condition, type FieldRef, isOfElements, isWholeField, type Plan } from '../../model/plan.ts'
import { rowsPlan } from '../../model/plan-fields.ts'
import { areComparable } from '../../model/relations.ts'
import { elementsOf, type Found, relationSide } from '../../query/check/fields.ts'
import { QueryError } from '../../query/language/node.ts'
import type { Entities } from '../../storage/entities.ts'
import { rowsOf } from '../references.ts'

/** The two sides of a relation when it is declared: what they are, and if they can ever match (docs/decisions/0079). */

export interface End {
  readonly entity: Omit<Entity, 'read'>
  /** Names of fields, or paths. */
  readonly fields: readonly string[]
}

/** The place of a mistake: a field of this entity, of the other one, or the relation as a whole. */
export type SidePlace = readonly ['fields' | 'to', number] | null

/** Refuses a relation that is impossible. The message has no full stop at its end. */
export class RelationRefused extends Error {
  readonly place: SidePlace

  constructor(message: string, place: SidePlace) {
    super(message)
    this.place = place
  }
}

/** Finds what a side names. @returns undefined if there is no such field @throws RelationRefused for a bad path */
export function sideNamed(name: string, { entity }: Pick<End, 'entity'>, place: SidePlace) {
  try {
    return relationSide(name, entity)
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    throw new RelationRefused(error.message.replace(/\.$/, ''), place)
  }
}

type Pair = readonly [Found, Found]

/** Pairs the sides, whose fields are known. @throws RelationRefused for fields that are never equal */
export function pairsOf(one: End, other: End): readonly Pair[] {
  const [from, to] = [one.entity.name, other.entity.name]
  if (one.fields.length !== other.fields.length)
    throw new RelationRefused(
      `${one.fields.length} of the fields of ${from} can't be compared with ${other.fields.length} of ${to}; name the same number on both sides`,
      null,
    )
  const pairs = one.fields.flatMap((name, at): readonly Pair[] => {
    const field = sideNamed(name, one, ['fields', at])
    const its = sideNamed(other.fields[at] ?? '', other, ['to', at])
    if (!field || !its) return []
    if (!areComparable(field.ref, its.ref))
      throw new RelationRefused(
        `${from}.${name} is ${field.ref.type} and ${to}.${other.fields[at]} is ${its.ref.type}; their values are never equal`,
        ['fields', at],
      )
    return [[field, its]]
  })
  const isOfEach = pairs.flat().some(({ ref }) => isOfElements(ref))
  if (pairs.length > 1 && isOfEach)
    throw new RelationRefused(
      'a relation by [*] has one field on each side, because others would be combined with every element; take one, or an index in place of *',
      null,
    )
  return pairs
}

/** Maximum number of different values of a side whose kinds are looked at. */
const maxValues = 100_000

/**
 * Looks at the values of both sides.
 * @returns a warning if no record has a partner at the moment; undefined if one has, or it takes too much to say
 * @throws RelationRefused for a path that no record has, or values of kinds that are never equal
 */
export async function lookAtValues(
  entities: Pick<Entities, 'list'>,
  one: End,
  other: End,
): Promise<string | undefined> {
  const pairs = pairsOf(one, other)
  if (pairs.length < one.fields.length) return undefined
  const inWords = (at: number) => [
    `${one.entity.name}.${one.fields[at]}`,
    `${other.entity.name}.${other.fields[at]}`,
  ]
  try {
    for (const [at, [field, its]] of pairs.entries()) {
      const [name = '', itsName = ''] = inWords(at)
      const kinds = await kindsOf(entities, one, field, [name, ['fields', at]])
      const others = await kindsOf(entities, other, its, [itsName, ['to', at]], kinds)
      if (kinds && others && kinds.size > 0 && others.size > 0 && !haveCommon(kinds, others))
        throw new RelationRefused(
          `the values of ${name} are ${inList(kinds)} and those of ${itsName} are ${inList(others)}; they are never equal`,
          ['fields', at],
        )
    }
    const inner = planOf(
      other.entity,
      pairs.map(([, its]) => (pairs.length === 1 ? elementsOf(its).ref : its.ref)),
    )
    const where: Condition = {
      kind: 'in plan',
      fields: pairs.map(([field]) => field.ref),
      plan: inner,
      negated: false,
    }
    const first = pairs.map(([field]) => field.ref).slice(0, 1)
    for await (const _ of rowsOf(entities, planOf(one.entity, first, { where, limit: 1 }))) return undefined
    const said = pairs.map((_, at) => inWords(at).join(' with '))
    return `No record of ${one.entity.name} has a partner in ${other.entity.name} at the moment: no values are equal, comparing ${said.join(', ')}.`
  } catch (error) {
    // Declaring a relation mustn't depend on the time or memory that looking at it would take.
    if (error instanceof TooMuch || error instanceof StoreUnavailable) return undefined
    if (error instanceof PlanRefused) throw new RelationRefused(error.message.replace(/\.$/, ''), null)
    throw error
  }
}

type Kind = 'texts' | 'numbers' | 'true or false' | 'lists' | 'objects' | 'instants'

const kindOfType: Readonly<Record<Field['type'], Kind | undefined>> = {
  text: 'texts',
  integer: 'numbers',
  number: 'numbers',
  boolean: 'true or false',
  'date-time': 'instants',
  json: undefined,
}

const haveCommon = (one: ReadonlySet<Kind>, other: ReadonlySet<Kind>) =>
  [...one].some(kind => other.has(kind))

const inList = (kinds: ReadonlySet<Kind>) => commaList([...kinds])

/**
 * Returns the kinds of a side's values, or those up to the first that is wanted; undefined if there are too many to look
 * at. @throws RelationRefused for a path that no record has
 */
async function kindsOf(
  entities: Pick<Entities, 'list'>,
  { entity }: End,
  found: Found,
  [name, place]: readonly [string, SidePlace],
  wanted?: ReadonlySet<Kind>,
): Promise<ReadonlySet<Kind> | undefined> {
  const { ref } = elementsOf(found)
  const typed = kindOfType[ref.type]
  if (typed) return new Set([typed])
  const kinds = new Set<Kind>()
  let size = 0
  const where: Condition = { kind: 'null', field: ref, negated: true }
  for await (const row of rowsOf(
    entities,
    planOf(entity, [ref], { where, distinct: true, limit: maxValues }),
  )) {
    const [value] = Object.values(row)
    for (const one of isOfElements(ref) ? (value as readonly unknown[]) : [value]) kinds.add(kindOf(one))
    if (wanted && haveCommon(wanted, kinds)) return kinds
    if (++size === maxValues) return undefined
  }
  if (size > 0 || isWholeField(found.ref)) return kinds
  const some = planOf(entity, [{ ...ref, path: [] }], { limit: 1 })
  for await (const _ of rowsOf(entities, some))
    throw new RelationRefused(
      `no record of ${entity.name} has ${quote(name.slice(entity.name.length + 1))}`,
      place,
    )
  return kinds
}

function kindOf(value: unknown): Kind {
  if (typeof value === 'string') return 'texts'
  if (typeof value === 'boolean') return 'true or false'
  if (typeof value === 'number' || exactText(value) !== undefined) return 'numbers'
  return Array.isArray(value) ? 'lists' : 'objects'
}

/** A plan for rows of these fields, of all records. */
function planOf(
  { defaultCondition: _, ...entity }: End['entity'],
  fields: readonly FieldRef[],
  listed: Parameters<typeof rowsPlan>[2] = {},
): Plan {
  return rowsPlan({ ...entity, read: 'admin' }, fields.entries(), listed)
}
