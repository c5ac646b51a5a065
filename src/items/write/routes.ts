import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { Files } from '../../files/files.ts'
import { changes, patchOf } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { patchBody } from '../../http/json-patch.ts'
import { requireMatch } from '../../http/preconditions.ts'
import type { Uploads } from '../../model/uploads.ts'
import { siteTag } from '../bodies.ts'
import { describeSite } from '../sites.ts'
import type { Repository } from '../statements/repository.ts'
import { editBitstreamRoutes } from './bitstreams.ts'
import { editBundleRoutes } from './bundles.ts'
import { patchSite } from './item-values.ts'
import { type EditingParts, editItemRoutes } from './items.ts'
import { bodyLimit, patchBounds, refuseOutcome, retryStale } from './outcomes.ts'
import { policyRoutes } from './policies.ts'
import type { KnownPeople } from './policy-rules.ts'
import { uploadBitstreamRoutes } from './uploads.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts extends Omit<EditingParts, 'config' | 'addresses'> {
  readonly addresses: Addresses
  readonly people: KnownPeople
  readonly asksAgreement: boolean
  readonly config: Config
  readonly files: Files
  readonly uploads: Uploads | undefined
}

/** Registers all changes of items, bundles, files and their readers (docs/decisions/0043). */
export async function editingRoutes(app: FastifyInstance, parts: Parts): Promise<void> {
  const { config, files } = parts
  let owned: Promise<boolean> | undefined
  // The answer is kept: a place changes its owner only by a command.
  const claim = async () => {
    owned ??= files.claim()
    try {
      const isOwn = await owned
      if (!isOwn) owned = undefined
      return isOwn
    } catch (error) {
      owned = undefined
      throw error
    }
  }
  editItemRoutes(app, parts)
  editBundleRoutes(app, parts)
  editBitstreamRoutes(app, parts)
  policyRoutes(app, parts)
  editSiteRoute(app, parts)
  await app.register(async scope => {
    uploadBitstreamRoutes(scope, {
      ...parts,
      claim,
      limits: {
        size: config.uploads.size,
        quota: config.filesQuota,
        patience: config.requestTimeout * 1000,
      },
    })
  })
}

interface SiteParts {
  readonly addresses: Pick<Addresses, 'api'>
  readonly config: Pick<Config, 'baseUrl' | 'realm'>
  readonly repository: Pick<Repository, 'site' | 'change'>
}

/**
 * `PATCH /api/core/sites/{uuid}` (S11), with which DSpace's interface saves the texts of its pages and the
 * user agreement.
 */
function editSiteRoute(app: FastifyInstance, parts: SiteParts): void {
  const { repository } = parts
  const site = describeSite(parts)
  const to = 'change the metadata of the site'
  routesOf(app).patch<{ Params: { uuid: string } }>(
    '/core/sites/:uuid',
    route('changeSite', changes('administrator', 'none', patchOf(bodyLimit), { to })),
    async (request, reply) => {
      site.require(request.params.uuid)
      const operations = patchBody(request, patchBounds)
      const event = eventOf(request.caller, request, { event: 'site.change', outcome: 'success' })
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
