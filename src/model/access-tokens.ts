import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Access tokens for programs (docs/decisions/0040). All times are milliseconds since 1970. */

/** Parts of the API, each of which a token may be limited to. */
export const apiParts = ['query', 'items', 'people', 'administration', 'processes'] as const
export type ApiPart = (typeof apiParts)[number]

/**
 * Methods that a token may be limited to. HEAD is included in GET, and a query sent by POST counts as a read.
 */
export const scopeMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type ScopeMethod = (typeof scopeMethods)[number]

export interface Scope {
  /** The allowed methods; `['GET']` allows only reading. */
  readonly methods: readonly ScopeMethod[]
  readonly parts: readonly ApiPart[]
  /** The only entities of the query endpoints that the token may use; null: all that its eperson may use. */
  readonly entities: readonly string[] | null
}

/** An access token's id and scope. */
export interface Grant {
  readonly id: string
  readonly scope: Scope
}

export interface AccessToken extends Grant {
  readonly eperson: string
  /** The name that its owner gave it. */
  readonly name: string
  /** Addresses and CIDRs from which it may be used; empty: from anywhere. */
  readonly networks: readonly string[]
  readonly created: number
  readonly expires: number
  /** Time of the last use, accurate to one minute; null: never used. */
  readonly used: number | null
}

export interface StoredAccessToken extends AccessToken {
  /** SHA-256 of the whole token. */
  readonly hash: Uint8Array
}

/** Maximum number of access tokens of one eperson. */
export const maxAccessTokens = 50
export const maxTokenName = 100
export const maxTokenNetworks = 20
export const maxTokenEntities = 50

const prefix = 'carrel_pat_'
const [idLength, secretLength, sumLength] = [12, 43, 6]
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${idLength + secretLength + sumLength}}$`)
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const base = BigInt(digits.length)

/** True if the text is meant as an access token, well-formed or not. */
export const isAccessToken = (token: string): boolean => token.startsWith(prefix)

/** Hides access tokens in a path before it is logged, because a careless client may have put one there. */
export const hideAccessTokens = (path: string): string => path.replace(/carrel_pat_\w+/gi, `${prefix}…`)

/** Returns the part of a token that is not secret, by which its owner recognizes it in lists. */
export const shownAccessToken = (id: string): string => `${prefix}${id}`

/** Makes a new token. Its text is shown only once. */
export function newAccessToken(): {
  readonly id: string
  readonly token: string
  readonly hash: Uint8Array
} {
  const id = inBase62(randomBytes(16), idLength)
  // 43 digits hold 256 bits (62^43 > 2^256).
  const start = `${prefix}${id}${inBase62(randomBytes(32), secretLength)}`
  const token = `${start}${checksum(start)}`
  return { id, token, hash: hashOfToken(token) }
}

/**
 * @returns the id in a well-formed token; undefined for any other text, so that the store need not be asked
 */
export function idIn(token: string): string | undefined {
  if (!pattern.test(token) || checksum(token.slice(0, -sumLength)) !== token.slice(-sumLength))
    return undefined
  return token.slice(prefix.length, prefix.length + idLength)
}

export const hashOfToken = (token: string): Uint8Array => hash('sha256', token, 'buffer')

/**
 * Returns a checksum that tells a token from a text that only looks like one. It does not
 * protect against forged tokens.
 */
const checksum = (text: string) =>
  inBase62(Buffer.from(crc32(text).toString(16).padStart(8, '0'), 'hex'), sumLength)

/** Returns the last base-62 digits of a number. */
function inBase62(bytes: Uint8Array, length: number): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  while (text.length < length) {
    text = `${digits[Number(rest % base)]}${text}`
    rest /= base
  }
  return text
}
