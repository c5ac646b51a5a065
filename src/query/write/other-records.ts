import type { FastifyRequest } from 'fastify'
import { eventOf } from '../../http/audit.ts'
import { clientOf } from '../../http/connection.ts'
import { quote } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { shown } from '../../import/import-error.ts'
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
import type { Trail } from '../../storage/trail.ts'
import { constantFor } from '../check/constants.ts'
import { whole } from '../check/fields.ts'
import { keyTextOf } from '../keys.ts'
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

/** Records that are written together. Constraints hold after the step, whatever its order is. */
export interface Step {
  /** The records of the step as they will be, by name; null: deleted. */
  readonly records: ReadonlyMap<string, Members | null>
  /** Receives each key that is looked for in an entity that the caller may not read. */
  readonly guesses: Guess[]
}

/** @returns the value of a field; null: there is none */
const valueIn = (record: Members | null | undefined, name: string): unknown =>
  record && Object.hasOwn(record, name) ? (record[name] ?? null) : null

/**
 * Checks that the records of a step have different values in unique fields.
 * @throws Problem 422 with the key of the second record that gets a value
 */
export function requireDifferent(entity: RecordEntity, { records }: Pick<Step, 'records'>): void {
  for (const field of uniqueFields(entity)) {
    const nameOf = keyOf(field)
    const seen = new Map<string, Members>()
    for (const record of records.values()) {
      const value = valueIn(record, field.name)
      if (record === null || value === null) continue
      const other = seen.get(nameOf(value))
      if (other)
        throw aboutRecord(keyTextOf(entity, record), taken(entity, field, value, keyValues(entity, other)))
      seen.set(nameOf(value), record)
    }
  }
}

/**
 * Checks a write against the other records of its entity, and those of entities that reference it or are referenced.
 * @param step the records that are written with it, itself included
 * @returns what was seen, on which the write relies
 * @throws Problem 422 for a value that is taken, or that is the key of no record; 409 for a record that others reference
 */
export async function seenBy(
  entities: Entities,
  request: FastifyRequest,
  known: KnownEntity,
  { entity, key, before, after }: Write,
  { records, guesses }: Step,
): Promise<readonly Reliance[]> {
  const all = known.entities
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
    if (value === null) continue
    await requireThere(reference, value)
    const { name, source } = reference.to
    relies.push({ entity: name, version: source.version, since: { kind: 'kept' } })
  }
  return relies

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
    // Records of the step have other values from now on; `requireDifferent` compares those.
    const found = await keysWith(entity, field, value, 2)
    const other = found.find(values => !records.has(recordKey(entity, values)))
    if (other) throw taken(entity, field, value, other)
  }

  async function requireThere({ field, to, key: its }: Reference, value: unknown): Promise<void> {
    const inStep = to.name === entity.name ? records.get(recordKey(entity, [value])) : undefined
    if (inStep) return
    const mayKnow = known.mayRead(to)
    if (!mayKnow) guesses.push({ field: field.name, value })
    if (inStep === undefined && (await keysWith(to, its, value, 1)).length > 0) return
    throw new Problem(
      'record-refused',
      mayKnow
        ? `The field ${quote(field.name)} of ${entity.name} references ${to.name}, which has no record ${shown(value)}.`
        : `The field ${quote(field.name)} of ${entity.name} references records of another entity, and none has the key ${shown(value)}. Those who may read that entity know the keys.`,
      { members: { pointer: pointerTo(field.name) } },
    )
  }

  async function requireUnreferenced({ from, field }: Reference, own: unknown): Promise<void> {
    const isSelf = from.name === entity.name
    const stays = (name: string) => {
      const value = records.has(name) ? valueIn(records.get(name), field.name) : own
      return value !== null && keyOf(field)(value) === keyOf(field)(own)
    }
    const found = await keysWith(from, field, own, (isSelf ? records.size : 0) + some + 1)
    const others = isSelf ? found.filter(one => stays(recordKey(entity, one))) : found
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

function taken(entity: RecordEntity, field: Field, value: unknown, other: readonly unknown[]): Problem {
  return new Problem(
    'record-refused',
    `The field ${quote(field.name)} of ${entity.name} is unique, and the record ${shownKey(other)} has the value ${shown(value)} already.`,
    { members: { pointer: pointerTo(field.name) } },
  )
}

/** @returns the error with the key of the record that it is about, in a step of several */
export const aboutRecord = (key: string, error: unknown): unknown =>
  error instanceof Problem
    ? new Problem(
        error.code,
        `The record ${quote(key.slice(0, 200))}: ${error.message} Nothing was changed.`,
        { headers: error.headers, members: { ...error.members, key: key.slice(0, 500) } },
      )
    : error

/** A value that was looked for among keys that the caller may not read. */
interface Guess {
  readonly field: string
  readonly value: unknown
}

/** Maximum number of guesses that an event names. */
const maxGuesses = 30

/**
 * Records guesses that no written record shows, so that an administrator sees them (R14).
 * @param object a record that they were made for
 */
export async function recordGuesses(
  trail: Pick<Trail, 'record'>,
  request: FastifyRequest,
  object: string,
  guesses: readonly Guess[],
): Promise<void> {
  if (guesses.length === 0) return
  const named = Map.groupBy(guesses.slice(0, maxGuesses), ({ field }) => field)
  const after = [...named].map(([field, some]) => [field, some.map(({ value }) => shown(value))] as const)
  await trail.record({
    ...eventOf(request.caller, request, { event: 'record.change', outcome: 'failure', object }),
    ...(guesses.length > 1 && { count: guesses.length }),
    changes: { before: null, after: Object.fromEntries(after) },
  })
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
