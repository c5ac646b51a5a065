import type { Config } from '../config/config.ts'
import { type Awaitable, andThen } from '../lib/awaitable.ts'
import { sameText } from '../lib/hmac.ts'
import { type AccessToken, type Grant, hashOfToken, idIn } from '../model/access-tokens.ts'
import { accessTokenMethod, type Session } from '../model/accounts.ts'
import type { Measures, RefusalReason } from '../model/measures.ts'
import { type AccessTokens, useInterval } from '../storage/statements/access-tokens.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import { networkOf } from './special-groups.ts'
import type { Verified } from './tokens.ts'

/**
 * Verifies an access token, by which a program authenticates (K1–K4, docs/decisions/0040).
 * @returns undefined for a token that is malformed, unknown, revoked or expired, or is not for this address
 */
export type VerifyAccessToken = (
  token: string,
  address: string | null,
) => Awaitable<ByAccessToken | undefined>

interface ByAccessToken extends Verified {
  readonly grant: Grant
}

interface Parts {
  readonly accessTokens: Pick<AccessTokens, 'find' | 'noteUse'>
  readonly sessions: Sessions
  readonly clock: Clock
  readonly config: Pick<Config, 'accessTokenLifetime'>
  readonly measures: Pick<Measures, 'tokenRefused'>
}

/**
 * Maximum number of cached tokens. A cached token isn't looked up again, but the eperson's stamp is checked
 * on every request, as for login tokens.
 */
const maxCached = 10_000

interface Cached {
  readonly verified: ByAccessToken
  readonly isFrom: (address: string | null) => boolean
  /** Time of the last use that was sent to the store. */
  noted: number
}

export function createVerifyAccessToken({
  accessTokens,
  sessions,
  clock,
  config,
  measures,
}: Parts): VerifyAccessToken {
  const cached = new Map<string, Cached>()
  // Maximum lifetime in ms. It is applied whenever a token is verified, so a changed setting also applies to
  // existing tokens.
  const longest = config.accessTokenLifetime * 1000

  function refuse(reason: RefusalReason): undefined {
    measures.tokenRefused('access', reason)
  }

  async function lookUp(token: string, address: string | null): Promise<ByAccessToken | undefined> {
    const id = idIn(token)
    if (id === undefined) return refuse('malformed')
    const known = await find(id, token)
    const session = known && (await sessions.of(known.eperson))
    if (!known) return refuse('signature')
    if (!session) return refuse('no-eperson')
    // Looked up again, now that the stamp is known: a token revoked between the two look-ups would be cached
    // with the stamp from after its revocation.
    if (!(await find(id, token))) return refuse('signature')
    const fresh = cachedOf(id, known, session, longest)
    if (cached.size >= maxCached) {
      const [oldest] = cached.keys()
      if (oldest !== undefined) cached.delete(oldest)
    }
    cached.set(token, fresh)
    return admit(token, fresh, address)
  }

  async function find(id: string, token: string): Promise<AccessToken | undefined> {
    const known = await accessTokens.find(id)
    return known && sameText(inHex(known.hash), inHex(hashOfToken(token))) ? known : undefined
  }

  function admit(token: string, known: Cached, address: string | null): Awaitable<ByAccessToken | undefined> {
    const now = clock.now()
    if (now >= known.verified.ends) {
      cached.delete(token)
      // Otherwise it would be valid again if the clock is set back.
      const { ends } = known.verified
      return ends <= clock.kept() ? refuse('expired') : clock.keep(ends).then(() => refuse('expired'))
    }
    if (!known.isFrom(address)) return refuse('network')
    if (now - known.noted >= useInterval) {
      known.noted = now
      // The request doesn't wait for this, and if it fails, a later use is kept.
      accessTokens.noteUse(known.verified.grant.id, now).catch(() => {})
    }
    return known.verified
  }

  function recheck(token: string, known: Cached, stamp: number | undefined, address: string | null) {
    if (stamp === known.verified.session.stamp) return admit(token, known, address)
    cached.delete(token)
    return lookUp(token, address)
  }

  return (token, address) => {
    const known = cached.get(token)
    if (!known) return lookUp(token, address)
    const stamp = sessions.stampOf(known.verified.session.eperson.uuid)
    return andThen(stamp, now => recheck(token, known, now, address))
  }
}

const cachedOf = (id: string, known: AccessToken, session: Session, longest: number): Cached => ({
  verified: {
    session,
    method: accessTokenMethod,
    sg: [],
    begun: known.created,
    ends: Math.min(known.expires, known.created + longest),
    grant: { id, scope: known.scope },
  },
  isFrom: networksOf(known),
  noted: known.used ?? Number.NEGATIVE_INFINITY,
})

function networksOf({ networks }: AccessToken): Cached['isFrom'] {
  if (networks.length === 0) return () => true
  const isIn = networkOf(networks)
  return address => address !== null && isIn(address)
}

const inHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
