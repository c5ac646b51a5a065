import type { LoginMethod, Session } from '../caller.ts'
import { deriveKey, type Keyring, type Mac } from '../keys.ts'
import type { Accounts, Awaitable } from '../storage/storage.ts'
import { type Claims, readJwt, signJwt } from './jwt.ts'

/**
 * Tokens (contract section 2). The signing key depends on the service's secret, on what the token is for, on how its
 * session began and on the eperson's session key. So a token needs no claim to tell these apart, and a new session
 * key ends all tokens of the eperson at once (T4).
 */
export type TokenKind = 'login' | 'short-lived'

/** What a valid token says, with its eperson as it stands in the store now. */
export interface Verified {
  readonly session: Session
  readonly method: LoginMethod
  readonly sg: readonly string[]
}

export interface Tokens {
  /**
   * The session must be the one that was verified: if it has ended meanwhile, so has the token.
   * @param lifetime seconds
   */
  mint(kind: TokenKind, verified: Verified, lifetime: number): string
  /** @returns undefined for a token that is malformed, forged, expired, invalidated or of another kind */
  verify(kind: TokenKind, token: string): Awaitable<Verified | undefined>
}

/** Verified tokens that are remembered: the signature is checked once, the session on every request. */
const mostRemembered = 10_000

interface Remembered {
  readonly exp: number
  readonly verified: Verified
}

interface Parts {
  readonly accounts: Accounts
  readonly keyring: Keyring
  /** Those that there are now: a way to log in that is switched off ends its tokens. */
  readonly loginMethods: readonly LoginMethod[]
}

export function createTokens({ accounts, keyring, loginMethods }: Parts): Tokens {
  const remembered = new Map<string, Remembered>()
  let rememberedWith: readonly Uint8Array[] = []

  function remember(token: string, exp: number, verified: Verified): void {
    if (remembered.size >= mostRemembered) {
      const [oldest] = remembered.keys()
      if (oldest !== undefined) remembered.delete(oldest)
    }
    remembered.set(token, { exp, verified })
  }

  /** Derived keys are remembered: a session is the same object for as long as nothing about its eperson changes. */
  const derived = new WeakMap<Session, { readonly secret: Uint8Array; readonly keys: Map<string, Mac> }>()
  function keyOf(secret: Uint8Array, kind: TokenKind, method: LoginMethod, session: Session): Mac {
    let known = derived.get(session)
    if (known?.secret !== secret) {
      known = { secret, keys: new Map() }
      derived.set(session, known)
    }
    const purpose = `${kind}/${method}` as const
    const key = known.keys.get(purpose) ?? deriveKey(secret, purpose, session.sessionKey)
    known.keys.set(purpose, key)
    return key
  }

  async function verifyAnew(kind: TokenKind, token: string): Promise<Verified | undefined> {
    const jwt = readJwt(token)
    if (!jwt || isOver(jwt.claims)) return undefined
    const session = await accounts.session(jwt.claims.eid)
    if (!session) return undefined
    for (const secret of keyring())
      for (const method of loginMethods)
        if (jwt.isSignedWith(keyOf(secret, kind, method, session))) {
          const verified = { session, method, sg: jwt.claims.sg }
          if (kind === 'login') remember(token, jwt.claims.exp, verified)
          return verified
        }
    return undefined
  }

  function recheck(token: string, known: Remembered, stamp: number | undefined) {
    if (stamp === known.verified.session.stamp && !isOver(known)) return known.verified
    remembered.delete(token)
    return verifyAnew('login', token)
  }

  return {
    mint: (kind, { session, method, sg }, lifetime) => {
      const secret = keyring()[0]
      if (!secret) throw new Error('there is no secret to sign with')
      const exp = Math.round(Date.now() + lifetime * 1000) / 1000
      return signJwt({ eid: session.eperson.uuid, sg, exp }, keyOf(secret, kind, method, session))
    },

    verify: (kind, token) => {
      if (kind !== 'login') return verifyAnew(kind, token)
      if (rememberedWith !== keyring()) {
        remembered.clear()
        rememberedWith = keyring()
      }
      const known = remembered.get(token)
      if (!known) return verifyAnew(kind, token)
      const stamp = accounts.stampOf(known.verified.session.eperson.uuid)
      return stamp instanceof Promise
        ? stamp.then(now => recheck(token, known, now))
        : recheck(token, known, stamp)
    },
  }
}

/** At `exp` a token is over; there is no grace (T3, RFC 7519 §4.1.4). */
const isOver = ({ exp }: Pick<Claims, 'exp'>) => !(Date.now() < exp * 1000)
