import type { FastifyInstance } from 'fastify'
import { changeEpersonRoutes, createPatchEperson } from '../dspace/change-epersons.ts'
import { changeGroupRoutes } from '../dspace/change-groups.ts'
import { epersonRoutes } from '../dspace/epersons.ts'
import { groupRoutes } from '../dspace/groups.ts'
import { eventOf } from '../http/audit.ts'
import { takeUriLists } from '../http/uri-list.ts'
import { createByMail } from './by-mail.ts'
import { changePasswordRoutes } from './change-password.ts'
import { endSessionsRoutes } from './end-sessions.ts'
import { registrationRoutes } from './registration-routes.ts'
import { createPatchOther } from './set-password.ts'

type Given<F extends (...given: never[]) => unknown> = Parameters<F>[1]

type Parts = Omit<
  Given<typeof epersonRoutes> &
    Given<typeof groupRoutes> &
    Given<typeof changeEpersonRoutes> &
    Given<typeof changeGroupRoutes> &
    Given<typeof changePasswordRoutes> &
    Given<typeof endSessionsRoutes> &
    Given<typeof registrationRoutes>,
  'byMail' | 'eventOf' | 'patchOther' | 'registrations'
> & {
  /** Undefined if the service sends no mail. */
  readonly registrations: Given<typeof registrationRoutes>['registrations'] | undefined
}

/** The routes below `{api}/eperson`: epersons and groups, their passwords and sessions, and registration. */
export async function peopleRoutes(app: FastifyInstance, given: Parts): Promise<void> {
  const { registrations } = given
  if (registrations) registrationRoutes(app, { ...given, registrations })
  const parts = { ...given, eventOf, byMail: registrations && createByMail(registrations) }
  epersonRoutes(app, parts)
  groupRoutes(app, parts)
  const patchOther = createPatchOther({ ...parts, patchEperson: createPatchEperson(parts) })
  changePasswordRoutes(app, { ...parts, patchOther })
  endSessionsRoutes(app, parts)
  await app.register(async changes => {
    takeUriLists(changes)
    changeEpersonRoutes(changes, parts)
    changeGroupRoutes(changes, parts)
  })
}
