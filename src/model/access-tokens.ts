import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Access tokens for programs (docs/decisions/0040). All times are milliseconds since 1970. */

/** Kinds of what the API has, each of which a token may be limited to. */
export const apiParts = ['query', 'items', 'people', 'administration', 'processes'] as const
export type ApiPart = (typeof apiParts)[number]

/** HEAD comes with GET, and queries by POST are reads. */
export const scopeMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type ScopeMethod = (typeof scopeMethods)[number]

export interface Scope {
  /** `['GET']`: it only reads. */
  readonly methods: readonly ScopeMethod[]
  readonly parts: readonly ApiPart[]
  /** Only these entities of the query endpoints; null: all that its eperson may use. */
  readonly entities: readonly string[] | null
}

/** What a token may do, and where. */
export interface Grant {
  readonly id: string
  readonly scope: Scope
}

export interface AccessToken extends Grant {
  readonly eperson: string
  /** What its owner calls it. */
  readonly name: string
  /** Addresses and CIDRs that it may be used from; empty: from anywhere. */
  readonly networks: readonly string[]
  readonly created: number
  readonly expires: number
  /** Right to a minute; null: never used. */
  readonly used: number | null
}

export interface StoredAccessToken extends AccessToken {
  /** SHA-256 of the whole token. */
  readonly hash: Uint8Array
}

/** Of one eperson. */
export const maxAccessTokens = 50
export const maxTokenName = 100
export const maxTokenNetworks = 20
export const maxTokenEntities = 50

const prefix = 'carrel_pat_'
const [idLength, secretLength, sumLength] = [12, 43, 6]
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${idLength + secretLength + sumLength}}$`)
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const base = BigInt(digits.length)

/** Whether somebody means an access token, well-formed or not. */
export const isAccessToken = (token: string): boolean => token.startsWith(prefix)

/** For the log: a careless client may put its token into a path. */
export const hideAccessTokens = (path: string): string => path.replace(/carrel_pat_\w+/gi, `${prefix}…`)

/** What its owner knows it by, in lists: the part that is no secret. */
export const shownAccessToken = (id: string): string => `${prefix}${id}`

/** A new token, which is shown once. */
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

/** @returns the id in a well-formed token; undefined for any other text, which no store need be asked about */
export function idIn(token: string): string | undefined {
  if (!pattern.test(token) || checksum(token.slice(0, -sumLength)) !== token.slice(-sumLength))
    return undefined
  return token.slice(prefix.length, prefix.length + idLength)
}

export const hashOfToken = (token: string): Uint8Array => hash('sha256', token, 'buffer')

/** Tells a token from a text that looks like one. It is no protection against somebody who makes one up. */
const checksum = (text: string) =>
  inBase62(Buffer.from(crc32(text).toString(16).padStart(8, '0'), 'hex'), sumLength)

/** The last digits of a number. */
function inBase62(bytes: Uint8Array, length: number): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  while (text.length < length) {
    text = `${digits[Number(rest % base)]}${text}`
    rest /= base
  }
  return text
}
