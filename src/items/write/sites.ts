import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { changes, patchOf } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { patchBody } from '../../http/json-patch.ts'
import { requireMatch } from '../../http/preconditions.ts'
import { requireCaller } from '../../http/require-caller.ts'
import type { Repository } from '../../storage/repository.ts'
import { siteTag } from '../bodies.ts'
import { describeSite } from '../sites.ts'
import { patchSite } from './item-values.ts'
import { bodyLimit, patchBounds, refuseOutcome, retryStale } from './outcomes.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Pick<Addresses, 'api'>
  readonly config: Pick<Config, 'baseUrl' | 'realm'>
  readonly repository: Pick<Repository, 'site' | 'change'>
}

/**
 * `PATCH /api/core/sites/{uuid}` (S11), with which DSpace's interface saves the texts of its pages and the
 * user agreement.
 */
export function editSiteRoute(app: FastifyInstance, parts: Parts): void {
  const { repository } = parts
  const site = describeSite(parts)
  const to = 'change the metadata of the site'
  routesOf(app).patch<{ Params: { uuid: string } }>(
    '/core/sites/:uuid',
    route('changeSite', changes('administrator', 'none', patchOf(bodyLimit), { to })),
    async (request, reply) => {
      const caller = requireCaller(request.caller)
      site.require(request.params.uuid)
      const operations = patchBody(request, patchBounds)
      const event = eventOf(caller, request, { event: 'site.change', outcome: 'success' })
      const outcome = await retryStale(async () => {
        const { metadata, revision } = await repository.site()
        requireMatch(request.headers, siteTag(metadata), 'site')
        const edit = { kind: 'edit-site', site: site.uuid, revision } as const
        return repository.change({ ...edit, metadata: patchSite(metadata, operations) }, event)
      })
      refuseOutcome(outcome, 'site')
      const { metadata } = await repository.site()
      return reply.header('etag', siteTag(metadata)).send(site.body(metadata))
    },
  )
}
