import type { FastifyRequest } from 'fastify'
import type { FileStore } from '../../files/file-store.ts'
import { toStoreUnavailable } from '../../files/layout.ts'
import { clientOf } from '../../http/connection.ts'
import { readMultipart } from '../../http/multipart.ts'
import { type Query, single } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import type { Content } from '../../model/items.ts'
import type { Uploads } from '../../model/uploads.ts'
import type { Repository } from '../statements/repository.ts'
import { bodyLimit, refuseOutcome } from './outcomes.ts'

export interface ReceiverParts {
  readonly repository: Pick<Repository, 'bytes'>
  readonly files: Pick<FileStore, 'receive' | 'adopt'>
  /** Files that were sent in pieces; undefined if the service takes none. */
  readonly uploads: Uploads | undefined
  readonly limits: UploadLimits
  /** Makes the folder of files this store's own. @returns true if it is */
  readonly claim: () => Promise<boolean>
}

interface UploadLimits {
  /** Maximum size of a file in bytes. */
  readonly size: number
  /** Maximum size of all files together in bytes; null for no limit. */
  readonly quota: number | null
  /** Maximum time in ms during which nothing of a body arrives. */
  readonly patience: number
}

/** A stored file, as its client described it. */
export interface Received extends Content {
  readonly name: string | undefined
  readonly mediaType: string | undefined
  /** The client's description of the file, as JSON. */
  readonly properties: string | undefined
}

/**
 * Receives the file of a request, and uses it.
 * @param freed size in bytes of the file that it replaces
 */
type ReceiveFile = <T>(
  request: FastifyRequest,
  freed: number,
  use: (file: Received) => Promise<T>,
) => Promise<T>

/** Maximum number of files that one event loop receives at the same time. */
const maxUploads = 200

/**
 * Receives files in a form, which are written to disk and hashed while they arrive, or files uploaded before
 * (`?upload=`).
 */
export function createReceiver({ files, uploads, limits, repository, claim }: ReceiverParts): ReceiveFile {
  let underWay = 0

  async function refuseFull(length: number, freed: number): Promise<void> {
    // A form is a little longer than its file.
    if (length - bodyLimit > limits.size)
      throw new Problem('body-too-large', `A file may have at most ${limits.size} bytes.`)
    if (limits.quota !== null && (await repository.bytes()) - freed + length - bodyLimit > limits.quota)
      refuseOutcome('full', 'file')
  }

  async function sent(request: FastifyRequest): Promise<Received> {
    if (!/^multipart\/form-data\s*;/i.test(request.headers['content-type'] ?? ''))
      throw new Problem('unsupported-media-type', 'The body must be multipart/form-data with a boundary.')
    const { fields, file } = await readMultipart(request.raw, limits, async one => {
      const content = await files.receive(one.pieces, clientOf(request)).catch(error => {
        throw toStoreUnavailable(error)
      })
      return { name: one.name, mediaType: one.mediaType, ...content }
    })
    if (!file) throw new Problem('bad-request', 'The form has no part "file" with a file.')
    return { ...file, properties: fields.get('properties') }
  }

  async function uploaded<T>(
    request: FastifyRequest,
    id: string,
    check: (length: number) => Promise<void>,
    use: (file: Received) => Promise<T>,
  ): Promise<T> {
    const { caller } = request
    const owner = caller.kind === 'anonymous' ? '' : caller.session.eperson.uuid
    const upload = await uploads?.take(id, owner)
    if (!upload) throw new Problem('change-refused', 'You have no finished upload of this id.')
    let used = false
    try {
      await check(upload.size)
      const content = await files.adopt(await upload.path()).catch(error => {
        throw toStoreUnavailable(error)
      })
      const properties = Buffer.isBuffer(request.body) ? request.body.toString() : undefined
      const result = await use({
        name: upload.name ?? undefined,
        mediaType: undefined,
        ...content,
        properties: properties || undefined,
      })
      used = true
      return result
    } finally {
      await upload.release(used)
    }
  }

  return async (request, freed, use) => {
    const check = (length: number) => refuseFull(length, freed)
    await check(Number(request.headers['content-length'] ?? 0))
    if (underWay >= maxUploads)
      throw new Problem('busy', 'Too many files are being sent. Retry in a moment.', {
        headers: { 'retry-after': '5' },
      })
    underWay++
    try {
      if (!(await claim()))
        throw new StoreUnavailable('the folder of files belongs to another store; nothing was written')
      const upload = single(request.query as Query, 'upload')
      return await (upload === undefined ? use(await sent(request)) : uploaded(request, upload, check, use))
    } finally {
      underWay--
    }
  }
}
