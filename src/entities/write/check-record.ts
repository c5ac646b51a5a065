import type { FastifyRequest } from 'fastify'
import { exactBody } from '../../http/json-body.ts'
import { quote, suggestion } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { checkerOf, completerOf, constraintsOf } from '../../import/constraints.ts'
import { shown } from '../../import/import-error.ts'
import { fits, kindOf } from '../../import/types.ts'
import { isObject, type Members, parseWritten } from '../../lib/json.ts'
import { memo } from '../../lib/memo.ts'
import type { Entity } from '../../model/entities.ts'
import { keyValues, recordKey } from '../../model/record-changes.ts'

/**
 * Checks a changed record by the rules of an import (D12). It may only have the fields of its entity: a new
 * one would change the entity for every reader.
 * @param key key of the record, which can't change
 * @returns the JSON to store
 * @throws Problem 422 that names the field; 413 for a record that is too large
 */
export function checkedJson(entity: Entity, record: unknown, key: string): string {
  if (!isObject(record)) throw new Problem('record-refused', 'A record is a JSON object.')
  requireFlat(printed(record), 'record-refused')
  const known = new Map(entity.fields.map(field => [field.name, field]))
  for (const [name, value] of Object.entries(record)) {
    const field = known.get(name)
    if (!field) throw unknownField(entity, name)
    const kind = kindOf(value)
    if (kind !== undefined && !fits(kind, field.type))
      throw refusedAt(
        name,
        `The field ${quote(name)} of ${entity.name} is ${field.type}, and the value is ${kind}: ${shown(value)}.`,
        { legal: [field.type] },
      )
  }
  constrained(entity).check(record, ({ field, message, legal }) => {
    throw refusedAt(field, `${message[0]?.toUpperCase()}${message.slice(1)}.`, legal && { legal })
  })
  requireKey(entity, record, key)
  const json = printed(record)
  if (Buffer.byteLength(json) > maxRecord)
    throw new Problem('body-too-large', 'The record would be larger than 1 MiB.')
  return json
}

/** The checks of an entity's constraints, made once for each state of its declarations. */
const constrained = memo((entity: Entity) => {
  const constraints = constraintsOf(entity)
  return { check: checkerOf(constraints), completed: completerOf(constraints) }
})

/** Returns a new record with the defaults of the fields that it doesn't have. */
export const completed = (entity: Entity, record: unknown): unknown =>
  isObject(record) ? constrained(entity).completed(record) : record

/** Writes a record as JSON, which fails if a patch has nested values again and again. */
function printed(record: Members): string {
  try {
    return JSON.stringify(record)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Problem('record-refused', 'The record is nested too deeply; flatten it.')
  }
}

function unknownField({ name: entity, fields }: Entity, name: string): Problem {
  const { hint, members } = suggestion(
    name,
    fields.map(field => field.name),
  )
  return refusedAt(name, `${entity} has no field ${quote(name)}.${hint}`, members)
}

function requireKey(entity: Entity, record: Members, key: string): void {
  const names = [entity.key].flat()
  const values = keyValues(entity, record)
  const missing = names.find((_, at) => values[at] === null)
  if (missing !== undefined)
    throw refusedAt(
      missing,
      `The key field ${quote(missing)} is missing or null; every record needs its key.`,
    )
  if (recordKey(entity, values) !== key)
    throw refusedAt(
      names[0] ?? '',
      `The key ${names.join(', ')} is not that of the address; it can’t be changed. Delete the record, and put another one.`,
    )
}

/** Makes the problem of a field that a record can't have so, with a JSON pointer (RFC 6901) to it. */
export const refusedAt = (name: string, detail: string, members: Members = {}): Problem =>
  new Problem('record-refused', detail, {
    members: { pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1').slice(0, 200)}`, ...members },
  })

/** Maximum size of a body and of a record, in bytes. */
export const maxRecord = 1024 * 1024

/** Maximum depth of nested arrays and objects, as in imported records. */
const maxDepth = 1_000

/**
 * Reads the JSON of a body, with all digits of its numbers.
 * @throws Problem 400 for a body that isn't JSON in UTF-8, or is nested too deeply
 */
export const readJson = (request: FastifyRequest): unknown =>
  exactBody(request, text => {
    requireFlat(text, 'bad-request')
    return parseWritten(text)
  })

/**
 * @param code code of the problem
 * @throws Problem for JSON that would take very much memory to read, or couldn't be written again
 */
function requireFlat(json: string, code: 'bad-request' | 'record-refused'): void {
  if (depthOf(json) > maxDepth)
    throw new Problem(
      code,
      `Arrays and objects are nested more than ${maxDepth.toLocaleString('en')} levels deep; flatten them.`,
    )
}

function depthOf(json: string): number {
  let depth = 0
  let most = 0
  let isText = false
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === backslash && isText) at++
    else if (code === quoteMark) isText = !isText
    else if (isText) continue
    else if (code === openBracket || code === openBrace) most = Math.max(most, ++depth)
    else if (code === closeBracket || code === closeBrace) depth--
  }
  return most
}

const quoteMark = 0x22
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
