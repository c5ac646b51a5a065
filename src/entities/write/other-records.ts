import type { FastifyRequest } from 'fastify'
import { clientOf } from '../../http/connection.ts'
import { quote } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { shown } from '../../import/import-error.ts'
import { exactText, type Members } from '../../lib/json.ts'
import { textForm } from '../../lib/sort-keys.ts'
import type { Entity, Field } from '../../model/entities.ts'
import type { Constant } from '../../model/plan.ts'
import { keyValues, recordKey } from '../../model/record-changes.ts'
import { constantFor } from '../../query/check/constants.ts'
import { whole } from '../../query/check/fields.ts'
import { oneOf } from '../../query/check/normal-form.ts'
import { keyTextOf } from '../../query/keys.ts'
import { type Json, nodeOf, QueryError } from '../../query/language/node.ts'
import type { KnownEntity } from '../../query/plan.ts'
import type { KnownToWrite } from '../../query/readable.ts'
import type { Entities, RecordEntity } from '../../storage/entities.ts'
import type { Reliance } from '../../storage/single-records.ts'
import {
  keyOf,
  type Reference,
  referencesOf,
  referencesTo,
  refOf,
  rowsOf,
  uniqueFields,
  valuesPlan,
} from '../references.ts'
import { refusedAt } from './check-record.ts'

/** Constraints between a record and others: unique values and references (docs/decisions/0076). */

/** A write that is checked against other records. */
export interface StepWrite {
  /** The name of the record. */
  readonly key: string
  readonly before: Members | undefined
  /** null: it is deleted. */
  readonly after: Members | null
}

/** A key that was looked for in an entity that the caller may not read. */
export interface Guess {
  readonly field: string
  /** The record that would have it, as its address has it. */
  readonly key: string
  readonly value: unknown
}

/** A write of a step that can't be made. */
export class StepRefused extends Error {
  readonly write: StepWrite
  readonly problem: Problem

  constructor(write: StepWrite, problem: Problem) {
    super(problem.message)
    this.write = write
    this.problem = problem
  }
}

/** A value that is looked for, and the first write that has it. */
interface Wanted {
  readonly value: unknown
  readonly write: StepWrite
}

/** Number of values that are looked up at a time, after which others have their turn. */
const atATime = 1_000

/**
 * Checks writes that are made in one step against all other records. What holds after the step counts, whatever its
 * order is.
 * @param guesses receives each key that is looked for in an entity that the caller may not read
 * @returns what was seen, on which the step relies
 * @throws StepRefused with Problem 422 for a value that is taken, or that is the key of no record; 409 for a record that
 * others reference
 */
export async function checkStep(
  entities: Entities,
  request: FastifyRequest,
  known: KnownToWrite,
  writes: readonly StepWrite[],
  guesses: Guess[],
): Promise<readonly Reliance[]> {
  const { entity, entities: all } = known
  const records = new Map(writes.map(({ key, after }) => [key, after]))
  const except = [...records.keys()]
  const relies: Reliance[] = []
  const step: Step = { entities, request, known, entity, writes, guesses, records, except, relies }

  for (const field of uniqueFields(entity)) {
    requireDifferent(entity, field, writes)
    const nameOf = keyOf(field)
    const wanted = changedValues(field, nameOf, writes)
    for await (const [row, value] of rowsWith(step, entity, field, wanted)) {
      const other = keyValues(entity, row)
      const write = wanted.get(nameOf(value))?.write
      // Records of the step have other values from now on.
      if (write && !records.has(recordKey(entity, other)))
        throw new StepRefused(write, taken(entity, field, value, other))
    }
    relyOn(step, entity, field, wanted)
  }
  for (const reference of referencesOf(entity, all)) await requireThere(step, reference)
  for (const reference of referencesTo(entity, all)) await requireUnreferenced(step, reference)
  return relies
}

/** What is checked of a step, and what it is found to rely on. */
interface Step {
  readonly entities: Entities
  readonly request: FastifyRequest
  readonly known: KnownEntity
  readonly entity: RecordEntity
  readonly writes: readonly StepWrite[]
  readonly guesses: Guess[]
  /** What the step makes of records, by their names. */
  readonly records: ReadonlyMap<string, StepWrite['after']>
  readonly except: readonly string[]
  readonly relies: Reliance[]
}

/** Relies on it that no other record is written with one of these values. */
function relyOn(
  { entity, except, relies }: Step,
  { name, source: { version } }: RecordEntity,
  field: Field,
  wanted: Map<string, Wanted>,
): void {
  if (wanted.size === 0) return
  const values = [...wanted.keys()]
  const since = { kind: 'unwritten', field, values, ...(name === entity.name && { except }) } as const
  relies.push({ entity: name, version, since })
}

/** Reads the rows of key and value of the records that have one of the values. */
async function* rowsWith(
  { entities, request }: Step,
  of: RecordEntity,
  field: Field,
  wanted: Map<string, Wanted>,
): AsyncIterable<readonly [row: Members, value: unknown]> {
  const keys = [of.key].flat().flatMap(name => of.fields.find(one => one.name === name) ?? [])
  const columns = [field, ...keys.filter(({ name }) => name !== field.name)]
  const values = [...wanted.values()]
  for (let from = 0; from < values.length; from += atATime) {
    const constants = values.slice(from, from + atATime).map(one => constantOf(of, field, one))
    const where = oneOf(refOf(field), constants, false)
    for await (const row of rowsOf(entities, valuesPlan(of, columns, { where }), clientOf(request)))
      yield [row, row[field.name]]
  }
}

