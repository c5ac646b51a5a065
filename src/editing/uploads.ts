import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AskAgain } from '../authn/ask-again.ts'
import { eventOf } from '../authn/audit.ts'
import { bitstreamBody } from '../dspace/bodies.ts'
import type { FileStore } from '../files/file-store.ts'
import { toStoreUnavailable } from '../files/layout.ts'
import { mimeTypeOf } from '../files/mime-types.ts'
import { readMultipart } from '../http/multipart.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { allowSlowBody, endSlowBody } from '../http/slow-bodies.ts'
import { isMediaType, mediaTypeOf } from '../lib/media-type.ts'
import { StoreUnavailable } from '../model/errors.ts'
import type { Bundle, Content } from '../model/items.ts'
import type { Uploads } from '../model/uploads.ts'
import { bodyLimit, parseObject } from './bodies.ts'
import { describedBy, nameFaultOf } from './file-metadata.ts'
import { refusingPatchFaults } from './item-values.ts'
import type { EditingParts } from './items.ts'
import { readMetadata, refusingFaults } from './metadata.ts'
import { refuseOutcome } from './outcomes.ts'
import { writableBundle, writeHooks } from './rights.ts'

interface Parts extends EditingParts {
  readonly files: Pick<FileStore, 'receive' | 'keep'>
  /** Files that were sent in pieces; undefined: the service takes none. */
  readonly uploads: Uploads | undefined
  readonly limits: UploadLimits
  readonly askAgain: AskAgain
  /** Makes the folder of files this store's own. @returns whether it is */
  readonly claim: () => Promise<boolean>
}

export interface UploadLimits {
  /** Bytes of a file. */
  readonly size: number
  /** Bytes of all files; null: no limit. */
  readonly quota: number | null
  /** In ms: how long nothing may arrive of a body. */
  readonly patience: number
}

/** A file that has been kept, as its client described it. */
interface Received extends Content {
  readonly name: string | undefined
  readonly mediaType: string | undefined
}

/** Of one event loop at the same time. */
const maxUploads = 200

/**
 * `POST /api/core/bundles/{uuid}/bitstreams`: a file in a form, written to disk and hashed while it arrives, or one that
 * was uploaded before (`?upload=`). The file is on disk before the store has a row, and the row before the answer.
 */
