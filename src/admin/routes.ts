import type { FastifyInstance, FastifyRequest } from 'fastify'
import { refuseShortLivedToken } from '../authn/authenticate.ts'
import { checkEach } from '../authn/look-again.ts'
import { requireAdministrator } from '../http/require-eperson.ts'
import type { Resume } from '../processes/routes.ts'
import { entityRoutes } from './entity-routes.ts'
import { importRoutes } from './import-routes.ts'
import { createImports } from './imports.ts'
import { resumeImport } from './resume-import.ts'
import { tableRoutes } from './table-routes.ts'

type Parts = Omit<Parameters<typeof entityRoutes>[1] & Parameters<typeof importRoutes>[1], 'imports'> &
  Parameters<typeof createImports>[0]

/** `{api}/admin/entities…` and `{api}/admin/tables`: what administrators do to entities over HTTP (docs/decisions/0044). */
export async function adminRoutes(app: FastifyInstance, given: Parts): Promise<{ readonly resume: Resume }> {
  const imports = createImports(given)
  const parts = { ...given, imports }
  app.addHook('onClose', imports.close)
  // A scope of its own: its hook is for nothing else.
  await app.register(
    async scope => {
      // Before anything of a body is read.
      checkEach(scope, requireAdministration)
      // Each reads bodies in its way.
      await scope.register(async inside => entityRoutes(inside, parts), { prefix: '/entities' })
      await scope.register(async inside => importRoutes(inside, parts), { prefix: '/entities' })
      await scope.register(async inside => tableRoutes(inside, parts), { prefix: '/tables' })
    },
    { prefix: '/admin' },
  )
  return { resume: resumeImport(parts) }
}

async function requireAdministration(request: FastifyRequest): Promise<void> {
  requireAdministrator(request.caller)
  if (request.method !== 'GET' && request.method !== 'HEAD') await refuseShortLivedToken(request)
}
