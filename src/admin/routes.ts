import type { FastifyInstance, FastifyRequest } from 'fastify'
import { refuseShortLivedToken } from '../authn/authenticate.ts'
import { requireAdministrator } from '../http/require-eperson.ts'
import { type EntityParts, entityRoutes } from './entity-routes.ts'
import { type ImportParts, importRoutes } from './import-routes.ts'
import { createImports } from './imports.ts'

type Parts = Omit<EntityParts & ImportParts, 'imports'> & Parameters<typeof createImports>[0]

/** `{api}/admin/entities…`: what administrators do to entities over HTTP (docs/decisions/0044). */
export async function adminRoutes(app: FastifyInstance, given: Parts): Promise<void> {
  const imports = createImports(given)
  app.addHook('onClose', imports.close)
  const parts = { ...given, imports }

  // Before anything of a body is read.
  app.addHook('onRequest', requireAdministration)
  await app.register(async inside => entityRoutes(inside, parts), { prefix: '/admin/entities' })
  await app.register(async inside => importRoutes(inside, parts), { prefix: '/admin/entities' })
}

async function requireAdministration(request: FastifyRequest): Promise<void> {
  requireAdministrator(request.caller)
  if (request.method !== 'GET' && request.method !== 'HEAD') await refuseShortLivedToken(request)
}
