import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import type { Addresses } from '../http/addresses.ts'
import { clientOf, turnOf } from '../http/client.ts'
import { type Query, singleParameters } from '../http/parameters.ts'
import type { Limits } from '../model/limits.ts'
import type { Measures } from '../model/measures.ts'
import { isShortPage } from '../model/short-pages.ts'
import { viewerOf } from '../model/viewer.ts'
import type { Entities } from '../storage/entities.ts'
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
    const entity = readable(await entities.all(), request.params.entity, request.caller)
    const page = parsePage(request.query as Query, entity)
    const format = chooseFormat(request.headers.accept)
    const client = clientOf(request)
    const answer = async () => {
      const listing = await entities.list(entity, page, viewerOf(request.caller), format, client)
      const address = `${addresses.query}/${entity.name}`
      return present(reply, { entity, page, format, listing, address, timeLimits })
    }
    if (isShortPage(page, format)) return answer()
    await turnOf(reply)
    return longListings.run(client, answer)
  })
}
