import { hash } from 'node:crypto'
import { type Awaitable, andThen } from '../lib/awaitable.ts'
import type { Mac } from '../lib/hmac.ts'
import { RecentlyUsed } from '../lib/memo.ts'
import type { Grant } from '../model/access-tokens.ts'
import { commandLineMethod, type LoginMethod, type Session } from '../model/accounts.ts'
import type { Acting } from '../model/caller.ts'
import { type FactorLack, type FactorPolicy, lackOf } from '../model/factors.ts'
import type { Keyring, TokenPurpose } from '../model/keys.ts'
import type { Measures, RefusalReason } from '../model/measures.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import { readJwt, signJwt, type UnverifiedJwt } from './jwt.ts'
import { createSessionAge, type Life, type SessionLifetimes } from './session-age.ts'
import type { Tickets } from './tickets.ts'
import { actingKey, createTokenKeys, type Origin, ofSession, originsOf } from './token-keys.ts'

/**
 * Tokens (contract section 2). The signing key depends on the service's secret, the token's purpose, the
 * login method and the eperson's session key. So a token needs no claim to tell these apart, and a new
 * session key ends all tokens of the eperson at once (T4). The key of a token that was made while acting on
 * behalf of an eperson also depends on the actor's session key, so that it ends with either session; the
 * actor and the reason are stored in a ticket (docs/decisions/0013). The start of the session is part of both
 * the key's name and the key, and stays the same when a token is refreshed (T11). So it also tells the
 * sessions of an eperson apart, which can be ended one by one (docs/decisions/0040).
 */
type TokenKind = TokenPurpose

/** An eperson's current session and its origin, from which a token is made. */
export interface Proven extends Origin {
  readonly session: Session
  readonly sg: readonly string[]
  /** Start of the session, in ms since 1970. */
  readonly begun: number
  /** End of the login token, in ms since 1970; undefined for other tokens, and for a login that has no token yet. */
  readonly ends?: number
  /** The scope of an access token; undefined for login tokens and tokens made from them. */
  readonly grant?: Grant
  /** The administrator who acts on behalf of the eperson, if any (B4). */
  readonly acting?: Pick<Acting, 'actor' | 'reason'>
}

/** The content of a valid token. */
export interface Verified extends Proven {
  /** End of the token, in ms since 1970. */
  readonly ends: number
  /** The factor or enrolment that the setting demands and the session lacks (L17). */
  readonly lacks?: FactorLack
}

export interface Tokens {
  /**
   * Makes a token. The session must be the one that was verified: if it has ended meanwhile, the token is not valid.
   * @param lifetime seconds
   */
  mint(kind: TokenKind, verified: Minted, lifetime: number): string
  /** Makes a token while acting on behalf of an eperson. @param lifetime seconds */
  mintActing(kind: Exclude<TokenKind, 'login'>, caller: Acting, lifetime: number): Promise<string>
  /** @returns undefined for a token that is malformed, forged, expired, invalidated or of another kind */
  verify(kind: TokenKind, token: string): Awaitable<Verified | undefined>
}

/** `ends` is the end of the token being refreshed, if any. */
type Minted = Omit<Proven, 'acting'> & Partial<Pick<Verified, 'ends'>>

/**
 * Login tokens that were verified, with what they say. The signature of such a token isn't verified again, but its
 * session is checked on every request.
 */
type VerifiedTokens = RecentlyUsed<string, Verified>

/** Maximum number of verified tokens that an event loop keeps, and of their bytes. */
const maxVerified = 10_000
const maxVerifiedBytes = 32 * 1024 * 1024

/**
 * Size in bytes of what is kept for a token, about: its session, its caller, a key, and the JSON of its status. Groups
 * are counted apart.
 */
const sizeOfVerified = 5_000
const sizeOfGroup = 200
const sizeOfSpecialGroup = 1_500

