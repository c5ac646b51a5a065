import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { mimeTypeOf } from '../../files/presentation.ts'
import type { Body } from '../../http/access.ts'
import { eventOf } from '../../http/audit.ts'
import { allowSlowBody, endSlowBody } from '../../http/body-pieces.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { lookAgain } from '../../http/guard.ts'
import { objectIn } from '../../http/json-body.ts'
import { parseBoolean, type Query, single } from '../../http/parameters.ts'
import { precondition } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { fileName } from '../../lib/file-name.ts'
import { isMediaType, mediaTypeOf } from '../../lib/media-type.ts'
import type { Bitstream, Bundle } from '../../model/items.ts'
import { bitstreamBody } from '../bodies.ts'
import type { Repository } from '../statements/repository.ts'
import { describedBy, nameChanged, nameFaultOf } from './file-metadata.ts'
import type { EditingParts } from './items.ts'
import { readMetadata, refusingFaults } from './metadata.ts'
import { refuseOutcome } from './outcomes.ts'
import { createReceiver, type Received, type ReceiverParts } from './receive-file.ts'
import { byWriters, writableBitstream, writableBundle } from './rights.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts extends EditingParts, ReceiverParts {
  readonly repository: Repository
}

/**
 * `POST /api/core/bundles/{uuid}/bitstreams` adds a file, and `PUT /api/core/bitstreams/{uuid}/content`
 * replaces one. The content is on disk before the store has a row, and the row before the answer.
 */
export function uploadBitstreamRoutes(app: FastifyInstance, parts: Parts): void {
  const routes = routesOf(app)
  const { repository } = parts
  const receive = createReceiver(parts)
  // The form is read from the stream as it arrives.
  app.addContentTypeParser('multipart/form-data', (_request, body, done) => done(null, body))

  const fileOf = (types: readonly string[]): Body => ({ types, limit: 'CARREL_UPLOAD_SIZE', optional: true })
  type Route = { Params: { uuid: string } }
  const options = { preParsing: allowSlowBody, onResponse: endSlowBody }
  routes.post<Route>(
    '/core/bundles/:uuid/bitstreams',
    {
      ...route('addBitstream', byWriters(fileOf(['multipart/form-data', 'application/json']))),
      ...options,
    },
    async (request, reply) => {
      const { uuid } = await writableBundle(repository, request.caller, request.params.uuid)
      const bitstream = await receive(request, 0, file => add(parts, request, reply, uuid, file))
      return reply.code(201).header('location', bitstream._links.self.href).send(bitstream)
    },
  )
  routes.put<Route>(
    '/core/bitstreams/:uuid/content',
    {
      ...route('replaceContent', byWriters(fileOf(['multipart/form-data']))),
      ...options,
    },
    async (request, reply) => {
      const before = await writableBitstream(repository, request.caller, request.params.uuid)
      const given = single(request.query as Query, 'replaceName')
      const takesName = given !== undefined && parseBoolean('replaceName', given)
      refuseOther(request, before)
      return receive(request, before.size, file => replace(parts, request, reply, before, file, takesName))
    },
  )
}

async function add(
  parts: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
  bundle: Bundle['uuid'],
  file: Received,
) {
  const { limits, repository } = parts
  const { name: given = file.name, description } = readProperties(file.properties)
  if (given === undefined)
    throw new Problem('change-refused', 'The file has no name; give it one in properties.')
  const name = named(reply, given)
  // The right may have been taken away during a long upload.
  await lookAgain(request, reply)
  await writableBundle(repository, request.caller, bundle)
  const uuid = randomUUID()
  const { sha256, size } = file
  const mimeType = typeOf(file.mediaType, name)
  const event = eventOf(request.caller, request, { event: 'bitstream.add', outcome: 'success' })
  const content = { mimeType, sha256, size, quota: limits.quota }
  const outcome = await repository.change(
    { kind: 'add-bitstream', bundle, uuid, name, description, ...content },
    event,
  )
  refuseOutcome(outcome, 'file')
  return shown(parts, uuid)
}