export function uploadBitstreamRoutes(app: FastifyInstance, parts: Parts): void {
  const { addresses, files, uploads, limits, repository, claim, askAgain } = parts
  const core = `${addresses.api}/core`
  let underWay = 0
  // What a form is read by, as it arrives.
  app.addContentTypeParser('multipart/form-data', (_request, body, done) => done(null, body))

  type Route = { Params: { uuid: string } }
  app.post<Route>(
    '/core/bundles/:uuid/bitstreams',
    { preParsing: [...writeHooks, allowSlowBody], onResponse: endSlowBody, bodyLimit },
    async (request, reply) => {
      const { uuid } = await writableBundle(repository, request.caller, request.params.uuid)
      await refuseFull(Number(request.headers['content-length'] ?? 0))
      if (underWay >= maxUploads)
        throw new Problem('busy', 'Too many files are being sent. Retry in a moment.', {
          headers: { 'retry-after': '5' },
        })
      underWay++
      try {
        if (!(await claim()))
          throw new StoreUnavailable('the folder of files belongs to another store; nothing was written')
        const upload = single(request.query as Query, 'upload')
        const bitstream =
          upload === undefined ? await sent(request, uuid) : await uploaded(request, uuid, upload)
        return reply.code(201).header('location', bitstream._links.self.href).send(bitstream)
      } finally {
        underWay--
      }
    },
  )

  async function refuseFull(length: number): Promise<void> {
    // A form is a little longer than its file.
    if (length - bodyLimit > limits.size)
      throw new Problem('body-too-large', `A file may have at most ${limits.size} bytes.`)
    if (limits.quota !== null && (await repository.bytes()) + length - bodyLimit > limits.quota)
      refuseOutcome('full', 'file')
  }

  async function sent(request: FastifyRequest, bundle: string) {
    if (!/^multipart\/form-data\s*;/i.test(request.headers['content-type'] ?? ''))
      throw new Problem('unsupported-media-type', 'The body must be multipart/form-data with a boundary.')
    const { fields, file } = await readMultipart<Received>(request.raw, limits, async one => {
      const content = await files.receive(one.pieces).catch(error => {
        throw toStoreUnavailable(error)
      })
      return { name: one.name, mediaType: one.mediaType, ...content }
    })
    if (!file) throw new Problem('bad-request', 'The form has no part "file" with a file.')
    return add(request, bundle, file, fields.get('properties'))
  }

  async function uploaded(request: FastifyRequest, bundle: string, id: string) {
    const { caller } = request
    const owner = caller.kind === 'anonymous' ? '' : caller.session.eperson.uuid
    const upload = await uploads?.take(id, owner)
    if (!upload) throw new Problem('change-refused', 'You have no finished upload of this id.')
    let used = false
    try {
      await refuseFull(upload.size)
      const content = await files.keep(upload.path).catch(error => {
        throw toStoreUnavailable(error)
      })
      const properties = Buffer.isBuffer(request.body) ? request.body.toString() : undefined
      // As of a file in a form, the name is what follows the path.
      const name = upload.name?.split(/[/\\]/).at(-1) || undefined
      const file = { name, mediaType: undefined, ...content }
      const bitstream = await add(request, bundle, file, properties || undefined)
      used = true
      return bitstream
    } finally {
      await uploads?.release(upload, used)
    }
  }

  async function add(
    request: FastifyRequest,
    bundle: Bundle['uuid'],
    { name: sentName, mediaType, sha256, size }: Received,
    properties: string | undefined,
  ) {
    const { name = sentName, description } = readProperties(properties)
    if (name === undefined)
      throw new Problem('change-refused', 'The file has no name; give it one in properties.')
    const fault = nameFaultOf(name)
    if (fault !== undefined) throw new Problem('change-refused', fault)
    // A long upload: the right may have been taken away meanwhile.
    await askAgain(request)
    await writableBundle(repository, request.caller, bundle)
    const uuid = randomUUID()
    const outcome = await repository.change(
      {
        kind: 'add-bitstream',
        bundle,
        uuid,
        name,
        description,
        mimeType: typeOf(mediaType, name),
        sha256,
        size,
        quota: limits.quota,
      },
      eventOf(request.caller, request, { event: 'bitstream.add', outcome: 'success' }),
    )
    refuseOutcome(outcome, 'file')
    const bitstream = await repository.bitstream(uuid)
    if (!bitstream) throw new Problem('not-found', 'The file was deleted meanwhile.')
    return bitstreamBody(bitstream, core)
  }
}

/** What a client calls the type, unless it doesn't know better than the name tells. */
function typeOf(given: string | undefined, name: string): string {
  const type = given === undefined ? '' : mediaTypeOf(given)
  return isMediaType(type) && type !== 'application/octet-stream' ? type : mimeTypeOf(name)
}

interface Properties {
  readonly name: string | undefined
  readonly description: string | null
}

/**
 * The field `properties`: what DSpace's clients say of a file, as JSON. The Python client writes the media type of the
 * field behind it.
 */
function readProperties(text: string | undefined): Properties {
  if (text === undefined) return { name: undefined, description: null }
  const json = text.replace(/;\s*application\/json\s*$/, '')
  const { name, metadata = {} } = parseObject(Buffer.from(json), 'The field properties')
  if (name !== undefined && name !== null && typeof name !== 'string')
    throw new Problem('change-refused', 'The name of a file must be a string.')
  const given = refusingFaults(() => readMetadata(metadata))
  const called = name || given['dc.title']?.[0]?.value
  // A name is taken from the file where none is given here.
  const described = refusingPatchFaults(() =>
    describedBy({ ...given, 'dc.title': [{ value: called ?? 'unnamed', language: null }] }),
  )
  return { name: called, description: described.description }
}