export const verifiedTokens = (max = maxVerified, maxBytes = maxVerifiedBytes): VerifiedTokens =>
  new RecentlyUsed(max, undefined, {
    maxBytes,
    sizeOf: (token, { session, sg }) =>
      sizeOfVerified +
      token.length +
      session.groups.length * sizeOfGroup +
      sg.length * (sizeOfGroup + sizeOfSpecialGroup),
  })

interface Parts {
  readonly sessions: Sessions
  readonly clock: Clock
  readonly config: SessionLifetimes & FactorPolicy
  readonly keyring: Keyring
  /** The enabled methods: disabling one ends its tokens. Tokens of `carrel token` are always accepted. */
  readonly loginMethods: readonly LoginMethod[]
  readonly tickets: Tickets
  /**
   * True if administrators may act on behalf of others. Otherwise, tokens that were made while acting are not valid.
   */
  readonly mayAct: boolean
  readonly measures: Pick<Measures, 'tokenRefused'>
  readonly verified?: VerifiedTokens
}

type SessionAge = ReturnType<typeof createSessionAge>
type KeyOf = ReturnType<typeof createTokenKeys>

/** @returns a function that looks the session of a token up and checks its signature */
function createVerification(
  { sessions, clock, config, keyring, loginMethods, tickets, mayAct, measures }: Parts,
  cached: VerifiedTokens,
  age: SessionAge,
  keyOf: KeyOf,
) {
  const origins = originsOf([...loginMethods, commandLineMethod])

  function refuse(kind: TokenKind, reason: RefusalReason): undefined {
    measures.tokenRefused(kind === 'login' || kind === 'short-lived' ? kind : 'lease', reason)
  }

  async function verifyUncached(kind: TokenKind, token: string): Promise<Verified | undefined> {
    const jwt = readJwt(token)
    if (!jwt) return refuse(kind, 'malformed')
    if (age.lifeOf(jwt).isKept) return refuse(kind, 'expired')
    const session = await sessions.of(jwt.claims.eid)
    // Computed again after the look-up, which shows how far time has advanced elsewhere.
    const life = age.lifeOf(jwt)
    const refuseFor = (reason: RefusalReason) => refuse(kind, life.isOver ? 'expired' : reason)
    if (!session) return refuseFor('no-eperson')
    const { begun, ends } = life
    const origin = originOf(jwt, (secret, one) => keyOf(secret, kind, one, session, begun))
    if (origin) {
      if (session.ended.has(begun)) return refuseFor('ended')
      if (life.isOver) return expire(kind, life)
      const lacks = lackOf(config, { session, ...origin })
      // A token that was made from a login goes where the login can't be asked for the factor.
      if (lacks && kind !== 'login' && config.secondFactor === 'everybody') return refuseFor('ended')
      const verified: Verified = {
        session,
        ...origin,
        sg: jwt.claims.sg,
        begun,
        ends,
        ...(lacks && { lacks }),
      }
      if (kind === 'login' && !cached.get(token)) cached.add(token, verified)
      return verified
    }
    // The rules are those of X-On-Behalf-Of (B1, B2).
    const mayBe = kind !== 'login' && mayAct && !session.administrator
    const acting = mayBe ? await verifyActing(kind, token, jwt, session, begun) : undefined
    if (!acting) return refuseFor('signature')
    return life.isOver ? expire(kind, life) : { ...acting, session, sg: jwt.claims.sg, begun, ends }
  }

  /**
   * Keeps the time of an expired token. Its signature must be verified before, or forged tokens could advance
   * the kept time.
   */
  async function expire(kind: TokenKind, { ends }: Life): Promise<undefined> {
    if (ends <= clock.now()) await clock.keep(ends)
    return refuse(kind, 'expired')
  }

  const originOf = (jwt: UnverifiedJwt, key: (secret: Uint8Array, origin: Origin) => Mac) =>
    origins.find(origin => keyring().some(secret => jwt.isSignedWith(key(secret, origin))))

  async function verifyActing(
    kind: TokenKind,
    token: string,
    jwt: UnverifiedJwt,
    session: Session,
    begun: number,
  ): Promise<(Origin & Pick<Verified, 'acting'>) | undefined> {
    const kept = await tickets.read<{ actor: string; reason: string | null }>('acting', hashOf(token))
    const actor = kept && (await sessions.of(kept.actor))
    if (!actor?.administrator || actor.ended.has(begun)) return undefined
    const origin = originOf(jwt, (secret, one) =>
      ofSession(actingKey(secret, kind, one, session, actor, begun), begun),
    )
    if (!origin || lackOf(config, { session: actor, ...origin })) return undefined
    return { ...origin, acting: { actor, reason: kept?.reason ?? null } }
  }
  return verifyUncached
}

