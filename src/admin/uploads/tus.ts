import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Problem } from '../../http/problems.ts'
import type { Hold } from '../../lib/hold.ts'
import { lockUpload } from './lock.ts'
import { discardUpload, type Found, type Info, isUploadId, newUploadId, type UploadPlace } from './place.ts'
import { receive } from './receive.ts'

/**
 * The protocol by which files are sent piece by piece, tus 1.0.0 with creation, creation-with-upload, expiration and
 * termination (https://tus.io/protocols/resumable-upload).
 */
const version = '1.0.0'
export const offsetStream = 'application/offset+octet-stream'

/** The headers that every answer has. */
export const answered = { 'tus-resumable': version } as const

export interface TusRequest {
  readonly eperson: string
  readonly headers: IncomingHttpHeaders
  readonly body: IncomingMessage
  /** Called when the body has arrived. @throws Problem if the body must not be kept */
  lookAgain(): Promise<unknown>
}

type Answered = Readonly<Record<string, string>>

interface Parts {
  readonly place: UploadPlace
  /** Maximum size of an upload in bytes. */
  readonly maxSize: number
  /** Time in ms after which an unchanged upload expires. */
  readonly lifetime: number
  addressOf(id: string): string
}

/** Maximum length of Upload-Metadata in characters: it is kept as it is. */
const maxMetadata = 4_096

/** The requests of the protocol. Each method returns the headers of the response, or throws a Problem. */
export class Tus {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  describe(): Answered {
    return {
      'tus-version': version,
      'tus-extension': 'creation,creation-with-upload,termination,expiration',
      'tus-max-size': String(this.#parts.maxSize),
    }
  }

  async begin(request: TusRequest, admit: (id: string, info: Info) => Promise<void>): Promise<Answered> {
    const { maxSize, addressOf, place } = this.#parts
    const { headers, eperson } = request
    if (headers['upload-concat'] !== undefined || headers['upload-defer-length'] !== undefined)
      throw new Problem(
        'bad-request',
        'Uploads need their Upload-Length from the start, and can’t be put together.',
      )
    const size = numberIn(headers, 'upload-length')
    if (size > maxSize) throw tooLarge()
    const metadata = metadataIn(headers)
    const id = newUploadId()
    const begun = new Date()
    await admit(id, { eperson, size, metadata, begun: begun.toISOString() })
    const made = { location: addressOf(id) }
    if (headers['content-type'] !== offsetStream)
      return { ...made, ...this.#expiry(0, size, begun.getTime()) }
    // No other request knows it yet, so there is no lock.
    const never = new AbortController().signal
    const offset = await this.#add(request, { id, size, offset: 0 }, never, () => place.remove(id))
    return { ...made, 'upload-offset': String(offset), ...this.#expiry(offset, size, begun.getTime()) }
  }

  show(request: TusRequest, id: string): Promise<Answered> {
    return this.#locked(request, id, async ({ offset, size, metadata }) => ({
      'cache-control': 'no-store',
      'upload-offset': String(offset),
      'upload-length': String(size),
      'upload-metadata': printMetadata(metadata),
    }))
  }

