import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { pathOf } from '../http/addresses.ts'
import { quote } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { exactText, parseWritten } from '../lib/json.ts'
import type { Entity, FieldType, Page } from '../model/entities.ts'
import { type Condition, listOf, type Plan } from '../model/plan.ts'
import { keyValues, recordKey } from '../model/record-changes.ts'
import { constantFor } from './check/constants.ts'
import { fieldNamed, whole } from './check/fields.ts'
import { combined } from './check/normal-form.ts'
import { type Json, nodeOf } from './language/node.ts'
import { telling } from './plan.ts'

/** Splits the path below the query base. The router decodes a slash in a key, so the path is read again. */
export function segmentsOf(
  request: FastifyRequest,
  { queryBase }: Pick<Config, 'queryBase'>,
): readonly string[] {
  try {
    return pathOf(request.url)
      .slice(queryBase.length)
      .replace(/^\/|\/$/g, '')
      .split('/')
      .map(decodeURIComponent)
  } catch {
    throw new Problem('bad-request', 'The address has bad percent-encoding.')
  }
}

/**
 * Makes the condition that a record has this key. The parts of a key of several fields have commas between
 * them; a comma or a backslash inside a part is written after a backslash.
 * @throws Problem 404 for a key that no record can have
 */
export function keyCondition(entity: Entity, key: string): readonly Json[] {
  const names = [entity.key].flat()
  const conditions = keyConstants(entity, key).map((value, at): readonly Json[] => [
    '=',
    names[at] ?? '',
    value,
  ])
  const [only] = conditions
  return only && conditions.length === 1 ? only : ['and', ...conditions]
}

/**
 * Returns the values of the key fields in a record with this key.
 * @throws Problem 404 for a key that no record can have
 */
export const valuesOfKey = (entity: Entity, key: string): readonly unknown[] =>
  valuesOf(keyConstants(entity, key))

const valuesOf = (constants: readonly Json[]): readonly unknown[] =>
  constants.map(value =>
    typeof value === 'object' && value !== null && 'number' in value ? parseWritten(value.number) : value,
  )

function keyConstants(entity: Entity, key: string): readonly Json[] {
  const names = [entity.key].flat()
  const parts = names.length === 1 ? [key] : partsOf(key)
  if (parts.length !== names.length)
    throw new Problem(
      'not-found',
      `A key of ${entity.name} has ${names.length} parts with commas between them: ${names.join()}.`,
    )
  return names.map((name, at) => {
    const type = entity.fields.find(field => field.name === name)?.type
    const value = constantOf(type, parts[at] ?? '')
    if (value === undefined) throw notFound(entity, key)
    return value
  })
}

/** Returns the key of a record as its address has it. */
export function keyTextOf(entity: Entity, record: Readonly<Record<string, unknown>>): string {
  const parts = keyValues(entity, record).map(value =>
    typeof value === 'string' ? value : (exactText(value) ?? JSON.stringify(value)),
  )
  const [only = ''] = parts
  return parts.length === 1 ? only : parts.map(part => part.replaceAll(/[\\,]/g, '\\$&')).join(',')
}

/** Maximum number of characters of the object of an audit event. */
const maxObject = 500

/**
 * Names a record in the audit trail. Two records have two names: where the key is too long, its end is
 * replaced by a hash.
 * @param record with the values of its key; or the key as an address has it
 */
export function objectOf(entity: Entity, record: Readonly<Record<string, unknown>> | string): string {
  const key = typeof record === 'string' ? record : keyTextOf(entity, record)
  const whole = `${entity.name}/${key}`
  return whole.length <= maxObject ? whole : `${whole.slice(0, 450)}…${hash('sha256', whole, 'base64url')}`
}

const partsOf = (key: string): readonly string[] =>
  key.match(/(?:\\.|[^\\,])+|(?<=,|^)(?=,|$)/g)?.map(part => part.replace(/\\(.)/g, '$1')) ?? []

/** Reads a part of a key as a value of the field's type; undefined if it isn't one. */
function constantOf(type: FieldType | undefined, text: string): Json | undefined {
  const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)
  switch (type) {
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : undefined
    case 'integer':
    case 'number':
      return isNumber ? { number: text } : undefined
    case 'date-time':
      return /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+]\d\d:\d\d)$/.test(text) ? text : undefined
    case 'json':
      return isNumber ? { number: text } : text
    default:
      return text
  }
}

const howToFollow =
  ' Changes of the entity are at this address with the parameter since: a snapshot, or now for those to come.'

/** The member `error` is for PuppetDB's clients. */
export function notFound({ name }: Pick<Entity, 'name'>, key: string): Problem {
  const detail = `No information is known about ${name} ${quote(key)}.${key === 'changes' ? howToFollow : ''}`
  return new Problem('not-found', detail, { members: { error: detail } })
}

/**
 * Makes the arguments of `Entities.record`: a plan for the record with this key, and a function for its name. The default
 * condition doesn't apply to a record that is named by its address (Q25): in PuppetDB, an inactive node keeps
 * its address, too.
 * @throws Problem 404 or 400 for a key that no record can have
 */
export function keyPlan(entity: Entity, key: string): readonly [plan: Plan, name: () => string] {
  const names = [entity.key].flat()
  const constants = keyConstants(entity, key)
  const equal = names.map((name, at): Condition => {
    const field = fieldNamed(name, entity)
    if (!field) throw notFound(entity, key)
    const found = whole(field)
    const value = telling('', () =>
      constantFor(found, nodeOf(constants[at] ?? null), { name: entity.name, entity }),
    )
    return { kind: 'compare', field: found.ref, operator: '=', value, negated: false }
  })
  const [only] = equal
  const where = only && equal.length === 1 ? only : combined('and', equal)
  return [{ ...listOf(entity, oneRecord), where }, () => recordKey(entity, valuesOf(constants))]
}

const oneRecord: Page = { order: [], offset: 0, limit: 1, total: false }

/** Entities of PuppetDB, with the fields whose values follow in an address, as in `/facts/<name>/<value>`. */
const puppetEntities: Readonly<Record<string, readonly string[]>> = {
  facts: ['name', 'value'],
  resources: ['type', 'title'],
}

/**
 * Returns the fields whose values follow the entity in an address that lists records (Q24); undefined if a
 * key follows, as it nearly always does.
 */
export function fieldsInAddress({ name, fields, key }: Entity): readonly string[] | undefined {
  const names = puppetEntities[name]
  // An imported entity of that name may have a key of one field; its addresses are those of records.
  if (!names || [key].flat().length === 1) return undefined
  return names.every(one => fields.some(field => field.name === one)) ? names : undefined
}