/** The file keeps its UUID, its place, its policies and its description, so that links to it still work. */
async function replace(
  parts: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
  before: Bitstream,
  file: Received,
  takesName: boolean,
) {
  const { limits, repository } = parts
  if (takesName && file.name === undefined)
    throw new Problem('change-refused', 'The file has no name, and replaceName is true.')
  const name = takesName && file.name !== undefined ? named(reply, file.name) : before.name
  await lookAgain(request, reply)
  const { uuid } = await writableBitstream(repository, request.caller, before.uuid)
  const { sha256, size } = file
  const mimeType = typeOf(file.mediaType, file.name ?? name)
  const event = eventOf(request.caller, request, { event: 'bitstream.change', outcome: 'success' })
  const seen = request.headers['if-match'] === undefined ? null : before.sha256
  const content = { mimeType, sha256, size, quota: limits.quota }
  const outcome = await repository.change(
    { kind: 'replace-content', bitstream: uuid, seen, name, ...content },
    event,
  )
  refuseOutcome(outcome, 'file')
  return withReplaced(await shown(parts, uuid), before)
}

async function shown({ addresses, repository }: Parts, uuid: string) {
  const bitstream = await repository.bitstream(uuid)
  if (!bitstream) throw new Problem('not-found', 'The file was deleted meanwhile.')
  return bitstreamBody(bitstream, `${addresses.api}/core`)
}

/**
 * DSpace gives the new content a new UUID, and a field that names the old one. Its interface forgets the
 * answers of all addresses that have this name in them (replace-bitstream-page.component.ts). Here the UUID
 * stays, and the interface also knows the file from the list of its bundle: it must forget both, or it shows
 * the old name, and would save it again.
 */
function withReplaced(body: ReturnType<typeof bitstreamBody>, { name }: Bitstream) {
  const replaced = { value: name, language: null, authority: '/bitstreams', confidence: 600, place: 0 }
  return { ...body, metadata: { ...body.metadata, 'dspace.bitstream.isReplacementOf': [replaced] } }
}

/** @throws Problem 412 if the client has seen another content, whose entity tag is its SHA-256 as in a download */
function refuseOther({ headers }: FastifyRequest, { sha256 }: Bitstream): void {
  if (precondition({ 'if-match': headers['if-match'] }, `"${sha256}"`) === 412) refuseOutcome('stale', 'file')
}

/** Returns the name that the file gets, and marks the response if its client has given another one. */
function named(reply: FastifyReply, given: string): string {
  const { name, isChanged } = fileName(given)
  const fault = nameFaultOf(name)
  if (fault !== undefined) throw new Problem('change-refused', fault)
  if (isChanged) reply.header(nameChanged, 'true')
  return name
}

/** Returns the client's media type; that of the name if the client gave none, or one that says nothing. */
function typeOf(given: string | undefined, name: string): string {
  const type = given === undefined ? '' : mediaTypeOf(given)
  return isMediaType(type) && type !== 'application/octet-stream' ? type : mimeTypeOf(name)
}

interface Properties {
  readonly name: string | undefined
  readonly description: string | null
}

/**
 * Reads the field `properties`: a file as DSpace's clients describe it, as JSON. The Python client writes the
 * media type of the field after the JSON.
 */
function readProperties(text: string | undefined): Properties {
  if (text === undefined) return { name: undefined, description: null }
  const json = text.replace(/;\s*application\/json\s*$/, '')
  const { name, metadata = {} } = objectIn(Buffer.from(json), 'The field properties')
  if (name !== undefined && name !== null && typeof name !== 'string')
    throw new Problem('change-refused', 'The name of a file must be a string.')
  const given = refusingFaults(() => readMetadata(metadata))
  const called = name || given['dc.title']?.[0]?.value
  // No name is required here, because it can be that of the file.
  const described = describedBy({ ...given, 'dc.title': [{ value: 'unnamed', language: null }] })
  return { name: called, description: described.description }
}
