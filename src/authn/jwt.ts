import { type Mac, sameText } from '../lib/hmac.ts'

/**
 * JSON Web Tokens (RFC 7519) in the one form that Carrel issues: JWS Compact Serialization (RFC 7515 §3.1), HS256, always
 * the same header but for the key's name (docs/decisions/0004). A token is compared with what the service itself would have written, so nothing
 * in a token can influence how it is verified (RFC 8725 §3.1, contract T8).
 */
export interface Claims {
  /** The eperson's uuid. */
  readonly eid: string
  /** The ids of the special groups that came with the login. */
  readonly sg: readonly string[]
  /** Seconds since 1970 (RFC 7519 §2, NumericDate): whole ones in login tokens, with a fraction in others (T2). */
  readonly exp: number
}

/**
 * The header names the key (`kid`, RFC 7515 §4.1.4) by what only the token's issuer knew: when the session began, in ms
 * since 1970. Tokens of versions before docs/decisions/0024 don't have it.
 */
const headerOf = (begun: number | undefined) =>
  Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT', ...(begun && { kid: String(begun) }) })).toString(
    'base64url',
  )
const oldHeader = headerOf(undefined)

/** Longer than any token that Carrel issues; longer ones aren't parsed. */
const maxLength = 8 * 1024

/** @param begun whole milliseconds since 1970; greater than 0 */
export function signJwt(claims: Claims, begun: number, key: Mac): string {
  const input = `${headerOf(begun)}.${encodeClaims(claims)}`
  return `${input}.${signature(input, key)}`
}

const encodeClaims = ({ eid, sg, exp }: Claims) =>
  Buffer.from(JSON.stringify({ eid, sg, exp })).toString('base64url')

/** A well-formed token whose signature is not verified yet. */
export interface UnverifiedJwt {
  readonly claims: Claims
  /** When the session began, in ms since 1970; undefined in tokens of old versions. */
  readonly begun: number | undefined
  isSignedWith(key: Mac): boolean
}

/** @returns undefined if the token doesn't have the form that Carrel issues */
export function readJwt(token: string): UnverifiedJwt | undefined {
  if (token.length > maxLength) return undefined
  const [first, second, third, ...rest] = token.split('.')
  if (!first || !second || !third || rest.length > 0) return undefined
  const begun = first === oldHeader ? undefined : readBegun(first)
  if (first !== headerOf(begun)) return undefined
  const claims = readClaims(Buffer.from(second, 'base64url'))
  // Only the exact payload that Carrel writes: no other or repeated members, no other encoding of the same values.
  if (!claims || encodeClaims(claims) !== second) return undefined
  // The encoded signature is compared: another encoding of the same bytes is another token (RFC 7515 §2).
  return { claims, begun, isSignedWith: key => sameText(signature(`${first}.${second}`, key), third) }
}

const signature = (input: string, key: Mac) => key(input).toString('base64url')

/** Only finds the number: the whole header is compared afterwards. */
function readBegun(header: string): number | undefined {
  const [, digits] = /"kid":"([1-9]\d{0,14})"/.exec(Buffer.from(header, 'base64url').toString()) ?? []
  return digits === undefined ? undefined : Number(digits)
}

function readClaims(payload: Buffer): Claims | undefined {
  let claims: unknown
  try {
    claims = JSON.parse(payload.toString())
  } catch {
    return undefined
  }
  if (typeof claims !== 'object' || claims === null) return undefined
  const { eid, sg, exp } = claims as Partial<Record<keyof Claims, unknown>>
  return typeof eid === 'string' &&
    typeof exp === 'number' &&
    Array.isArray(sg) &&
    sg.every(one => typeof one === 'string')
    ? { eid, sg, exp }
    : undefined
}
