import type { FastifyInstance } from 'fastify'
import type { Addresses } from '../http/addresses.ts'
import { clientSignal } from '../http/client-signal.ts'
import { type Query, singleParameters } from '../http/parameters.ts'
import { viewerOf } from '../model/viewer.ts'
import type { Entities } from '../storage/entities.ts'
import { parsePage } from './parse.ts'
import { chooseFormat, present } from './present.ts'
import { mayReadEntity, readable } from './readable.ts'

interface Parts {
  readonly addresses: Addresses
  readonly entities: Entities
}

/** `GET {query_base}` and `GET {query_base}/<entity>` (contract section 6). */
export function queryRoutes(app: FastifyInstance, { addresses, entities }: Parts): void {
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
    const listing = await entities.list(entity, page, viewerOf(request.caller), format, () =>
      clientSignal(reply.raw),
    )
    return present(reply, { entity, page, format, listing, address: `${addresses.query}/${entity.name}` })
  })
}
