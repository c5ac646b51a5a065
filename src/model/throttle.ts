/**
 * The throttle of password guessing (L8, docs/decisions/0023): which failures count, and for how
 * long. Every attempt counts as a failure until the password has proved right. These functions are
 * pure: stores keep the counts.
 */

/** The things for which failures are counted. A count reveals nothing about whether an account exists. */
export const scopes = ['account-and-network', 'account', 'network', 'site'] as const
export type Scope = (typeof scopes)[number]

/** The keys under which an attempt is counted. */
export type Keys = Readonly<Record<Scope, string>>

/** A count of failures, one of which is forgotten every ten minutes. */
export interface Count {
  /** Number of failures at the time `at`. */
  readonly level: number
  /** Time of the last failure, in ms since 1970. */
  readonly at: number
}

interface Limit {
  /** Number of failures that cause no pause. */
  readonly free: number
  /** Maximum pause in ms. Failures beyond the free ones cause pauses of 1, 2, 4, 8, … s. */
  readonly longest: number
  /** Weight of one failure; by default 1. */
  readonly weight?: number
}

/** Time in ms after which one failure is forgotten. */
const forgetsOneIn = 600_000

const minute = 60_000
/** Limits for a network from which the account has not logged in recently. */
const limits: Readonly<Record<Scope, Limit>> = {
  'account-and-network': { free: 10, longest: 10 * minute },
  account: { free: 20, longest: minute },
  network: { free: 50, longest: minute },
  // A site is all networks of one customer. That may be a university, where many users
  // mistype their passwords.
  site: { free: 50, longest: minute, weight: 1 / 8 },
}
/**
 * Limits for a familiar network, from which the account has logged in. Guesses from elsewhere don't count
 * there, so they never lock the owner out.
 */
const familiarLimits: Partial<typeof limits> = { 'account-and-network': { free: 20, longest: minute } }

/** Time in ms for which a network stays familiar after a login from it. */
export const familiarFor = 90 * 24 * 60 * minute
/** Maximum number of familiar networks remembered for an account. The oldest are forgotten. */
export const maxFamiliar = 100

/** Returns the time in ms before the next attempt is allowed; 0: it is allowed now. */
export function waitFor(counts: ReadonlyMap<Scope, Count>, isFamiliar: boolean, now: number): number {
  const waits = applying(isFamiliar).map(([scope, limit]) => {
    const count = counts.get(scope)
    // A count in the future was made before the clock was set back. The next attempt
    // moves it to the current time.
    if (!count || count.at > now) return 0
    return decayed(count, now) > limit.free - weightOf(scope) ? count.at + pause(count.level, limit) - now : 0
  })
  return Math.max(0, ...waits)
}

/** Returns the counts that apply, each with one more failure. */
export function withFailure(
  counts: ReadonlyMap<Scope, Count>,
  isFamiliar: boolean,
  now: number,
): ReadonlyMap<Scope, Count> {
  return new Map(
    applying(isFamiliar).map(([scope, limit]) => {
      const count = counts.get(scope)
      // A higher count would only take longer to be forgotten after the guessing has ended.
      const most = limit.free + Math.log2(limit.longest / 1000) + 1
      return [scope, { level: Math.min(most, (count ? decayed(count, now) : 0) + weightOf(scope)), at: now }]
    }),
  )
}

/** Returns the amount that one failure adds to a count. */
export const weightOf = (scope: Scope): number => limits[scope].weight ?? 1

/** Returns the time, in ms since 1970, at which a count has decayed to nothing. */
export const forgottenAt = ({ level, at }: Count): number => Math.ceil(at + level * forgetsOneIn)

const applying = (isFamiliar: boolean) =>
  Object.entries(isFamiliar ? familiarLimits : limits) as readonly (readonly [Scope, Limit])[]

const decayed = ({ level, at }: Count, now: number): number =>
  Math.max(0, level - Math.max(0, now - at) / forgetsOneIn)

/** Returns the pause in ms for a count. A count that has begun to decay is no longer a whole number. */
const pause = (level: number, { free, longest }: Limit): number =>
  Math.min(longest, 1000 * 2 ** (Math.ceil(level) - free))
