import type { Piece } from '../import/json-lines.ts'
import { fieldValue, isTextList, kindOf, typeOf } from '../import/types.ts'
import { readAt, writeAt } from '../lib/files-at.ts'
import type { Members } from '../lib/json.ts'
import { fieldUses } from '../model/declared.ts'
import type { Field, ReadRule } from '../model/entities.ts'
import { orderOf } from '../model/value-order.ts'
import {
  type FieldRanks,
  type NewValue,
  newValues as namedValues,
  revisedRanks,
} from '../storage/columns/rank-revision.ts'
import type { Entities, Revision } from '../storage/entities.ts'
import { findKeysTogether } from '../storage/records/search.ts'
import { type ChangePlan, fieldsOf, readRecords } from './change-plan.ts'
import { type ImportOptions, importStaged, type Progress } from './import-entity.ts'

/**
 * Determines the fields of a new version and their ranks, which are kept in a file.
 * @param progress called with the share that is done; it may throw to stop
 */
export async function reviseFields(plan: ChangePlan, descriptor: number, progress: (share: number) => void) {
  const all = fieldsOf(plan)
  const bytes = plan.origins.length * Uint32Array.BYTES_PER_ELEMENT
  const fields: Field[] = []
  for (const [at, field] of all.entries()) {
    const old = await oldRanks(plan, at)
    const typed = hasType(field, old) ? field : { ...field, ...typeIn(plan, field.name) }
    const values = await newValues(plan, typed, old)
    const { ranks, distinct } = revisedRanks(old, plan.edits, values)
    writeAt(descriptor, new Uint8Array(ranks.buffer, ranks.byteOffset, ranks.byteLength), at * bytes)
    fields.push({ ...typed, nullable: ranks.includes(distinct) })
    progress((at + 1) / all.length)
  }
  return {
    fields,
    ranks: (field: number) => {
      const ranks = new Uint32Array(plan.origins.length)
      readAt(descriptor, ranks, field * bytes)
      return ranks
    },
  }
}

/** True unless the field never had a value. Such a field is text until it has one. */
const hasType = ({ type }: Field, { distinct }: FieldRanks): boolean => type !== 'text' || distinct > 0

/** @param field index of the field in the new version */
async function oldRanks({ entity, version }: ChangePlan, field: number): Promise<FieldRanks> {
  const { count } = entity.source
  const known = entity.fields[field]
  if (!known) return { ranks: new Uint32Array(count), distinct: 0 }
  const ranks = await version.ranks(field)
  const distinct = await version.distinct?.(field)
  if (distinct !== undefined) return { ranks, distinct }
  let highest = -1
  for (let n = 0; n < ranks.length; n++) if ((ranks[n] as number) > highest) highest = ranks[n] as number
  // Nulls, if there are any, come last.
  return { ranks, distinct: known.nullable ? Math.max(highest, 0) : highest + 1 }
}

function typeIn({ written }: ChangePlan, name: string): Pick<Field, 'type' | 'list'> {
  const values = written.map(({ record }) => fieldValue(record, name)).filter(value => value !== null)
  const type = typeOf([...new Set(values.map(kindOf).filter(kind => kind !== undefined))])
  return type === 'json' && values.every(isTextList) ? { type, list: true } : { type }
}

type Place = NonNullable<NewValue>['place']

/** Returns the values that the changes have in a field. */
async function newValues(plan: ChangePlan, field: Field, old: FieldRanks): Promise<NewValue[]> {
  const { written, replaced, slots, version } = plan
  const { name } = field
  const order = orderOf(field)
  const places = new Map<string, Place>()
  const values = written.map(({ record }, n) => {
    const value = fieldValue(record, name)
    if (value === null) return null
    const before = replaced[n]
    const isSame = before && JSON.stringify(fieldValue(before.record, name)) === JSON.stringify(value)
    return { key: order.key(value), rank: isSame ? old.ranks[before.number] : undefined }
  })
  for (const value of values)
    if (value?.rank !== undefined) places.set(value.key, { at: value.rank, isThere: true })
  const wanted = new Set(values.flatMap(value => (value && !places.has(value.key) ? value.key : [])))
  if (wanted.size > 0) {
    const examples = new Uint32Array(old.distinct + 1)
    for (let n = 0; n < old.ranks.length; n++) examples[old.ranks[n] as number] = n
    const keys = [...wanted]
    const found = await findKeysTogether(
      {
        length: old.distinct,
        slot: at => slots[examples[at] as number] as number,
        compare: (record: Members, key) => order.compare(order.key(fieldValue(record, name)), key),
      },
      keys,
      some => readRecords(version, some),
    )
    for (const [n, key] of keys.entries()) places.set(key, found[n] as Place)
  }
  return namedValues(
    values.map(value => value?.key ?? null),
    places,
    order,
  )
}

/** Number of records read at a time. */
const readStep = 4_000

/** Writes a complete new version, because there are too many changes to keep them separate. */
export async function rewrite(
  plan: ChangePlan,
  entities: Entities,
  {
    read,
    event,
    signal,
    relies,
  }: Pick<ImportOptions, 'read' | 'event' | 'signal'> & Pick<Revision, 'relies'>,
  progress: Progress,
): Promise<ReadRule> {
  const { entity } = plan
  const fields = fieldsOf(plan)
  const types = new Map()
  for (const [at, field] of entity.fields.entries())
    if (hasType(field, await oldRanks(plan, at))) types.set(field.name, field.type)
  const report = await importStaged(
    async staging => {
      staging.declare(fields.map(({ name }) => name))
      await staging.read(piecesOf(plan), signal)
    },
    entities,
    {
      name: entity.name,
      key: entity.key,
      read,
      ...declaredAs(entity.fields),
      types,
      event,
      replaces: entity.source.version,
      uses: fieldUses(entity),
      ...(signal && { signal }),
      ...(relies && { relies }),
    },
    (step, share) => {
      // The records were already read and looked up before.
      if (step === 'writing') progress(step, share)
    },
  )
  return report.read
}

/** Declares fields as they are, for records that are written again. */
export const declaredAs = (
  fields: readonly Field[],
): Required<Pick<ImportOptions, 'types' | 'collations' | 'lists'>> => ({
  types: new Map(fields.map(({ name, type }) => [name, type])),
  collations: new Map(
    fields.flatMap(({ name, collation }) => (collation === undefined ? [] : [[name, collation]])),
  ),
  lists: new Set(fields.flatMap(({ name, list }) => (list ? [name] : []))),
})

async function* piecesOf({ origins, slots, version, written }: ChangePlan): AsyncIterable<Piece> {
  for (let from = 0; from < origins.length; from += readStep) {
    const some = origins.subarray(from, from + readStep)
    const json = await version.read(
      Uint32Array.from(
        some.filter(origin => origin >= 0),
        origin => slots[origin] as number,
      ),
    )
    const changed = Array.from(
      some.filter(origin => origin < 0),
      origin => JSON.stringify(written[~origin]?.record),
    )
    // The line numbers are irrelevant, because all records were checked before.
    yield { kind: 'lines', first: 1, bytes: Buffer.from([...json, ...changed].join('\n')) }
  }
}
