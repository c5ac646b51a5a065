import type { Awaitable } from '../lib/awaitable.ts'
import type { AccessToken, StoredAccessToken } from '../model/access-tokens.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Part, Window } from './window.ts'

/** Access tokens of programs, as every engine keeps them (docs/decisions/0040). */
export interface AccessTokens {
  /** @returns undefined if there is none, or the eperson's password was changed since it was made */
  find(id: string): Awaitable<StoredAccessToken | undefined>
  /** Lists the tokens of one eperson, or of all (null), oldest first. */
  list(eperson: string | null): Awaitable<readonly AccessToken[]>
  /** A page of all tokens, oldest first. */
  page(window: Window): Awaitable<Part<AccessToken>>
  add(
    token: Omit<StoredAccessToken, 'used'>,
    event: AuditEvent,
  ): Promise<'added' | 'name-taken' | 'too-many' | 'no-eperson'>
  /**
   * Ends it on every node at once.
   * @param eperson the owner that the token must have; null: any
   * @returns false if there was no such token
   */
  revoke(id: string, eperson: string | null, event: AuditEvent): Promise<boolean>
  /** @returns the number of removed tokens */
  revokeAll(eperson: string, event: AuditEvent): Promise<number>
  /** Records a use, at most once per `useInterval`. */
  noteUse(id: string, at: number): Promise<void>
}

/** Precision in ms of the recorded time of last use. */
export const useInterval = 60_000
