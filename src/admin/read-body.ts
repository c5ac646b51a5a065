import type { FastifyRequest } from 'fastify'
import { quote } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { parseExact } from '../lib/json.ts'
import { refused, unknownName } from './refused.ts'

/** The members of a JSON object that a client sent. */
export type Members = ReadonlyMap<string, unknown>

/**
 * The JSON object in the body of a request.
 * @param types media types that it may have
 * @throws Problem 415, 400 for what is not JSON, 422 for what is no object
 */
export function readObject(request: FastifyRequest, types: readonly string[]): Members {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!types.includes(type))
    throw new Problem('unsupported-media-type', `The body must be ${types.join(' or ')}.`, {
      members: { legal: types },
    })
  const value = parse((request.body as Buffer | undefined) ?? Buffer.alloc(0))
  if (!isObject(value)) throw refused('', 'The body must be a JSON object.')
  return new Map(Object.entries(value))
}

function parse(body: Uint8Array): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new Problem('bad-request', 'The body is not UTF-8.')
  }
  try {
    return parseExact(text)
  } catch (error) {
    // The parser's message quotes the body; only its position is told.
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1]
    const where = position === undefined ? '' : ` at character ${Number(position) + 1}`
    throw new Problem('bad-request', `The body is not well-formed JSON${where}.`)
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @throws Problem 422 for a member that isn't known */
export function requireKnown(members: Members, legal: readonly string[], ignored: readonly string[]): void {
  for (const name of members.keys())
    if (!legal.includes(name) && !ignored.includes(name))
      throw unknownName(`/${name.slice(0, 200)}`, 'member', name, legal)
}

/** @throws Problem 422 unless the value is a text of some length that can be stored and shown */
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

/** @throws Problem 422 unless the value is an array of 1 to `max` */
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

/** @throws Problem 422 unless the value is an object with these members, all others being unknown */
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
