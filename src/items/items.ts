import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { openRightTo, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, halPart, readPage, windowOf } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { mayRead } from '../model/caller.ts'
import type { Entities } from '../storage/entities.ts'
import type { Repository } from '../storage/repository.ts'
import { mainFile, readableItem } from './access.ts'
import {
  accessStatusBody,
  bitstreamBody,
  bundleBody,
  identifiersBody,
  itemBody,
  itemTag,
  type ShownItem,
} from './bodies.ts'
import { listPage } from './list.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly entities: Entities
  readonly config: Pick<Config, 'hiddenMetadata'>
  readonly repository: Repository
}
type Route = { Params: { uuid: string } }

/** Links of items that never lead to anything in Carrel: a list is empty, a single object is 204. */
const emptyLists = ['mappedCollections', 'relationships'] as const
const absent = ['owningCollection', 'templateItemOf', 'version'] as const

/** `GET /api/core/items…`: items, and what they link to. */
export function itemRoutes(app: FastifyInstance, { addresses, config, entities, repository }: Parts): void {
  const shown = { config, repository }
  const core = `${addresses.api}/core`
  const items = `${core}/items`
  const url = '/core/items/:uuid'

  routesOf(app).get(
    '/core/items',
    route('listItems', reads(openRightTo('read the item'), 'items')),
    async request =>
      listPage<ShownItem>(
        entities,
        { name: 'items', self: items, body: row => itemBody(row, core) },
        request,
      ),
  )
  routesOf(app).get<Route>(
    url,
    route('showItem', reads(openRightTo('read the item'), 'items')),
    async ({ caller, params }, reply) => {
      const item = await readableItem(shown, caller, params.uuid)
      return reply.header('etag', itemTag(item)).send(itemBody(item, core))
    },
  )

  routesOf(app).get<Route>(
    `${url}/bundles`,
    route('listBundles', reads(openRightTo('read the item'), 'items')),
    async ({ caller, params, query }) => {
      const { uuid } = await readableItem(shown, caller, params.uuid)
      const page = readPage(query as Query)
      const { rows, total } = await repository.bundles(uuid, windowOf(page))
      const bodies = rows.map(one => bundleBody(one, core))
      return halPart('bundles', bodies, total, page, `${items}/${uuid}/bundles`)
    },
  )
  routesOf(app).get<Route>(
    `${url}/thumbnail`,
    route('showThumbnailOfItem', reads(openRightTo('read the item'), 'items')),
    async ({ caller, params }, reply) => {
      const { uuid } = await readableItem(shown, caller, params.uuid)
      const original = await mainFile(repository, uuid)
      const picture = original && (await repository.thumbnailOf(original))
      if (!picture || !mayRead(caller, picture.readers)) return reply.code(204).send()
      return bitstreamBody(picture, core)
    },
  )
  routesOf(app).get<Route>(
    `${url}/accessStatus`,
    route('showAccessOfItem', reads(openRightTo('read the item'), 'items')),
    async ({ caller, params }) => {
      const { uuid } = await readableItem(shown, caller, params.uuid)
      const original = await mainFile(repository, uuid)
      return accessStatusBody(original?.readers, `${items}/${uuid}/accessStatus`)
    },
  )
  routesOf(app).get<Route>(
    `${url}/identifiers`,
    route('listIdentifiers', reads(openRightTo('read the item'), 'items')),
    async ({ caller, params }) => identifiersBody(await readableItem(shown, caller, params.uuid), core),
  )

  for (const name of emptyLists)
    routesOf(app).get<Route>(
      `${url}/${name}`,
      route('listNone', reads(openRightTo('read the item'), 'items'), name),
      async ({ caller, params, query }) => {
        const { uuid } = await readableItem(shown, caller, params.uuid)
        return halPage(name, [], readPage(query as Query), `${items}/${uuid}/${name}`)
      },
    )
  for (const name of absent)
    routesOf(app).get<Route>(
      `${url}/${name}`,
      route('showNone', reads(openRightTo('read the item'), 'items'), name),
      async ({ caller, params }, reply) => {
        await readableItem(shown, caller, params.uuid)
        return reply.code(204).send()
      },
    )
}
