import type { FastifyInstance } from 'fastify'
import { factorRoutesOfOthers } from '../authn/factors-of-others.ts'
import { takeUriLists } from '../http/uri-list.ts'
import { changeEpersonRoutes } from './change-epersons.ts'
import { changeGroupRoutes } from './change-groups.ts'
import { endSessionsRoutes } from './end-sessions.ts'
import { epersonRoutes } from './epersons.ts'
import { groupRoutes } from './groups.ts'
import { patchEpersonRoute } from './patch-eperson.ts'
import { registrationRoutes } from './registration-routes.ts'

type Given<F extends (...given: never[]) => unknown> = Parameters<F>[1]

type Parts = Given<typeof epersonRoutes> &
  Given<typeof groupRoutes> &
  Given<typeof changeEpersonRoutes> &
  Given<typeof changeGroupRoutes> &
  Given<typeof patchEpersonRoute> &
  Given<typeof endSessionsRoutes> & {
    readonly factorParts: Given<typeof factorRoutesOfOthers>
  } & Omit<Given<typeof registrationRoutes>, 'registrations'>

/** The routes below `{api}/eperson`: epersons and groups, their passwords and sessions, and registration. */
export async function peopleRoutes(app: FastifyInstance, parts: Parts): Promise<void> {
  const { registrations } = parts
  if (registrations) registrationRoutes(app, { ...parts, registrations })
  epersonRoutes(app, parts)
  groupRoutes(app, parts)
  patchEpersonRoute(app, parts)
  endSessionsRoutes(app, parts)
  factorRoutesOfOthers(app, parts.factorParts)
  await app.register(async changes => {
    takeUriLists(changes)
    changeEpersonRoutes(changes, parts)
    changeGroupRoutes(changes, parts)
  })
}
