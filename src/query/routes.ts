import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import type { Addresses } from '../http/addresses.ts'
import { clientOf, turnOf } from '../http/client.ts'
import { type Query, singleParameters } from '../http/parameters.ts'
import type { Entity, Page } from '../model/entities.ts'
import type { Limits } from '../model/limits.ts'
import type { Measures } from '../model/measures.ts'
import { listOf } from '../model/plan.ts'
import { isShortPage } from '../model/short-pages.ts'
import { viewerOf } from '../model/viewer.ts'
import type { Entities, Listing } from '../storage/entities.ts'
import { createLongListings } from './long-listings.ts'
import { parsePage } from './parse.ts'
import { chooseFormat, present } from './present.ts'
import { mayReadEntity, readable } from './readable.ts'

interface Parts {
  readonly addresses: Addresses
  readonly entities: Entities
  readonly config: Config
  readonly limits: Limits
  readonly measures: Pick<Measures, 'queue'>
}

interface Parsed {
  readonly entity: Entity
  readonly page: Page
}

/** `GET {query_base}` and `GET {query_base}/<entity>` (contract section 6). */
export function queryRoutes(
  app: FastifyInstance,
  { addresses, entities, config, limits, measures }: Parts,
): void {
  const longListings = createLongListings(config, limits, measures.queue('listings'))
  const timeLimits = { idle: config.listingPatience, total: config.listingTimeLimit }

  app.get('/', async request => {
    singleParameters(request.query as Query, [])
    const known = await entities.all()
    return [...known.values()]
      .filter(entity => mayReadEntity(request.caller, entity.read))
      .map(({ name, key, fields }) => ({ name, key, fields, href: `${addresses.query}/${name}` }))
  })

  app.get<{ Params: { entity: string } }>('/:entity', async (request, reply) => {
    const client = clientOf(request)
    const parse = async (): Promise<Parsed> => {
      const entity = readable(await entities.all(), request.params.entity, request.caller)
      return { entity, page: parsePage(request.query as Query, entity) }
    }
    const parsed = await parse()
    const format = chooseFormat(request.headers.accept)
    const list = ({ entity, page }: Parsed) =>
      entities.list(listOf(entity, page), viewerOf(request.caller), format, client)
    const send = ({ entity, page }: Parsed, listing: Listing) =>
      present(reply, {
        entity,
        page,
        format,
        listing,
        address: `${addresses.query}/${request.params.entity}`,
        timeLimits,
      })

    if (isShortPage(parsed.page, format)) {
      const listing = await list(parsed)
      if (listing.body instanceof Uint8Array) return send(parsed, listing)
      // Its records are large, so that it is sent in pieces. None of them has been read yet.
    }
    await turnOf(reply)
    return longListings.run(client, async () => {
      // The entity may have changed while the request waited.
      const current = await parse()
      return send(current, await list(current))
    })
  })
}
