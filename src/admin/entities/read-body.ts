import type { FastifyRequest } from 'fastify'
import { exactBody, requireType } from '../../http/json-body.ts'
import { quote } from '../../http/parameters.ts'
import { isObject, parseExact } from '../../lib/json.ts'
import { refused, unknownName } from './refused.ts'

export type Members = ReadonlyMap<string, unknown>

/**
 * Reads the JSON object in the body of a request. @throws Problem 415, 400 if it is not JSON, 422 if it is no
 * object
 */
export function readObject(request: FastifyRequest, types: readonly string[]): Members {
  requireType(request, types)
  const value = exactBody(request, parseExact)
  if (!isObject(value)) throw refused('', 'The body must be a JSON object.')
  return new Map(Object.entries(value))
}

/** @throws Problem 422 for an unknown member */
export function requireKnown(members: Members, legal: readonly string[], ignored: readonly string[]): void {
  for (const name of members.keys())
    if (!legal.includes(name) && !ignored.includes(name))
      throw unknownName(`/${name.slice(0, 200)}`, 'member', name, legal)
}

/** @throws Problem 422 unless the value is a text of 1 to `max` characters that can be stored and shown */
export function textIn(member: string, value: unknown, max: number): string {
  if (typeof value !== 'string')
    throw refused(member, `${member.slice(1)} must be a text, not ${kindOf(value)}.`)
  if (value.length === 0 || value.length > max)
    throw refused(
      member,
      `${member.slice(1)} must have 1 to ${max.toLocaleString('en')} characters, not ${value.length.toLocaleString('en')}.`,
      { legal: { least: 1, most: max } },
    )
  if (!value.isWellFormed() || /[^\P{Cc}\n\t]/u.test(value))
    throw refused(
      member,
      `${member.slice(1)} has a control character or half of a surrogate pair: ${quote(value)}.`,
    )
  return value
}

/** @throws Problem 422 unless the value is an array of `least` to `max` elements */
export function arrayIn(member: string, value: unknown, max: number, least = 1): readonly unknown[] {
  if (!Array.isArray(value))
    throw refused(member, `${member.slice(1)} must be an array, not ${kindOf(value)}.`)
  if (value.length < least || value.length > max)
    throw refused(
      member,
      `${member.slice(1)} must have ${least} to ${max.toLocaleString('en')} elements, not ${value.length.toLocaleString('en')}.`,
      { legal: { least, most: max } },
    )
  return value
}

/** @throws Problem 422 unless the value is an object without members other than `legal` */
export function objectIn(
  member: string,
  value: unknown,
  legal: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw refused(member, `${member.slice(1)} must be an object, not ${kindOf(value)}.`)
  for (const name of Object.keys(value))
    if (!legal.includes(name)) throw unknownName(`${member}/${name.slice(0, 200)}`, 'member', name, legal)
  return value
}

export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
