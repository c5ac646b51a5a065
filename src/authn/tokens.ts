import { hash } from 'node:crypto'
import type { Awaitable } from '../lib/awaitable.ts'
import type { Mac } from '../lib/hmac.ts'
import { commandLineMethod, type LoginMethod, type Session } from '../model/accounts.ts'
import type { Acting } from '../model/caller.ts'
import { deriveKey, type Keyring, type TokenPurpose } from '../model/keys.ts'
import type { Accounts } from '../storage/accounts.ts'
import { type Claims, readJwt, signJwt, type UnverifiedJwt } from './jwt.ts'
import type { Tickets } from './tickets.ts'

/**
 * Tokens (contract section 2). The signing key depends on the service's secret, on what the token is for, on how its
 * session began and on the eperson's session key. So a token needs no claim to tell these apart, and a new session
 * key ends all tokens of the eperson at once (T4). What is made while acting on behalf of somebody depends on the actor's
 * session key as well, and ends with either; who acts and why is kept beside it (docs/decisions/0013).
 */
export type TokenKind = TokenPurpose

/** What a valid token says, with its eperson as it stands in the store now. */
export interface Verified {
  readonly session: Session
  readonly method: LoginMethod
  readonly sg: readonly string[]
  /** Who acts as the eperson, where somebody does (B4). */
  readonly acting?: Pick<Acting, 'actor' | 'reason'>
}

export interface Tokens {
  /**
   * The session must be the one that was verified: if it has ended meanwhile, so has the token.
   * @param lifetime seconds
   */
  mint(kind: TokenKind, verified: Minted, lifetime: number): string
  /** The same on behalf of somebody. */
  mintActing(kind: Exclude<TokenKind, 'login'>, caller: Acting, lifetime: number): Promise<string>
  /** @returns undefined for a token that is malformed, forged, expired, invalidated or of another kind */
  verify(kind: TokenKind, token: string): Awaitable<Verified | undefined>
}

type Minted = Omit<Verified, 'acting'>

/** Verified tokens that are remembered: the signature is checked once, the session on every request. */
const maxRemembered = 10_000

interface Remembered {
  readonly exp: number
  readonly verified: Verified
}

interface Parts {
  readonly accounts: Accounts
  readonly keyring: Keyring
  /** The enabled ones: disabling a login method ends its tokens. Tokens of `carrel token` are always accepted. */
  readonly loginMethods: readonly LoginMethod[]
  readonly tickets: Tickets
  /** Whether anybody may act on behalf of others; what was made before ends when nobody may any more. */
  readonly mayAct: boolean
}

export function createTokens({ accounts, keyring, loginMethods, tickets, mayAct }: Parts): Tokens {
  const methods = [...loginMethods, commandLineMethod]
  const remembered = new Map<string, Remembered>()
  let rememberedWith: readonly Uint8Array[] = []

  function remember(token: string, exp: number, verified: Verified): void {
    if (remembered.size >= maxRemembered) {
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
    // Leases are of as many bitstreams as there are; their keys are made when they are needed.
    if (kind.startsWith('lease/')) return deriveKey(secret, `${kind}/${method}`, session.sessionKey)
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
    const { sg, exp } = jwt.claims
    const method = methodOf(jwt, (secret, one) => keyOf(secret, kind, one, session))
    if (method !== undefined) {
      const verified: Verified = { session, method, sg }
      if (kind === 'login') remember(token, exp, verified)
      return verified
    }
    // The same as when somebody begins to act (B1, B2).
    const mayBe = kind !== 'login' && mayAct && !session.administrator
    return mayBe ? verifyActing(kind, token, jwt, session) : undefined
  }

  const methodOf = (jwt: UnverifiedJwt, key: (secret: Uint8Array, method: LoginMethod) => Mac) =>
    methods.find(method => keyring().some(secret => jwt.isSignedWith(key(secret, method))))

  async function verifyActing(
    kind: TokenKind,
    token: string,
    jwt: UnverifiedJwt,
    session: Session,
  ): Promise<Verified | undefined> {
    const kept = await tickets.read<{ actor: string; reason: string | null }>('acting', nameOf(token))
    const actor = kept && (await accounts.session(kept.actor))
    if (!actor?.administrator) return undefined
    const method = methodOf(jwt, (secret, one) => actingKey(secret, kind, one, [session, actor]))
    return method === undefined
      ? undefined
      : {
          session,
          method,
          sg: jwt.claims.sg,
          acting: { actor, reason: kept?.reason ?? null },
        }
  }

  function recheck(token: string, known: Remembered, stamp: number | undefined) {
    if (stamp === known.verified.session.stamp && !isOver(known)) return known.verified
    remembered.delete(token)
    return verifyAnew('login', token)
  }

  function newestSecret(): Uint8Array {
    const secret = keyring()[0]
    if (!secret) throw new Error('there is no secret to sign with')
    return secret
  }

  return {
    mint: (kind, { session, method, sg }, lifetime) =>
      signJwt(
        { eid: session.eperson.uuid, sg, exp: expiry(lifetime) },
        keyOf(newestSecret(), kind, method, session),
      ),
    mintActing: async (kind, { session, method, sg, actor, reason }, lifetime) => {
      const key = actingKey(newestSecret(), kind, method, [session, actor])
      const token = signJwt({ eid: session.eperson.uuid, sg, exp: expiry(lifetime) }, key)
      await tickets.keep('acting', nameOf(token), { actor: actor.eperson.uuid, reason }, lifetime)
      return token
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

/** With a fraction (T2). @param lifetime seconds */
const expiry = (lifetime: number) => Math.round(Date.now() + lifetime * 1000) / 1000

/** What is kept beside a token is found by it, and doesn't tell it. */
const nameOf = (token: string) => hash('sha256', token, 'base64url')

const actingKey = (
  secret: Uint8Array,
  kind: TokenKind,
  method: LoginMethod,
  sessions: readonly Session[],
): Mac =>
  deriveKey(secret, `acting/${kind}/${method}`, Buffer.concat(sessions.map(({ sessionKey }) => sessionKey)))
