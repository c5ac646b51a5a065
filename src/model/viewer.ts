import type { Session } from './accounts.ts'
import { type Caller, isAdministrator } from './caller.ts'
import { admits, type Readers, today, type Viewer } from './readers.ts'

/** Callers are the same object while nothing about them changes, and so are their viewers: what rows they see is remembered. */
const viewers = new WeakMap<Caller, Viewer>()

/** As whom the caller sees rows. While acting on behalf of someone that is the eperson, without the administrator's rights (B3). */
export function viewerOf(caller: Caller): Viewer {
  const known = viewers.get(caller)
  if (known) return known
  const viewer: Viewer = isAdministrator(caller)
    ? { kind: 'administrator' }
    : readerOf(caller.kind === 'anonymous' ? null : caller.session, caller.specialGroups)
  viewers.set(caller, viewer)
  return viewer
}

/** Whether the caller may read what has these readers, now. */
export const mayRead = (caller: Caller, readers: Readers): boolean =>
  admits(readers, viewerOf(caller), today())

/** As whom somebody else would see rows, whose special groups nobody knows. */
export const viewerOfSession = (session: Session | undefined): Viewer =>
  session?.administrator ? { kind: 'administrator' } : readerOf(session ?? null, [])

const readerOf = (session: Session | null, specialGroups: Caller['specialGroups']): Viewer => ({
  kind: 'reader',
  eperson: session?.eperson.uuid ?? null,
  groups: new Set([...(session?.groups ?? []), ...specialGroups].map(({ name }) => name)),
})
