import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LookAgain } from '../../authn/look-again.ts'
import type { Config } from '../../config/config.ts'
import { changes, reads } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { allowSlowBody, endSlowBody } from '../../http/body-pieces.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { halPage, readPage } from '../../http/hal.ts'
import type { Query } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { requireCaller } from '../../http/require-caller.ts'
import { nameOrNull } from '../../lib/file-name.ts'
import { type Caller, isAdministrator } from '../../model/caller.ts'
import { admitUpload } from './admit.ts'
import { type Found, isUploadId, type UploadPlace } from './place.ts'
import type { Tus, TusRequest } from './tus.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly config: Pick<Config, 'uploads'>
  readonly place: UploadPlace
  readonly lookAgain: LookAgain
}

/** Maximum length of Upload-Metadata in characters: it is kept as it is. */
const maxMetadata = 4_096
const offsetStream = 'application/offset+octet-stream'

/**
 * `/api/uploads`: files that clients send piece by piece (tus 1.0), until a feature uses them. An upload
 * belongs to its eperson, and goes on at every node that shares its place.
 */
export function uploadRoutes(app: FastifyInstance, { addresses, config, place, lookAgain }: Parts): void {
  const { uploads: limits } = config
  const all = `${addresses.api}/uploads`
  const addressOf = (id: string) => `${all}/${id}`

  // The library is loaded with the first upload.
  let tus: Promise<Tus> | undefined
  const library = () => {
    tus ??= import('./tus.ts').then(({ createTus }) =>
      createTus({ place, maxSize: limits.size, lifetime: limits.lifetime, addressOf }),
    )
    return tus
  }

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    method: TusRequest['method'],
    eperson: string,
    id?: string,
  ) {
    if (id !== undefined && !isUploadId(id)) throw new Problem('not-found', place.absent)
    const run = await library()
    const { status, headers } = await run({
      method,
      headers: headersOf(request),
      ...(id === undefined ? {} : { id }),
      eperson,
      body: request.raw,
      admit: (added, info) => admitUpload({ place, limits }, added, info),
      lookAgain: () => lookAgain.thoughExpired(request, reply),
    })
    for (const [name, value] of headers) if (passedOn.has(name)) reply.header(name, value)
    // Closing the connection ends the rest of a body that isn't read any more.
    if (!request.raw.complete && request.headers['content-type'] === offsetStream)
      reply.header('connection', 'close')
    return reply.code(status).send()
  }

  void app.register(async scope => {
    scope.addContentTypeParser(offsetStream, (_request, _payload, done) => done(null))
    scope.addHook('onRequest', async (_request, reply) => {
      reply.header('tus-resumable', '1.0.0')
    })
    scope.addHook('onResponse', endSlowBody)
    const preParsing = [checkHeaders, allowSlowBody]
    type Route = { Params: { id: string } }

    routesOf(scope).options(
      '/uploads',
      route('describeUploads', reads('anybody', 'none')),
      async (request, reply) => answer(request, reply, 'OPTIONS', ''),
    )
    routesOf(scope).get(
      '/uploads',
      route('listUploads', reads('administrator', 'administration', { to: 'upload files' })),
      async request => {
        const eperson = mayUpload(request.caller)
        const own = (await place.list()).filter(one => one.eperson === eperson)
        const bodies = own.map(one => bodyOf(one, addressOf(one.id), limits.lifetime))
        return halPage('uploads', bodies, readPage(request.query as Query), all)
      },
    )
    routesOf(scope).post(
      '/uploads',
      {
        ...route(
          'beginUpload',
          changes(
            'administrator',
            'administration',
            { ...pieceBody, optional: true },
            { to: 'upload files' },
          ),
        ),
        preParsing,
      },
      async (request, reply) => answer(request, reply, 'POST', mayUpload(request.caller)),
    )
    routesOf(scope).head<Route>(
      '/uploads/:id',
      route('showUpload', reads('administrator', 'administration', { to: 'upload files' })),
      async (request, reply) => answer(request, reply, 'HEAD', mayUpload(request.caller), request.params.id),
    )
    routesOf(scope).patch<Route>(
      '/uploads/:id',
      {
        ...route('sendPiece', changes('administrator', 'administration', pieceBody, { to: 'upload files' })),
        preParsing,
      },
      async (request, reply) => answer(request, reply, 'PATCH', mayUpload(request.caller), request.params.id),
    )
    routesOf(scope).delete<Route>(
      '/uploads/:id',
      {
        ...route(
          'removeUpload',
          changes('administrator', 'administration', 'unused', { to: 'upload files' }),
        ),
        preParsing: checkHeaders,
      },
      async (request, reply) =>
        answer(request, reply, 'DELETE', mayUpload(request.caller), request.params.id),
    )
  })
}

const pieceBody = { types: [offsetStream], limit: 'CARREL_UPLOAD_SIZE', optional: false } as const

/** Returns the caller's UUID. @throws Problem 401 or 403 for a caller who may use no upload */
function mayUpload(caller: Caller): string {
  const { session } = requireCaller(caller)
  if (!isAdministrator(caller)) throw new Problem('access-denied', 'Only administrators may upload files.')
  return session.eperson.uuid
}

/** Checks headers that the library would accept, or refuse with another status than tus requires. */
async function checkHeaders({ headers }: FastifyRequest): Promise<void> {
  if (headers['tus-resumable'] !== '1.0.0')
    throw new Problem('tus-version', 'The header Tus-Resumable is missing, or not 1.0.0.', {
      headers: { 'tus-version': '1.0.0' },
    })
  const metadata = String(headers['upload-metadata'] ?? '')
  if (metadata.length > maxMetadata)
    throw new Problem('bad-request', `Upload-Metadata is longer than ${maxMetadata} characters.`)
  if (/(^|,)__proto__( |,|$)/.test(metadata))
    throw new Problem('bad-request', 'Upload-Metadata must not have the key __proto__.')
  const given = headers['upload-length'] ?? headers['upload-offset']
  if (given !== undefined && !/^\d{1,15}$/.test(String(given)))
    throw new Problem(
      'bad-request',
      'Upload-Length and Upload-Offset must be whole numbers of at most 15 digits.',
    )
}

/** Headers that are passed to the library. */
const known = [
  'content-length',
  'content-type',
  'tus-resumable',
  'upload-concat',
  'upload-defer-length',
  'upload-length',
  'upload-metadata',
  'upload-offset',
]

const headersOf = ({ headers }: FastifyRequest): Record<string, string> =>
  Object.fromEntries(
    known.flatMap(name => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  )

/** Headers of the library's answer that are passed on. The service has its own CORS, and its own problems. */
const passedOn = new Set([
  'cache-control',
  'location',
  'tus-extension',
  'tus-max-size',
  'tus-version',
  'upload-expires',
  'upload-length',
  'upload-metadata',
  'upload-offset',
])

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
