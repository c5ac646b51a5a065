import type { Awaitable } from '../lib/awaitable.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { Attempts } from './attempts.ts'
import type { Clock } from './clock.ts'
import type { Entities } from './entities.ts'
import type { Identities } from './identities.ts'
import type { MetadataRegistry } from './metadata-registry.ts'
import type { StoreMetrics } from './metrics.ts'
import type { People } from './people.ts'
import type { Alerts, Processes } from './processes.ts'
import type { Repository } from './repository.ts'
import type { Secrets, Sessions } from './sessions.ts'
import type { Trail } from './trail.ts'

/** Called when the store has lost files, with advice, and with null when they are back. */
export type ReportLoss = (message: string | null) => void

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
  readonly repository: Repository
  readonly secrets: Secrets
  readonly identities: Identities
  readonly trail: Trail
  readonly metrics: StoreMetrics
  readonly clock: Clock
  readonly processes: Processes
  readonly registry: MetadataRegistry
  readonly alerts: Alerts
  /**
   * Rejects with `StoreUnavailable` if the store doesn't answer, or its files aren't those that were opened.
   */
  ping(): Awaitable<void>
  close(): Promise<void>
}
