import type { Awaitable } from '../../lib/awaitable.ts'
import type { TakeLease } from '../../lib/hold.ts'
import type { Entities } from '../entities.ts'
import type { Clock, StoreMetrics } from '../storage.ts'
import type { Trail } from '../trail.ts'
import { type AccessTokens, accessTokens } from './access-tokens.ts'
import { clock } from './clock.ts'
import { entities } from './entities.ts'
import { type GroupTree, groupTree } from './group-tree.ts'
import { type Identities, identities } from './identities.ts'
import type { Duty } from './leases.ts'
import type { AllOffered } from './offered.ts'
import { trail } from './prune-trail.ts'
import { type Secrets, type Sessions, sessions } from './sessions.ts'

/**
 * The parts that storage has itself. Each has all methods of its interface, except those that the engines implement
 * in their own ways. Other parts belong to the rooms of their features, and `src/features.ts` lists them.
 */
export const ownParts = {
  accessTokens,
  clock,
  entities,
  groupTree,
  identities,
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
  readonly accessTokens: AccessTokens
  readonly sessions: Sessions
  readonly entities: Entities
  readonly groupTree: GroupTree
  readonly secrets: Secrets
  readonly identities: Identities
  readonly trail: Trail
  readonly metrics: StoreMetrics
  readonly clock: Clock
  readonly lease: TakeLease
  /** True if this node does what one node does for all (docs/scaling.md). */
  isOnDuty(duty: Duty): Awaitable<boolean>
  /** Rejects with `StoreUnavailable` if the store doesn't answer, or its files aren't those that were opened. */
  ping(): Awaitable<void>
  close(): Promise<void>
}
