import type { FastifyRequest } from 'fastify'
import { isRange } from '../config/settings.ts'
import { jsonBody } from '../http/json-body.ts'
import { Problem } from '../http/problems.ts'
import { isObject, type Members } from '../lib/json.ts'
import {
  apiParts,
  maxTokenEntities,
  maxTokenName,
  maxTokenNetworks,
  type Scope,
  scopeMethods,
} from '../model/access-tokens.ts'

/** A new access token as its owner wants it, checked. */
export interface WantedToken {
  readonly name: string
  readonly scope: Scope
  readonly networks: readonly string[]
  /** Milliseconds since 1970. */
  readonly expires: number
}

/** The members given by a client or a command, not checked yet. */
export type GivenToken = Members

/** Limits of a token's end. Times are in milliseconds since 1970. */
export interface Bounds {
  readonly now: number
  /** Maximum lifetime in ms. */
  readonly longest: number
}

/** Default lifetime in ms. */
const usual = 30 * 24 * 3600 * 1000
const members = ['name', 'methods', 'parts', 'entities', 'networks', 'expires']

/** A member that is wrong, and what would be right. */
export class WrongMember extends Error {}

/** Reads a new access token from a request's body. @throws Problem 415, 400 or 422 */
export function readTokenBody(request: FastifyRequest, bounds: Bounds): WantedToken {
  const given = jsonBody(request)
  if (!isObject(given))
    throw new Problem('access-token-invalid', `The body must be an object with ${members.join(', ')}.`)
  try {
    return readToken(given, bounds)
  } catch (error) {
    if (error instanceof WrongMember) throw new Problem('access-token-invalid', error.message)
    throw error
  }
}

/** Checks the members of a new access token. @throws WrongMember */
export function readToken(given: GivenToken, { now, longest }: Bounds): WantedToken {
  const unknown = Object.keys(given).find(key => !members.includes(key))
  if (unknown !== undefined)
    throw new WrongMember(`${JSON.stringify(unknown)} is not one of ${members.join(', ')}.`)
  const entities = given.entities == null ? null : listOf(given, 'entities', [], isEntity, maxTokenEntities)
  const parts = listOf(given, 'parts', entities ? ['query'] : apiParts, isOneOf(apiParts), apiParts.length)
  if (entities && parts.some(part => part !== 'query'))
    throw new WrongMember('With entities, parts must be ["query"]: entities limit nothing else.')
  return {
    name: nameOf(given.name),
    scope: {
      methods: listOf(given, 'methods', ['GET'], isOneOf(scopeMethods), scopeMethods.length),
      parts,
      entities,
    },
    networks: listOf(given, 'networks', [], isNetwork, maxTokenNetworks),
    expires: given.expires == null ? now + Math.min(usual, longest) : expiryOf(given.expires, now, longest),
  }
}

interface Element<T extends string> {
  readonly is: (text: string) => text is T
  readonly takes: string
}

const isOneOf = <T extends string>(legal: readonly T[]): Element<T> => ({
  is: (text): text is T => (legal as readonly string[]).includes(text),
  takes: legal.join(', '),
})
const isNetwork: Element<string> = {
  is: (text): text is string => isRange(text),
  takes: 'addresses and networks such as 192.0.2.0/24',
}
const isEntity: Element<string> = {
  is: (text): text is string => /^[A-Za-z0-9_-]{1,100}$/.test(text),
  takes: 'names of entities',
}

/** Reads a list and drops repeats. An empty list is allowed only where it has a meaning: `networks`. */
function listOf<T extends string>(
  given: GivenToken,
  name: 'methods' | 'parts' | 'entities' | 'networks',
  fallback: readonly T[],
  { is, takes }: Element<T>,
  max: number,
): readonly T[] {
  const value = given[name]
  if (value == null) return fallback
  const wrong = new WrongMember(`${name} must be an array of at most ${max} of ${takes}.`)
  if (!Array.isArray(value) || value.length > max) throw wrong
  if (value.length === 0 && name !== 'networks')
    throw new WrongMember(`${name} must not be empty. Leave it out for the default.`)
  const all = value.map(one => {
    if (typeof one !== 'string' || !is(one)) throw wrong
    return one
  })
  return [...new Set(all)]
}

function nameOf(value: unknown): string {
  const name = typeof value === 'string' ? value.trim() : ''
  if (name === '' || name.length > maxTokenName || /[\p{Cc}\p{Cs}\p{Bidi_Control}]/u.test(name))
    throw new WrongMember(
      `name must be a text of 1 to ${maxTokenName} characters, without control characters.`,
    )
  return name
}

function expiryOf(value: unknown, now: number, longest: number): number {
  const text = typeof value === 'string' ? value : ''
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (!(time > now && time <= now + longest))
    throw new WrongMember(
      `expires must be a time such as ${new Date(now + Math.min(usual, longest)).toISOString()}, in the future and not after ${new Date(now + longest).toISOString()} (CARREL_ACCESS_TOKEN_LIFETIME).`,
    )
  return time
}
