import type { Awaitable } from '../lib/awaitable.ts'
import type { Accounts } from './accounts.ts'
import type { Entities } from './entities.ts'
import type { Identities } from './identities.ts'
import type { Repository } from './repository.ts'
import type { Secrets } from './secrets.ts'

/**
 * The storage interface (docs/decisions/0002). An engine implements it whole; features know only this file.
 * Reads on the path of every request may answer at once (`Awaitable`), writes are promises that are kept only
 * when the change is on disk: what was acknowledged is never lost.
 */
export interface Storage {
  readonly accounts: Accounts
  readonly entities: Entities
  readonly repository: Repository
  readonly secrets: Secrets
  readonly identities: Identities
  /** Rejects with `StoreUnavailable` when the store does not answer. */
  ping(): Awaitable<void>
  close(): Promise<void>
}