async function requireThere(step: Step, { field, to, key }: Reference): Promise<void> {
  const { entity, guesses, known, records, relies, writes } = step
  const nameOf = keyOf(key)
  const wanted = changedValues(field, nameOf, writes)
  const mayKnow = known.mayRead(to)
  const missing = ({ value, write }: Wanted) =>
    new StepRefused(
      write,
      refusedAt(
        field.name,
        mayKnow
          ? `The field ${quote(field.name)} of ${entity.name} references ${to.name}, which has no record ${shown(value)}.`
          : `The field ${quote(field.name)} of ${entity.name} references records of another entity, and none has the key ${shown(value)}. Those who may read that entity know the keys.`,
      ),
    )
  if (to.name === entity.name)
    for (const [name, one] of wanted) {
      const inStep = records.get(recordKey(entity, [one.value]))
      if (inStep === null) throw missing(one)
      if (inStep) wanted.delete(name)
    }
  if (!mayKnow) {
    const had = new Set(
      writes.flatMap(({ before }) => {
        const value = valueIn(before, field.name)
        return value === null ? [] : nameOf(value)
      }),
    )
    for (const [name, { value, write }] of wanted)
      if (!had.has(name))
        guesses.push({ field: field.name, key: keyTextOf(entity, write.after ?? {}), value })
  }
  const left = new Map(wanted)
  for await (const [, value] of rowsWith(step, to, key, wanted)) left.delete(nameOf(value))
  const [first] = left.values()
  if (first) throw missing(first)
  if (wanted.size > 0) relies.push({ entity: to.name, version: to.source.version, since: { kind: 'kept' } })
}

async function requireUnreferenced(step: Step, { from, field, key }: Reference): Promise<void> {
  const { entity, known, records, writes } = step
  const nameOf = keyOf(key)
  const own = (write: StepWrite) => keyValues(entity, write.before ?? {})[0]
  const deleted = writes.filter(({ after }) => after === null)
  const wanted = new Map(deleted.map(write => [nameOf(own(write)), { value: own(write), write }]))
  const isSelf = from.name === entity.name
  let found: { readonly write: StepWrite; readonly keys: string[] } | undefined
  for await (const [row, value] of rowsWith(step, from, field, wanted)) {
    const name = recordKey(from, keyValues(from, row))
    const write = wanted.get(nameOf(value))?.write
    const after = isSelf && records.has(name) ? valueIn(records.get(name), field.name) : value
    if (!write || after === null || nameOf(after) !== nameOf(value)) continue
    found ??= { write, keys: [] }
    if (found.write === write) found.keys.push(shownKey(keyValues(from, row)))
    if (found.keys.length > some) break
  }
  if (found) throw new StepRefused(found.write, referenced(from, field, found.keys, known.mayRead(from)))
  relyOn(step, from, field, wanted)
}

/** @returns the value of a field; null: there is none */
const valueIn = (record: Members | null | undefined, name: string): unknown =>
  record && Object.hasOwn(record, name) ? (record[name] ?? null) : null

/** The values of a field that a step changes, by their names. */
function changedValues(
  field: Field,
  nameOf: (value: unknown) => string,
  writes: readonly StepWrite[],
): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>()
  for (const write of writes) {
    const [was, value] = [valueIn(write.before, field.name), valueIn(write.after, field.name)]
    if (value === null || (was !== null && nameOf(was) === nameOf(value))) continue
    if (!wanted.has(nameOf(value))) wanted.set(nameOf(value), { value, write })
  }
  return wanted
}

/** @throws StepRefused for the second record of a step that has a value */
function requireDifferent(entity: RecordEntity, field: Field, writes: readonly StepWrite[]): void {
  const nameOf = keyOf(field)
  const seen = new Map<string, Members>()
  for (const write of writes) {
    const value = valueIn(write.after, field.name)
    if (write.after === null || value === null) continue
    const other = seen.get(nameOf(value))
    if (other) throw new StepRefused(write, taken(entity, field, value, keyValues(entity, other)))
    seen.set(nameOf(value), write.after)
  }
}

const taken = (entity: RecordEntity, field: Field, value: unknown, other: readonly unknown[]) =>
  refusedAt(
    field.name,
    `The field ${quote(field.name)} of ${entity.name} is unique, and the record ${shownKey(other)} has the value ${shown(value)} already.`,
  )

/** Number of referencing records that a refusal names. */
const some = 10

const referenced = ({ name }: RecordEntity, field: Field, keys: readonly string[], mayKnow: boolean) =>
  new Problem(
    'record-referenced',
    mayKnow
      ? `Records of ${name} reference this one in ${quote(field.name)}: ${keys.slice(0, some).join(', ')}${keys.length > some ? ' and more' : ''}. Change or delete those first.`
      : 'Records of another entity reference this one. Those who may read that entity change or delete them first.',
    mayKnow
      ? { members: { referenced: { entity: name, field: field.name, keys: keys.slice(0, some) } } }
      : {},
  )

const shownKey = (values: readonly unknown[]) =>
  values
    .map(value => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join()
    .slice(0, 200)

/** A wanted value as a constant of a query. @throws StepRefused for one that no query takes, such as a very long number */
function constantOf(of: RecordEntity, field: Field, { value, write }: Wanted): Constant {
  const { list: _, ...plain } = whole(field).ref
  try {
    const node = nodeOf(nodeValue(field, value))
    return constantFor({ ...whole(field), ref: plain }, node, { name: of.name, entity: of })
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    throw new StepRefused(write, refusedAt(field.name, error.message))
  }
}

/** A value as a constant of a query. A field of text holds other values, too, which are compared as text. */
function nodeValue({ type }: Pick<Entity['fields'][number], 'type'>, value: unknown): Json {
  if (type === 'text') return textForm(value)
  if (typeof value === 'number' || exactText(value) !== undefined) return { number: JSON.stringify(value) }
  return value as Json
}
