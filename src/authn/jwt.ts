import { type Mac, sameText } from '../lib/hmac.ts'

/**
 * JSON Web Tokens (RFC 7519) in the one form that Carrel issues: JWS Compact Serialization (RFC 7515 §3.1),
 * HS256, always the same header except for the key's name (docs/decisions/0004). A token is compared with the
 * one that the service itself would have written, so nothing in a token can influence how it is verified (RFC
 * 8725 §3.1, contract T8).
 */
interface Claims {
  /** The eperson's UUID. */
  readonly eid: string
  /** The ids of the special groups that came with the login. */
  readonly sg: readonly string[]
  /** Seconds since 1970 (RFC 7519 §2, NumericDate): whole in login tokens, with a fraction in others (T2). */
  readonly exp: number
}

/**
 * The encoded header. It names the key (`kid`, RFC 7515 §4.1.4) by a value that only the token's issuer knew:
 * the start of the session, in ms since 1970.
 */
const headerOf = (begun: number) =>
  Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid: String(begun) })).toString('base64url')

/** Maximum length of a token that is parsed, in characters: more than any token that Carrel issues. */
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
  /** Start of the session, in ms since 1970. */
  readonly begun: number
  isSignedWith(key: Mac): boolean
}

/** @returns undefined if the token doesn't have the form that Carrel issues */
export function readJwt(token: string): UnverifiedJwt | undefined {
  if (token.length > maxLength) return undefined
  const [first, second, third, ...rest] = token.split('.')
  if (!first || !second || !third || rest.length > 0) return undefined
  const begun = readBegun(first)
  if (begun === undefined || first !== headerOf(begun)) return undefined
  const claims = readClaims(Buffer.from(second, 'base64url'))
  // Requires the exact payload that Carrel writes: no other or repeated members, no other encoding of the
  // same values.
  if (!claims || encodeClaims(claims) !== second) return undefined
  // Compares the encoded signature, because another encoding of the same bytes is another token (RFC 7515
  // §2).
  return { claims, begun, isSignedWith: key => sameText(signature(`${first}.${second}`, key), third) }
}

const signature = (input: string, key: Mac) => key(input).toString('base64url')

/** Extracts the number; the whole header is compared afterwards. */
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
