import type { FastifyInstance } from 'fastify'
import { bitstreamRoutes } from '../items/bitstreams.ts'
import { findRoutes } from '../items/find.ts'
import { itemRoutes } from '../items/items.ts'
import { siteRoutes } from '../items/sites.ts'
import { alertRoutes } from './alerts.ts'
import { auditEventRoutes } from './audit-events.ts'
import { authorizationRoutes } from './authorizations.ts'
import { emptyAnswerRoutes } from './empty-answers.ts'
import { metadataRegistryRoutes } from './metadata-registry.ts'

type Parts = Parameters<typeof siteRoutes>[1] &
  Parameters<typeof itemRoutes>[1] &
  Parameters<typeof bitstreamRoutes>[1] &
  Parameters<typeof findRoutes>[1] &
  Parameters<typeof authorizationRoutes>[1] &
  Parameters<typeof alertRoutes>[1] &
  Parameters<typeof auditEventRoutes>[1] &
  Parameters<typeof metadataRegistryRoutes>[1]

/** Registers what DSpace's clients read besides people: items and files, rights, the trail and the alert. */
export function dspaceRoutes(app: FastifyInstance, parts: Parts): void {
  siteRoutes(app, parts)
  emptyAnswerRoutes(app, parts.addresses)
  itemRoutes(app, parts)
  bitstreamRoutes(app, parts)
  findRoutes(app, parts)
  authorizationRoutes(app, parts)
  alertRoutes(app, parts)
  auditEventRoutes(app, parts)
  metadataRegistryRoutes(app, parts)
}