  append(request: TusRequest, id: string): Promise<Answered> {
    return this.#locked(request, id, async (found, lock, stop) => {
      const { size, changed } = found
      if (numberIn(request.headers, 'upload-offset') !== found.offset)
        throw new Problem('upload-offset', 'Upload-Offset is not where this upload ends.')
      const offset = await this.#add(request, found, stop, async added => {
        // A request that has taken the upload meanwhile goes on after these bytes.
        if (await lock.isOurs()) await added.undo()
      })
      return { 'upload-offset': String(offset), ...this.#expiry(offset, size, changed.getTime()) }
    })
  }

  remove(request: TusRequest, id: string): Promise<void> {
    return this.#locked(request, id, async () => {
      const done = await discardUpload(this.#parts.place, id)
      if (done === 'gone') throw this.#absent()
      if (done === 'held')
        throw new Problem('upload-in-use', 'Something is being made of this upload.', {
          headers: { 'retry-after': '5' },
        })
    })
  }

  #absent(): Problem {
    return new Problem('not-found', this.#parts.place.absent)
  }

  /** Finds an upload of the caller's. Other epersons don't learn that it exists. */
  async #own(id: string, eperson: string): Promise<Found> {
    const found = await this.#parts.place.find(id)
    if (found?.eperson !== eperson) throw this.#absent()
    return found
  }

  /** Works on an upload alone. An earlier request that still adds to it is ended. */
  async #locked<T>(
    { eperson }: TusRequest,
    id: string,
    work: (found: Found, lock: Hold, stop: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (!isUploadId(id)) throw this.#absent()
    await this.#own(id, eperson)
    const stop = new AbortController()
    const lock = await lockUpload(this.#parts.place, id, () => stop.abort())
    try {
      const found = await this.#own(id, eperson)
      // The lifetime is counted from the last byte.
      if (Date.now() > found.changed.getTime() + this.#parts.lifetime) throw this.#absent()
      return await work(found, lock, stop.signal)
    } finally {
      await lock.release()
    }
  }

  /** Adds the body. @param undo takes the bytes back when they must not be kept @returns the new offset */
  async #add(
    { body, eperson, headers, lookAgain }: TusRequest,
    { id, size, offset }: Pick<Found, 'id' | 'size' | 'offset'>,
    signal: AbortSignal,
    undo: (added: { undo(): Promise<void> }) => Promise<void>,
  ): Promise<number> {
    const most = size - offset
    if (Number(headers['content-length'] ?? 0) > most) throw tooLarge()
    const added = await receive(body, { place: this.#parts.place, eperson, id, offset, most, signal })
    try {
      await lookAgain()
    } catch (error) {
      await undo(added)
      throw error
    }
    await added.settle()
    return added.end
  }

  #expiry(offset: number, size: number, changed: number): Answered {
    if (offset >= size) return {}
    return { 'upload-expires': new Date(changed + this.#parts.lifetime).toUTCString() }
  }
}

const tooLarge = () =>
  new Problem('body-too-large', 'The upload is larger than it may be, or than its Upload-Length.')

/** @throws Problem for a request of another version, or without one */
export function requireVersion({ 'tus-resumable': given }: IncomingHttpHeaders): void {
  if (given !== version)
    throw new Problem('tus-version', `The header Tus-Resumable is missing, or not ${version}.`, {
      headers: { 'tus-version': version },
    })
}

/** Reads a number of bytes. @throws Problem */
function numberIn(headers: IncomingHttpHeaders, name: 'upload-length' | 'upload-offset'): number {
  const given = headers[name]
  if (typeof given === 'string' && /^(0|[1-9]\d{0,14})$/.test(given)) return Number(given)
  const header = name.replace(/(^|-)./g, letter => letter.toUpperCase())
  throw new Problem('bad-request', `${header} must be there: a whole number of at most 15 digits.`)
}

/**
 * Reads keys with values in base 64, such as `filename YQ==,empty`.
 * @throws Problem for anything else, and for a key that is there twice
 */
function metadataIn({ 'upload-metadata': given }: IncomingHttpHeaders): Info['metadata'] {
  const text = given === undefined ? '' : String(given)
  if (text.length > maxMetadata)
    throw new Problem('bad-request', `Upload-Metadata is longer than ${maxMetadata} characters.`)
  const found = new Map<string, string | null>()
  for (const pair of given === undefined ? [] : text.split(',')) {
    const [, key = '', value] =
      /^([!-+\--~]+)(?: ((?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?))?$/.exec(pair) ?? []
    if (key === '' || key === '__proto__' || found.has(key))
      throw new Problem(
        'bad-request',
        'Upload-Metadata must be keys that differ, each with a value in base 64 or none.',
      )
    found.set(key, value ? Buffer.from(value, 'base64').toString() : null)
  }
  return Object.fromEntries(found)
}

const printMetadata = (metadata: Info['metadata']): string =>
  Object.entries(metadata)
    .map(([key, value]) => (value === null ? key : `${key} ${Buffer.from(value).toString('base64')}`))
    .join(',')
