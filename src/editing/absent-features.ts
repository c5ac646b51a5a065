import type { FastifyInstance } from 'fastify'
import { contractsIn } from '../http/contract.ts'
import { ignoreBody } from '../http/ignore-body.ts'
import { Problem } from '../http/problems.ts'

const route = contractsIn(() => import('../dspace/empty-contracts.ts'))

/** What DSpace's clients may try, and Carrel has none of: the answer says so. */
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

export function absentFeatureRoutes(app: FastifyInstance): void {
  for (const [method, url, what] of absent) {
    app.route({
      method,
      url,
      ...route('refuseAbsent', method, url, what),
      preParsing: ignoreBody,
      handler: async () => {
        throw new Problem('not-found', `Carrel has no ${what}.`)
      },
    })
  }
}
