import { type Mac, macWith } from '../lib/hmac.ts'
import {
  commandLineMethod,
  type LoginMethod,
  passkeyMethod,
  passwordMethod,
  type Session,
  twoFactorMethod,
} from '../model/accounts.ts'
import { deriveKey, type TokenPurpose } from '../model/keys.ts'
import { keyOfSession } from '../model/sessions.ts'

/** The keys of tokens: what a token needs no claim to say is in the key that signs it. */

/** The way in which a session began, on which the keys of its tokens depend. */
export interface Origin {
  readonly method: LoginMethod
  /** True if a factor was proved after a provider or a directory had vouched. */
  readonly proved?: true
}
const nameOf = ({ method, proved }: Origin): string => (proved ? `${method}/proved` : method)

/** Methods that say themselves if a factor was proved. */
const ownMethods: ReadonlySet<LoginMethod> = new Set([
  passwordMethod,
  twoFactorMethod,
  passkeyMethod,
  commandLineMethod,
])
export const originsOf = (methods: readonly LoginMethod[]): readonly Origin[] =>
  methods.flatMap(method => (ownMethods.has(method) ? [{ method }] : [{ method }, { method, proved: true }]))

/** Maximum number of derived keys that are cached for one eperson. */
const maxDerived = 100

/** Returns a function that derives the keys of tokens, but of those that are made while acting on behalf of others. */
export function createTokenKeys() {
  /** Derived keys, cached by session, which is the same object until something about its eperson changes. */
  const derived = new WeakMap<Session, { readonly secret: Uint8Array; readonly keys: Map<string, Mac> }>()
  return function keyOf(
    secret: Uint8Array,
    kind: TokenPurpose,
    origin: Origin,
    session: Session,
    begun: number,
  ): Mac {
    let known = derived.get(session)
    if (known?.secret !== secret) {
      known = { secret, keys: new Map() }
      derived.set(session, known)
    }
    const purpose = `${kind}/${nameOf(origin)}` as const
    const material = keyOfSession(session, begun)
    // Each bitstream has its own lease key, and a key that differs from the session key belongs to one
    // session only, so these are not cached.
    if (kind.startsWith('lease/') || material !== session.sessionKey)
      return ofSession(deriveKey(secret, purpose, material), begun)
    const name = `${purpose}/${begun}`
    const key = known.keys.get(name)
    if (key) return key
    // Several sessions of an eperson may share the object, and forged tokens may name any beginning.
    if (known.keys.size >= maxDerived) known.keys.clear()
    const base = known.keys.get(purpose) ?? deriveKey(secret, purpose, material)
    const made = ofSession(base, begun)
    known.keys.set(purpose, base).set(name, made)
    return made
  }
}

export const ofSession = (key: Mac, begun: number): Mac => macWith(key(Buffer.from(String(begun))))

export const actingKey = (
  secret: Uint8Array,
  kind: TokenPurpose,
  origin: Origin,
  session: Session,
  actor: Session,
  begun: number,
): Mac =>
  deriveKey(
    secret,
    `acting/${kind}/${nameOf(origin)}`,
    Buffer.concat([session.sessionKey, keyOfSession(actor, begun)]),
  )
