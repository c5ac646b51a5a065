import type { FastifyInstance } from 'fastify'
import type { LookAgain } from '../../authn/look-again.ts'
import type { Config } from '../../config/config.ts'
import type { FileStore } from '../../files/file-store.ts'
import { claimFolder } from '../../files/owner.ts'
import { type Access, acceptsShortLived, changes, reads } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { Problem } from '../../http/problems.ts'
import type { Uploads } from '../../model/uploads.ts'
import { editBitstreamRoutes } from './bitstreams.ts'
import { editBundleRoutes } from './bundles.ts'
import { type EditingParts, editItemRoutes } from './items.ts'
import { policyRoutes } from './policies.ts'
import type { KnownPeople } from './policy-rules.ts'
import { editSiteRoute } from './sites.ts'
import { uploadBitstreamRoutes } from './uploads.ts'

interface Parts extends Omit<EditingParts, 'config' | 'addresses'> {
  readonly addresses: Addresses
  readonly people: KnownPeople
  readonly asksAgreement: boolean
  readonly lookAgain: LookAgain
  readonly config: Config
  readonly files: FileStore
  readonly uploads: Uploads | undefined
}

/** Registers all changes of items, bundles, files and their readers (docs/decisions/0043). */
export async function editingRoutes(app: FastifyInstance, parts: Parts): Promise<void> {
  const { config, repository } = parts
  let owned: Promise<boolean> | undefined
  // The answer is kept: a folder changes its owner only by a command.
  const claim = async () => {
    owned ??= claimFolder(config.filesFolder, repository)
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
  absentFeatureRoutes(app)
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

const route = contractsIn(() => import('../../dspace/empty-contracts.ts'))

/** Requests that DSpace's clients may try, for things that Carrel doesn't have: the answer says so. */
const absent: readonly (readonly [method: 'GET' | 'POST' | 'PUT', url: string, what: string])[] = [
  ['POST', '/core/communities', 'communities'],
  ['POST', '/core/collections', 'collections'],
  ['POST', '/core/items/:uuid/mappedCollections', 'collections'],
  ['PUT', '/core/items/:uuid/owningCollection', 'collections'],
  ['POST', '/workflow/workflowitems', 'workflows: an item is there as soon as it is added'],
  ['GET', '/submission/workspaceitems/:id', 'drafts: an item is there as soon as it is added'],
  ['GET', '/submission/workspaceitems/search/item', 'drafts: an item is there as soon as it is added'],
  ['POST', '/submission/workspaceitems', 'drafts: add an item with POST /api/core/items'],
  ['POST', '/versioning/versions', 'versions of items'],
]

/** Absent features have no CSRF exception and no rights: the answer is 404 for everyone. */
function accessOf(method: 'GET' | 'POST' | 'PUT', url: string): Access {
  const part = url.startsWith('/core/') ? 'items' : 'none'
  return method === 'GET' ? reads('anybody', part) : acceptsShortLived(changes('anybody', part, 'ignored'))
}

function absentFeatureRoutes(app: FastifyInstance): void {
  for (const [method, url, what] of absent) {
    routesOf(app).route({
      method,
      url,
      ...route('refuseAbsent', accessOf(method, url), method, url, what),
      handler: async () => {
        throw new Problem('not-found', `Carrel has no ${what}.`)
      },
    })
  }
}
