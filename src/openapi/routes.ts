import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { acceptedEncodings } from '../http/accept.ts'
import { reads } from '../http/access.ts'
import { prefixInUse } from '../http/addresses.ts'
import { contractsIn, type DescribedRoute, routesOf } from '../http/contract.ts'
import { escapeHtml } from '../http/html-page.ts'
import { precondition } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import { RecentlyUsed } from '../lib/memo.ts'
import type { Caller } from '../model/caller.ts'
import type { Entities } from '../storage/entities.ts'
import type { OpenApi, Taken } from './document.ts'
import { type EntityParts, entityParts, identityOfAll, shownTo } from './entity-paths.ts'
import type { Surroundings } from './rules.ts'
import { page, pageFile, policy } from './swagger-ui.ts'

interface Parts {
  readonly config: Surroundings & { readonly basePath: string }
  readonly entities: Pick<Entities, 'all'>
  /** All routes of the service; the list is complete when the first request arrives. */
  readonly routes: readonly DescribedRoute[]
}

const route = contractsIn(() => import('./contracts.ts'))

/**
 * Maximum number of documents that a worker keeps. Each has at most about a megabyte, and there is one for
 * each set of entities that callers are shown.
 */
const maxDocuments = 8

interface Ready extends Joined {
  /** The document compressed with gzip, once it has been requested. */
  packed?: Promise<Buffer>
}

const pack = promisify<Buffer, Buffer>(gzip)

/**
 * `GET /api/openapi.json`: every route as OpenAPI describes it, and `GET /api/docs`, a page about it
 * (docs/decisions/0046).
 */
export function openapiRoutes(app: FastifyInstance, { config, entities, routes }: Parts): void {
  let made: Promise<{ readonly pieces: Pieces; readonly taken: Taken }> | undefined
  /**
   * Makes the document of the service, which is done once, at the first request; a whole document is made
   * once for all callers who may read the same.
   */
  const make = async () => {
    const { describe } = await import('./document.ts')
    const { document, taken } = await describe(routes, config)
    return { pieces: piecesOf(document), taken }
  }
  const madeOnce = () => {
    made ??= make().catch(error => {
      // The next request tries it again.
      made = undefined
      throw error
    })
    return made
  }

  /** Documents by the identity of the entities that they show. */
  const documents = new RecentlyUsed<string, Ready>(maxDocuments)
  async function documentFor(caller: Caller): Promise<Ready> {
    const { pieces, taken } = await madeOnce()
    const shown = shownTo(await entities.all(), caller)
    const identity = identityOfAll(shown)
    let document = documents.get(identity)
    if (!document) {
      document = joined(pieces, entityParts(shown, config, taken))
      documents.add(identity, document)
    }
    return document
  }

  routesOf(app).get(
    '/openapi.json',
    route('showOpenApi', reads('anybody', 'any')),
    async (request, reply) => {
      const document = await documentFor(request.caller)
      const isPacked = acceptedEncodings(request, ['gzip']).length > 0
      // Each encoding is a representation of its own (RFC 9110 §8.8.3).
      const etag = `"${document.etag}${isPacked ? '-gzip' : ''}"`
      reply
        .header('etag', etag)
        .header('cache-control', 'private, no-cache')
        .header('vary', 'Origin, Accept-Encoding')
      if (precondition(request.headers, etag) === 304) return reply.code(304).send()
      reply.type('application/json')
      if (!isPacked) return reply.send(document.body)
      document.packed ??= pack(document.body)
      return reply.header('content-encoding', 'gzip').send(await document.packed)
    },
  )

  routesOf(app).get('/docs', route('showReference', reads('anybody', 'any')), async (request, reply) =>
    reply
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send(page(escapeHtml(prefixInUse(config.basePath, request.originalUrl)))),
  )
  routesOf(app).get<{ Params: { file: string } }>(
    '/docs/:file',
    route('showReferenceFile', reads('anybody', 'any')),
    async (request, reply) => {
      const found = await pageFile(request.params.file, config.csrfHeader)
      if (!found) throw new Problem('not-found', 'The reference page has no such file.')
      const etag = `"${hash('sha256', found.content, 'base64url')}"`
      reply.header('etag', etag).header('cache-control', 'public, max-age=3600')
      if (precondition(request.headers, etag) === 304) return reply.code(304).send()
      return reply.type(found.type).send(found.content)
    },
  )
}

/** A document as text, so that the parts for a reader are inserted without making the rest again. */
interface Pieces {
  readonly beforePaths: string
  readonly paths: string
  readonly schemas: string
  readonly afterSchemas: string
  readonly digest: string
}

/** Members of a JSON object without its braces. */
const members = (object: object) => JSON.stringify(object).slice(1, -1)

function piecesOf({ paths, components, ...first }: OpenApi): Pieces {
  const { schemas = {}, ...others } = components
  const pieces = {
    beforePaths: members(first),
    paths: members(paths),
    schemas: members(schemas),
    afterSchemas: members(others),
  }
  return { ...pieces, digest: hash('sha256', JSON.stringify(pieces), 'base64url') }
}

interface Joined {
  readonly etag: string
  readonly body: Buffer
}

function joined(pieces: Pieces, more: EntityParts): Joined {
  const [paths, schemas] = [members(more.paths), members(more.schemas)]
  const and = (one: string, other: string) => (other === '' ? one : `${one},${other}`)
  return {
    etag: hash('sha256', `${pieces.digest} ${paths} ${schemas}`, 'base64url'),
    body: Buffer.from(
      `{${pieces.beforePaths},"paths":{${and(pieces.paths, paths)}},` +
        `"components":{"schemas":{${and(pieces.schemas, schemas)}},${pieces.afterSchemas}}}`,
    ),
  }
}
