import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { openRightTo, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, halPart, readPage, windowOf } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { mayRead } from '../model/caller.ts'
import type { Entities } from '../storage/entities.ts'
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
import type { Repository } from './statements/repository.ts'

const route = contractsIn(() => import('./contracts.ts'))
const toReaders = reads(openRightTo('read the item'), 'items')

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
  const routes = routesOf(app)
  const shown = { config, repository }
  const core = `${addresses.api}/core`
  const items = `${core}/items`
  const url = '/core/items/:uuid'

  routes.get('/core/items', route('listItems', toReaders), async request =>
    listPage<ShownItem>(entities, { name: 'items', self: items, body: row => itemBody(row, core) }, request),
  )
  routes.get<Route>(url, route('showItem', toReaders), async ({ caller, params }, reply) => {
    const item = await readableItem(shown, caller, params.uuid)
    return reply.header('etag', itemTag(item)).send(itemBody(item, core))
  })

  routes.get<Route>(`${url}/bundles`, route('listBundles', toReaders), async ({ caller, params, query }) => {
    const { uuid } = await readableItem(shown, caller, params.uuid)
    const page = readPage(query as Query)
    const { rows, total } = await repository.bundles(uuid, windowOf(page))
    const bodies = rows.map(one => bundleBody(one, core))
    return halPart('bundles', bodies, total, page, `${items}/${uuid}/bundles`)
  })
  routes.get<Route>(
    `${url}/thumbnail`,
    route('showThumbnailOfItem', toReaders),
    async ({ caller, params }, reply) => {
      const { uuid } = await readableItem(shown, caller, params.uuid)
      const original = await mainFile(repository, uuid)
      const picture = original && (await repository.thumbnailOf(original))
      if (!picture || !mayRead(caller, picture.readers)) return reply.code(204).send()
      return bitstreamBody(picture, core)
    },
  )
  routes.get<Route>(
    `${url}/accessStatus`,
    route('showAccessOfItem', toReaders),
    async ({ caller, params }) => {
      const { uuid } = await readableItem(shown, caller, params.uuid)
      const original = await mainFile(repository, uuid)
      return accessStatusBody(original?.readers, `${items}/${uuid}/accessStatus`)
    },
  )
  routes.get<Route>(`${url}/identifiers`, route('listIdentifiers', toReaders), async ({ caller, params }) =>
    identifiersBody(await readableItem(shown, caller, params.uuid), core),
  )

  for (const name of emptyLists)
    routes.get<Route>(
      `${url}/${name}`,
      route('listNone', toReaders, name),
      async ({ caller, params, query }) => {
        const { uuid } = await readableItem(shown, caller, params.uuid)
        return halPage(name, [], readPage(query as Query), `${items}/${uuid}/${name}`)
      },
    )
  for (const name of absent)
    routes.get<Route>(
      `${url}/${name}`,
      route('showNone', toReaders, name),
      async ({ caller, params }, reply) => {
        await readableItem(shown, caller, params.uuid)
        return reply.code(204).send()
      },
    )
}
