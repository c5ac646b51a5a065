import type { Awaitable } from '../../lib/awaitable.ts'
import type { Entities } from '../entities.ts'
import type { People } from '../people.ts'
import type { Repository } from '../repository.ts'
import type { Clock, StoreMetrics } from '../storage.ts'
import type { Trail } from '../trail.ts'
import { type AccessTokens, accessTokens } from './access-tokens.ts'
import { type Attempts, attempts } from './attempts.ts'
import { clock } from './clock.ts'
import { entities } from './entities.ts'
import { type Factors, factors } from './factors.ts'
import { type Identities, identities } from './identities.ts'
import type { AllOffered } from './offered.ts'
import { people } from './people.ts'
import { trail } from './prune-trail.ts'
import { repository } from './repository.ts'
import { type Secrets, type Sessions, sessions } from './sessions.ts'

/**
 * The parts that storage has itself. Each has all methods of its interface, except those that the engines implement
 * in their own ways. Other parts belong to the rooms of their features, and `src/features.ts` lists them.
 */
export const ownParts = {
  accessTokens,
  attempts,
  clock,
  entities,
  factors,
  identities,
  people,
  repository,
  sessions,
  trail,
}

/** The parts that storage has itself, as an engine offers them. */
export type OwnOffers = AllOffered<typeof ownParts>

/**
 * The storage interface (docs/decisions/0002). Each engine implements all of it, and features depend only on
 * it. Reads on the path of every request may return a value at once (`Awaitable`). Writes return promises
 * that resolve only after the change is on disk: nothing acknowledged is lost.
 */
export interface Storage {
  /** True if opening the store created it. */
  readonly isNew: boolean
  readonly people: People
  readonly accessTokens: AccessTokens
  readonly sessions: Sessions
  readonly attempts: Attempts
  readonly entities: Entities
  readonly factors: Factors
  readonly repository: Repository
  readonly secrets: Secrets
  readonly identities: Identities
  readonly trail: Trail
  readonly metrics: StoreMetrics
  readonly clock: Clock
  /** Rejects with `StoreUnavailable` if the store doesn't answer, or its files aren't those that were opened. */
  ping(): Awaitable<void>
  close(): Promise<void>
}
