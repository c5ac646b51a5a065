import type { Awaitable } from '../lib/awaitable.ts'
import type { AccessToken, StoredAccessToken } from '../model/access-tokens.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Part, Window } from './window.ts'

/** Access tokens of programs, as every engine keeps them (docs/decisions/0040). */
export interface AccessTokens {
  /** @returns undefined also if the eperson's password was changed since it was made */
  find(id: string): Awaitable<StoredAccessToken | undefined>
  /** Of one eperson, or of all, the oldest first. */
  list(eperson: string | null): Awaitable<readonly AccessToken[]>
  /** Of all, in the same order. */
  page(window: Window): Awaitable<Part<AccessToken>>
  add(
    token: Omit<StoredAccessToken, 'used'>,
    event: AuditEvent,
  ): Promise<'added' | 'name-taken' | 'too-many' | 'no-eperson'>
  /**
   * Ends it on every node at once.
   * @param eperson whose it must be; null: anybody's
   * @returns whether there was such a token
   */
  revoke(id: string, eperson: string | null, event: AuditEvent): Promise<boolean>
  /** @returns how many there were */
  revokeAll(eperson: string, event: AuditEvent): Promise<number>
  /** Keeps when it was used, if that is a minute later than what is kept. */
  noteUse(id: string, at: number): Promise<void>
}

/** In ms: how exact the last use is. */
export const useInterval = 60_000
