import type { FastifyRequest } from 'fastify'
import { clientOf } from '../http/connection.ts'
import { halPart, readPage, windowOf } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { viewerOf } from '../model/caller.ts'
import { listOf } from '../model/plan.ts'
import { rowsIn } from '../model/record-format.ts'
import type { Entities } from '../storage/entities.ts'

interface Listed<Row> {
  /** Name of the entity, and key in `_embedded`. */
  readonly name: string
  readonly self: string
  readonly body: (row: Row) => object
}

/** Maximum number of records on a page, because their metadata may be long. Clients that want more follow `next`. */
const maxRecords = 100

/** Lists a page of the records of an entity that the caller sees (Q11), in the order of the key. */
export async function listPage<Row>(
  entities: Entities,
  { name, self, body }: Listed<Row>,
  request: FastifyRequest,
) {
  const page = readPage(request.query as Query, maxRecords)
  const entity = (await entities.all()).get(name)
  if (!entity) throw new Error(`there is no entity ${name}`)
  const listing = await entities.list(
    listOf(entity, { order: [], ...windowOf(page), total: true }),
    viewerOf(request.caller),
    'json',
    clientOf(request),
  )
  const rows = await rowsIn<Row>(listing.body)
  return halPart(name, rows.map(body), listing.total ?? rows.length, page, self)
}
