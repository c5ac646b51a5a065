import type { FastifyRequest } from 'fastify'
import { clientOf } from '../../http/connection.ts'
import { quote } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import {
  keyOf,
  type Reference,
  referencesOf,
  referencesTo,
  refOf,
  uniqueFields,
  valuesPlan,
} from '../../import/references.ts'
import { exactText, type Members, parseWritten } from '../../lib/json.ts'
import { textForm } from '../../lib/sort-keys.ts'
import type { Entity, Field } from '../../model/entities.ts'
import { keyValues, recordKey } from '../../model/record-changes.ts'
import type { Entities, RecordEntity } from '../../storage/entities.ts'
import type { Reliance } from '../../storage/single-records.ts'
import { constantFor } from '../check/constants.ts'
import { whole } from '../check/fields.ts'
import { type Json, nodeOf } from '../language/node.ts'
import { type KnownEntity, telling } from '../plan.ts'
import { pointerTo } from './check-record.ts'

/** Constraints between a record and others: unique values and references (docs/decisions/0076). */

interface Write {
  readonly entity: RecordEntity
  /** The name of the record. */
  readonly key: string
  readonly before: Members | undefined
  /** null: it is deleted. */
  readonly after: Members | null
}

/**
 * Checks a write against the other records of its entity, and those of entities that reference it or are referenced.
 * @returns what was seen, on which the write relies
 * @throws Problem 422 for a value that is taken, or that is the key of no record; 409 for a record that others reference
 */
export async function seenBy(
  entities: Entities,
  request: FastifyRequest,
  known: KnownEntity,
  { entity, key, before, after }: Write,
): Promise<readonly Reliance[]> {
  const all = known.entities
  const valueIn = (record: Members | null | undefined, name: string) =>
    record && Object.hasOwn(record, name) ? (record[name] ?? null) : null
  /** The value of a field that the write changes; null: there is none, or it stays. */
  const changed = (field: Field) => {
    const [was, is] = [valueIn(before, field.name), valueIn(after, field.name)]
    const name = keyOf(field)
    return is !== null && (was === null || name(was) !== name(is)) ? is : null
  }
  const relies: Reliance[] = []
  if (after === null) {
    const own = keyValues(entity, before ?? {})[0]
    for (const reference of referencesTo(entity, all)) {
      await requireUnreferenced(reference, own)
      const { from, field } = reference
      const since = { kind: 'unwritten', field, value: keyOf(field)(own), except: key } as const
      relies.push({ entity: from.name, version: from.source.version, since })
    }
    return relies
  }
  for (const field of uniqueFields(entity)) {
    const value = changed(field)
    if (value === null) continue
    await requireFree(field, value)
    const since = { kind: 'unwritten', field, value: keyOf(field)(value), except: key } as const
    relies.push({ entity: entity.name, version: entity.source.version, since })
  }
  for (const reference of referencesOf(entity, all)) {
    const value = changed(reference.field)
    // A record may reference itself.
    if (value === null || isOwn(reference, value)) continue
    await requireThere(reference, value)
    const { name, source } = reference.to
    relies.push({ entity: name, version: source.version, since: { kind: 'kept' } })
  }
  return relies

  function isOwn({ to, key: its }: Reference, value: unknown): boolean {
    const own = keyValues(entity, after ?? {})[0]
    return to.name === entity.name && own !== null && keyOf(its)(own) === keyOf(its)(value)
  }

  /** The keys of the first records with this value. */
  async function keysWith(of: RecordEntity, field: Field, value: unknown, limit: number) {
    const { list: _, ...plain } = whole(field).ref
    const compared = telling('', () =>
      constantFor({ ...whole(field), ref: plain }, nodeOf(nodeValue(field, value)), {
        name: of.name,
        entity: of,
      }),
    )
    const fields = [of.key].flat().flatMap(name => of.fields.find(one => one.name === name) ?? [])
    const where = {
      kind: 'compare',
      field: refOf(field),
      operator: '=',
      value: compared,
      negated: false,
    } as const
    const plan = valuesPlan(of, fields, { where })
    const { body } = await entities.list(
      { ...plan, page: { ...plan.page, limit } },
      { kind: 'administrator' },
      'json',
      clientOf(request),
    )
    const pieces: Uint8Array[] = []
    for await (const piece of body instanceof Uint8Array ? [body] : body) pieces.push(piece)
    const text = Buffer.concat(pieces).toString()
    const rows = parseWritten(text.startsWith('[') ? text : `[${text}]`) as Members[]
    return rows.map(row => keyValues(of, row))
  }

  async function requireFree(field: Field, value: unknown): Promise<void> {
    const others = (await keysWith(entity, field, value, 2)).filter(
      values => recordKey(entity, values) !== key,
    )
    const [other] = others
    if (!other) return
    throw new Problem(
      'record-refused',
      `The field ${quote(field.name)} of ${entity.name} is unique, and the record ${shownKey(other)} has the value ${quote(JSON.stringify(value))} already.`,
      { members: { pointer: pointerTo(field.name) } },
    )
  }

  async function requireThere({ field, to, key: its }: Reference, value: unknown): Promise<void> {
    if ((await keysWith(to, its, value, 1)).length > 0) return
    throw new Problem(
      'record-refused',
      `The field ${quote(field.name)} of ${entity.name} references ${to.name}, which has no record ${quote(JSON.stringify(value))}.`,
      { members: { pointer: pointerTo(field.name) } },
    )
  }

  async function requireUnreferenced({ from, field }: Reference, own: unknown): Promise<void> {
    const found = await keysWith(from, field, own, some + 1)
    const others = from.name === entity.name ? found.filter(one => recordKey(entity, one) !== key) : found
    if (others.length === 0) return
    const mayKnow = known.mayRead(from)
    const keys = others.slice(0, some).map(shownKey)
    throw new Problem(
      'record-referenced',
      mayKnow
        ? `Records of ${from.name} reference this one in ${quote(field.name)}: ${keys.join(', ')}${others.length > some ? ' and more' : ''}. Change or delete those first.`
        : 'Records of another entity reference this one. Those who may read that entity change or delete them first.',
      mayKnow ? { members: { referenced: { entity: from.name, field: field.name, keys } } } : {},
    )
  }
}

/** Number of referencing records that a refusal names. */
const some = 10

const shownKey = (values: readonly unknown[]) =>
  values
    .map(value => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join()
    .slice(0, 200)

/** A value as a constant of a query. A field of text holds other values, too, which are compared as text. */
function nodeValue({ type }: Pick<Entity['fields'][number], 'type'>, value: unknown): Json {
  if (type === 'text') return textForm(value)
  if (typeof value === 'number' || exactText(value) !== undefined) return { number: JSON.stringify(value) }
  return value as Json
}
