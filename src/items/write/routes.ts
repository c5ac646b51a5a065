import type { FastifyInstance } from 'fastify'
import type { LookAgain } from '../../authn/look-again.ts'
import type { Config } from '../../config/config.ts'
import type { Files } from '../../files/files.ts'
import type { Addresses } from '../../http/addresses.ts'
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
