import { memo } from '../lib/memo.ts'
import type { Session } from './accounts.ts'
import { type Caller, isAdministrator } from './caller.ts'
import { admits, admitsWriter, type Readers, today, type Viewer } from './readers.ts'

/**
 * Returns the viewer for a caller. While acting on behalf of an eperson, that is the eperson,
 * without administrator rights (B3). A caller stays the same object until something about it
 * changes, so its viewer can be memoized.
 */
export const viewerOf = memo(
  (caller: Caller): Viewer =>
    isAdministrator(caller)
      ? { kind: 'administrator' }
      : readerOf(caller.kind === 'anonymous' ? null : caller.session, caller.specialGroups),
)

/** True if these readers currently admit the caller. */
export const mayRead = (caller: Caller, readers: Readers): boolean =>
  admits(readers, viewerOf(caller), today())

/** True if these readers of an item currently let the caller change it. */
export const mayWrite = (caller: Caller, readers: Readers): boolean =>
  admitsWriter(readers, viewerOf(caller), today())

/** Returns the viewer for an eperson other than the caller. Their special groups are unknown. */
export const viewerOfSession = (session: Session | undefined): Viewer =>
  session?.administrator ? { kind: 'administrator' } : readerOf(session ?? null, [])

const readerOf = (session: Session | null, specialGroups: Caller['specialGroups']): Viewer => ({
  kind: 'reader',
  eperson: session?.eperson.uuid ?? null,
  groups: new Set([...(session?.groups ?? []), ...specialGroups].map(({ name }) => name)),
})
