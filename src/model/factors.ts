import {
  commandLineMethod,
  type LoginMethod,
  passkeyMethod,
  passwordMethod,
  type Session,
  twoFactorMethod,
} from './accounts.ts'
import type { Count } from './throttle.ts'

/** Second factors of epersons (docs/decisions/0081). */

export const factorKinds = ['totp', 'passkey'] as const
export type FactorKind = (typeof factorKinds)[number]

/** CARREL_SECOND_FACTOR (L12). */
export type SecondFactorSetting = 'off' | 'optional' | 'administrators' | 'everybody'

/** CARREL_SECOND_FACTOR and CARREL_SECOND_FACTOR_LOGINS. */
export interface FactorPolicy {
  readonly secondFactor: SecondFactorSetting
  readonly secondFactorLogins: 'password' | 'all'
}

/** True if the policy demands a factor of an eperson. */
export const demandsFactor = (
  { secondFactor }: FactorPolicy,
  { administrator }: Pick<Session, 'administrator'>,
): boolean => secondFactor === 'everybody' || (secondFactor === 'administrators' && administrator)

interface Begun {
  readonly session: Pick<Session, 'administrator' | 'hasFactor'>
  readonly method: LoginMethod
  readonly proved?: true
}

/**
 * True if the session began with a factor that its eperson still has, or with what the policy takes in place of one: the
 * operator, or a provider that may have asked for its own.
 */
export function beganWithFactor({ secondFactorLogins }: FactorPolicy, { session, method, proved }: Begun) {
  if (method === commandLineMethod) return true
  if (method === twoFactorMethod || method === passkeyMethod || proved) return session.hasFactor
  return method !== passwordMethod && secondFactorLogins === 'password'
}

/** What a session lacks that the policy demands: the factor of its eperson, or a first one to be enrolled. */
export type FactorLack = 'factor' | 'enrolment'

/**
 * Decides what a session lacks at the moment, whatever was demanded when it began (L17). It may be asked for each
 * request, and reads nothing.
 */
export const lackOf = (policy: FactorPolicy, begun: Begun): FactorLack | undefined =>
  demandsFactor(policy, begun.session) && !beganWithFactor(policy, begun)
    ? begun.session.hasFactor
      ? 'factor'
      : 'enrolment'
    : undefined

/** The methods of sessions that begin with a factor. */
export const factorMethods = (setting: SecondFactorSetting): readonly LoginMethod[] =>
  setting === 'off' ? [] : [twoFactorMethod, passkeyMethod]

/** A factor without what it is verified with. Times are in ms since 1970. */
export interface Factor {
  readonly id: string
  readonly eperson: string
  readonly kind: FactorKind
  readonly name: string
  /** True for a passkey that logs in without a password. */
  readonly alone: boolean
  readonly created: number
  readonly used: number | null
}

export interface StoredFactor extends Factor {
  /** The encrypted secret of TOTP, or the public key of a passkey. */
  readonly secret: Uint8Array
  /** The id of a passkey, unique in the store; null for TOTP. */
  readonly credential: string | null
  /** The last time step that was used, or the signature counter of a passkey. It only grows. */
  readonly counter: number
}

export const maxFactors = 10
/** Maximum number of factors of TOTP: each makes a guess more likely to be right. */
export const maxTotp = 2
export const maxFactorName = 100
/** Length of a time step of TOTP, in ms (RFC 6238 §4.1). */
export const stepLength = 30_000

/** Guesses of codes that an account has at once, and the time in ms after which it has one more. */
const freeGuesses = 5
const guessReturns = 3_600_000

/**
 * Counts a guess of a code.
 * @returns the count with it, or the time in ms that it has to wait
 */
export function countGuess(
  { level, at }: Count,
  now: number,
): (Count & { readonly wait: 0 }) | { readonly wait: number } {
  const left = Math.max(0, level - Math.max(0, now - at) / guessReturns)
  const over = left + 1 - freeGuesses
  return over > 0 ? { wait: Math.ceil(over * guessReturns) } : { wait: 0, level: left + 1, at: now }
}

/** The time, in ms since 1970, at which all guesses of a count have come back. */
export const guessesBack = ({ level, at }: Count): number => Math.ceil(at + level * guessReturns)
