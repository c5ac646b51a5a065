/**
 * The throttle of password guessing (L8, docs/decisions/0023): what counts, and for how long. Every attempt counts as a
 * failure until the password has proved right. Pure: stores keep the counts.
 */

/** What is counted. A count by itself says nothing of whether there is such an account. */
export const scopes = ['account-and-network', 'account', 'network', 'site'] as const
export type Scope = (typeof scopes)[number]

/** The keys of the counts that an attempt belongs to. */
export type Keys = Readonly<Record<Scope, string>>

/** Failures, of which one is forgotten every ten minutes. Times are in ms since 1970. */
export interface Count {
  /** How many there were at that time. */
  readonly level: number
  /** When the last one was. */
  readonly at: number
}

interface Limit {
  /** So many failures cost no pause. */
  readonly free: number
  /** The next ones cost a pause of 1, 2, 4, 8, … s, but never more than this, in ms. */
  readonly longest: number
  /** What a failure counts; by itself, 1. */
  readonly weight?: number
}

/** One attempt in so many ms is forgotten. */
const forgetsOneIn = 600_000

const minute = 60_000
/** From a network where the account has not logged in lately. */
const limits: Readonly<Record<Scope, Limit>> = {
  'account-and-network': { free: 10, longest: 10 * minute },
  account: { free: 20, longest: minute },
  network: { free: 50, longest: minute },
  // Of all the networks of one customer. It may be a university, where many mistype their passwords.
  site: { free: 50, longest: minute, weight: 1 / 8 },
}
/** From one where it has, no guesses from elsewhere count: they never lock an owner out there. */
const familiarLimits: Partial<typeof limits> = { 'account-and-network': { free: 20, longest: minute } }

/** How long a network stays familiar after a login from it, in ms. */
export const familiarFor = 90 * 24 * 60 * minute
/** How many networks of one account are remembered. The latest ones are. */
export const maxFamiliar = 100

/** @returns how many ms somebody has to wait before they may try again; 0: they may */
export function waitFor(counts: ReadonlyMap<Scope, Count>, isFamiliar: boolean, now: number): number {
  const waits = applying(isFamiliar).map(([scope, limit]) => {
    const count = counts.get(scope)
    // What counted in the future was counted before a clock was set back. One attempt counts it again as of now.
    if (!count || count.at > now) return 0
    return decayed(count, now) > limit.free - weightOf(scope) ? count.at + pause(count.level, limit) - now : 0
  })
  return Math.max(0, ...waits)
}

/** @returns the counts that apply, with one failure more */
export function withFailure(
  counts: ReadonlyMap<Scope, Count>,
  isFamiliar: boolean,
  now: number,
): ReadonlyMap<Scope, Count> {
  return new Map(
    applying(isFamiliar).map(([scope, limit]) => {
      const count = counts.get(scope)
      // More would only take longer to forget when the guessing has ended.
      const most = limit.free + Math.log2(limit.longest / 1000) + 1
      return [scope, { level: Math.min(most, (count ? decayed(count, now) : 0) + weightOf(scope)), at: now }]
    }),
  )
}

/** What one failure adds to a count. */
export const weightOf = (scope: Scope): number => limits[scope].weight ?? 1

/** @returns when nothing is left of a count */
export const forgottenAt = ({ level, at }: Count): number => Math.ceil(at + level * forgetsOneIn)

const applying = (isFamiliar: boolean) =>
  Object.entries(isFamiliar ? familiarLimits : limits) as readonly (readonly [Scope, Limit])[]

const decayed = ({ level, at }: Count, now: number): number =>
  Math.max(0, level - Math.max(0, now - at) / forgetsOneIn)

/** A count that began to decay is not a whole number any more. */
const pause = (level: number, { free, longest }: Limit): number =>
  Math.min(longest, 1000 * 2 ** (Math.ceil(level) - free))
