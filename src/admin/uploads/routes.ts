import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { type Body, changes, reads } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { allowSlowBody, endSlowBody } from '../../http/body-pieces.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { lookAgain } from '../../http/guard.ts'
import { halPage, readPage } from '../../http/hal.ts'
import type { Query } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { requireCaller } from '../../http/require-caller.ts'
import { nameOrNull } from '../../lib/file-name.ts'
import { type Caller, isAdministrator } from '../../model/caller.ts'
import { admitUpload } from './admit.ts'
import type { Found, Info, UploadPlace } from './place.ts'
import { answered, offsetStream, requireVersion, Tus, type TusRequest } from './tus.ts'

const route = contractsIn(() => import('./contracts.ts'))
const to = 'upload files'
const toAdministrators = reads('administrator', 'administration', { to })
const byAdministrators = (body: Body) => changes('administrator', 'administration', body, { to })

interface Parts {
  readonly addresses: Addresses
  readonly config: Pick<Config, 'uploads'>
  readonly place: UploadPlace
}

/**
 * `/api/uploads`: files that clients send piece by piece (tus 1.0), until a feature uses them. An upload
 * belongs to its eperson, and goes on at every node that shares its place.
 */
export function uploadRoutes(app: FastifyInstance, { addresses, config, place }: Parts): void {
  const { uploads: limits } = config
  const all = `${addresses.api}/uploads`
  const addressOf = (id: string) => `${all}/${id}`

  const tus = new Tus({ place, maxSize: limits.size, lifetime: limits.lifetime, addressOf })

  const asked = (request: FastifyRequest, reply: FastifyReply): TusRequest => ({
    eperson: mayUpload(request.caller),
    headers: request.headers,
    body: request.raw,
    lookAgain: () => lookAgain(request, reply),
  })

  void app.register(async scope => {
    scope.addContentTypeParser(offsetStream, (_request, _payload, done) => done(null))
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers(answered)
    })
    scope.addHook('onResponse', endSlowBody)
    const checkVersion = async ({ headers }: FastifyRequest) => requireVersion(headers)
    const preParsing = [checkVersion, allowSlowBody]
    type Route = { Params: { id: string } }

    routesOf(scope).options(
      '/uploads',
      route('describeUploads', reads('anybody', 'none')),
      async (request, reply) => answer(request, reply, 204, tus.describe()),
    )
    routesOf(scope).get('/uploads', route('listUploads', toAdministrators), async request => {
      const eperson = mayUpload(request.caller)
      const own = (await place.list()).filter(one => one.eperson === eperson)
      const bodies = own.map(one => bodyOf(one, addressOf(one.id), limits.lifetime))
      return halPage('uploads', bodies, readPage(request.query as Query), all)
    })
    routesOf(scope).post(
      '/uploads',
      {
        ...route('beginUpload', byAdministrators({ ...pieceBody, optional: true })),
        preParsing,
      },
      async (request, reply) => {
        const admit = (id: string, info: Info) => admitUpload({ place, limits }, id, info)
        return answer(request, reply, 201, await tus.begin(asked(request, reply), admit))
      },
    )
    routesOf(scope).head<Route>(
      '/uploads/:id',
      route('showUpload', toAdministrators),
      async (request, reply) => {
        requireVersion(request.headers)
        return answer(request, reply, 200, await tus.show(asked(request, reply), request.params.id))
      },
    )
    routesOf(scope).patch<Route>(
      '/uploads/:id',
      {
        ...route('sendPiece', byAdministrators(pieceBody)),
        preParsing,
      },
      async (request, reply) =>
        answer(request, reply, 204, await tus.append(asked(request, reply), request.params.id)),
    )
    routesOf(scope).delete<Route>(
      '/uploads/:id',
      {
        ...route('removeUpload', byAdministrators('unused')),
        preParsing: checkVersion,
      },
      async (request, reply) => {
        await tus.remove(asked(request, reply), request.params.id)
        return answer(request, reply, 204)
      },
    )
  })
}

function answer(request: FastifyRequest, reply: FastifyReply, status: number, headers: object = {}) {
  // Closing the connection ends the rest of a body that isn't read any more.
  if (!request.raw.complete && request.headers['content-type'] === offsetStream)
    reply.header('connection', 'close')
  return reply
    .code(status)
    .headers({ ...headers })
    .send()
}

const pieceBody = { types: [offsetStream], limit: 'CARREL_UPLOAD_SIZE', optional: false } as const

/** Returns the caller's UUID. @throws Problem 401 or 403 for a caller who may use no upload */
function mayUpload(caller: Caller): string {
  const { session } = requireCaller(caller)
  if (!isAdministrator(caller)) throw new Problem('access-denied', 'Only administrators may upload files.')
  return session.eperson.uuid
}

const bodyOf = (upload: Found, href: string, lifetime: number) => ({
  id: upload.id,
  name: nameOrNull(upload.metadata.filename ?? upload.metadata.name),
  size: upload.size,
  offset: upload.offset,
  begun: upload.begun,
  expires: new Date(upload.changed.getTime() + lifetime).toISOString(),
  type: 'upload',
  _links: { self: { href } },
})
