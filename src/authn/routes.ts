import type { FastifyInstance } from 'fastify'
import { accessTokenRoutes } from './access-token-routes.ts'
import { loginRoutes } from './login.ts'
import { logoutRoutes } from './logout.ts'
import { sessionRoutes } from './session-routes.ts'
import { shortLivedTokenRoutes } from './short-lived-tokens.ts'
import { statusRoutes } from './status.ts'

type Parts = Parameters<typeof loginRoutes>[1] &
  Parameters<typeof logoutRoutes>[1] &
  Parameters<typeof statusRoutes>[1] &
  Parameters<typeof sessionRoutes>[1] &
  Parameters<typeof accessTokenRoutes>[1] &
  Parameters<typeof shortLivedTokenRoutes>[1]

/** The routes below `{api}/authn`, except those of single sign-on. */
export function authnRoutes(app: FastifyInstance, parts: Parts): void {
  loginRoutes(app, parts)
  logoutRoutes(app, parts)
  statusRoutes(app, parts)
  sessionRoutes(app, parts)
  accessTokenRoutes(app, parts)
  shortLivedTokenRoutes(app, parts)
}