function createMint(
  { keyring, tickets }: Parts,
  age: SessionAge,
  keyOf: KeyOf,
): Pick<Tokens, 'mint' | 'mintActing'> {
  /** The last token that was signed with a key, which belongs to one session and one kind of token. */
  const signed = new WeakMap<Mac, Pick<Proven, 'sg'> & { readonly exp: number; readonly token: string }>()

  function newestSecret(): Uint8Array {
    const secret = keyring()[0]
    if (!secret) throw new Error('there is no secret to sign with')
    return secret
  }

  function sign(kind: TokenKind, { session, sg, begun, ends }: Minted, lifetime: number, key: Mac): string {
    const exp = kind === 'login' ? age.wholeExpiry(begun, lifetime, ends) : age.expiry(begun, lifetime)
    // A session that is refreshed again within the second gets the same token.
    const last = signed.get(key)
    if (last?.exp === exp && last.sg === sg) return last.token
    const token = signJwt({ eid: session.eperson.uuid, sg, exp }, begun, key)
    signed.set(key, { exp, sg, token })
    return token
  }

  return {
    mint: (kind, minted, lifetime) => {
      // The routes that make tokens refuse access tokens (`http/guard.ts`); this holds even if one doesn't.
      if (minted.grant) throw new Error('an access token never gives another token')
      const { session, begun } = minted
      return sign(kind, minted, lifetime, keyOf(newestSecret(), kind, minted, session, begun))
    },
    mintActing: async (kind, caller, lifetime) => {
      const { session, actor, reason, begun } = caller
      const token = sign(
        kind,
        caller,
        lifetime,
        ofSession(actingKey(newestSecret(), kind, caller, session, actor, begun), begun),
      )
      await tickets.keep('acting', hashOf(token), { actor: actor.eperson.uuid, reason }, lifetime)
      return token
    },
  }
}

export function createTokens(parts: Parts): Tokens {
  const { sessions, clock, config, keyring, verified: cached = verifiedTokens() } = parts
  const age = createSessionAge(clock, config)
  const keyOf = createTokenKeys()
  const verifyUncached = createVerification(parts, cached, age, keyOf)
  let cachedWith: readonly Uint8Array[] = []

  function recheck(token: string, known: Verified, stamp: number | undefined) {
    if (stamp === known.session.stamp && clock.afterLookUp() < known.ends) return known
    cached.delete(token)
    return verifyUncached('login', token)
  }

  return {
    ...createMint(parts, age, keyOf),
    verify: (kind, token) => {
      if (kind !== 'login') return verifyUncached(kind, token)
      if (cachedWith !== keyring()) {
        cached.clear()
        cachedWith = keyring()
      }
      const known = cached.get(token)
      if (!known) return verifyUncached(kind, token)
      const stamp = sessions.stampOf(known.session.eperson.uuid)
      return andThen(stamp, now => recheck(token, known, now))
    },
  }
}

/** The name of a token's ticket: a hash, which doesn't reveal the token. */
const hashOf = (token: string) => hash('sha256', token, 'base64url')
