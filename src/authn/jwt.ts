import { type Mac, sameText } from '../lib/hmac.ts'

/**
 * JSON Web Tokens (RFC 7519) of the one form that Carrel issues: JWS Compact Serialization (RFC 7515 §3.1), HS256,
 * always the same header (docs/decisions/0004). Verifying compares with what the service itself would have written,
 * so that nothing in a token can choose how it is verified (RFC 8725 §3.1, contract T8).
 */
export interface Claims {
  /** The eperson's uuid. */
  readonly eid: string
  /** The ids of the special groups that the login gave. */
  readonly sg: readonly string[]
  /** Seconds since 1970, with a fraction (RFC 7519 §2, NumericDate). */
  readonly exp: number
}

const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')

/** No token of ours comes near this; a longer one isn't looked at. */
const longest = 8 * 1024

export function signJwt(claims: Claims, key: Mac): string {
  const input = `${header}.${encodeClaims(claims)}`
  return `${input}.${signature(input, key)}`
}

const encodeClaims = ({ eid, sg, exp }: Claims) =>
  Buffer.from(JSON.stringify({ eid, sg, exp })).toString('base64url')

/** A token whose form is right and whose signature is still to be checked. */
export interface UnverifiedJwt {
  readonly claims: Claims
  isSignedWith(key: Mac): boolean
}

/** @returns undefined for everything that is not of the form that Carrel issues */
export function readJwt(token: string): UnverifiedJwt | undefined {
  if (token.length > longest) return undefined
  const [first, second, third, ...rest] = token.split('.')
  if (first !== header || !second || !third || rest.length > 0) return undefined
  const claims = readClaims(Buffer.from(second, 'base64url'))
  // Whoever has a key writes the payload as we do: no other member, none twice, no other spelling.
  if (!claims || encodeClaims(claims) !== second) return undefined
  // The whole encoded signature is compared: another spelling of the same bytes is another token (RFC 7515 §2).
  return { claims, isSignedWith: key => sameText(signature(`${first}.${second}`, key), third) }
}

const signature = (input: string, key: Mac) => key(input).toString('base64url')

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
