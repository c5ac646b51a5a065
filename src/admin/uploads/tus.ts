import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import { DataStore, ERRORS, type Locker, Server, Upload } from '@tus/server'
import { Problem } from '../../http/problems.ts'
import type { Hold } from '../../lib/hold.ts'
import { lockUpload } from './lock.ts'
import { discardUpload, type Info, newUploadId, type UploadPlace } from './place.ts'
import { receive } from './receive.ts'

/**
 * The only file that uses the tus library (https://tus.io/protocols/resumable-upload). The library checks
 * headers, versions and offsets; the bytes go from the connection to the place without its streams, which
 * would copy them four times.
 */
export interface TusRequest {
  readonly method: 'OPTIONS' | 'POST' | 'HEAD' | 'PATCH' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  /** The upload's id; missing for a new one. */
  readonly id?: string
  readonly eperson: string
  readonly body: IncomingMessage
  /** Adds an upload. @throws Problem if it is refused */
  admit(id: string, info: Info): Promise<void>
  /** Called when the body has arrived. @throws Problem if the body must not be kept */
  lookAgain(): Promise<unknown>
}

export interface TusAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
}

export type Tus = (request: TusRequest) => Promise<TusAnswer>

interface Parts {
  readonly place: UploadPlace
  /** Maximum size of an upload in bytes. */
  readonly maxSize: number
  /** Time in ms after which an unchanged upload expires. */
  readonly lifetime: number
  addressOf(id: string): string
}

interface Context extends TusRequest {
  readonly stop: AbortController
  lock?: Hold
  /** The original error, which the library would turn into text. */
  problem?: unknown
}

export function createTus({ place, maxSize, lifetime, addressOf }: Parts): Tus {
  const contexts = new AsyncLocalStorage<Context>()
  const current = (): Context => {
    const context = contexts.getStore()
    if (!context) throw new Error('there is no request')
    return context
  }

  class Uploads extends DataStore {
    override extensions = ['creation', 'creation-with-upload', 'termination', 'expiration']

    override async create(upload: Upload): Promise<Upload> {
      const { eperson, admit } = current()
      const size = upload.size ?? 0
      const begun = new Date().toISOString()
      await admit(upload.id, { eperson, size, metadata: { ...upload.metadata }, begun })
      upload.creation_date = begun
      return upload
    }

    override async write(_: unknown, id: string, offset: number): Promise<number> {
      const found = await place.find(id)
      if (!found) throw ERRORS.FILE_NOT_FOUND
      const { body, eperson, lock, lookAgain, method, stop } = current()
      const most = found.size - offset
      const added = await receive(body, { place, eperson, id, offset, most, signal: stop.signal })
      try {
        await lookAgain()
      } catch (error) {
        if (method === 'POST') await place.remove(id)
        // A request that has taken the upload meanwhile goes on after these bytes.
        else if (await lock?.isOurs()) await added.undo()
        throw error
      }
      await added.settle()
      return added.end
    }

    override async getUpload(id: string): Promise<Upload> {
      const found = await place.find(id)
      // Other epersons don't learn that the upload exists.
      if (found?.eperson !== current().eperson) throw ERRORS.FILE_NOT_FOUND
      const { size, offset, metadata, changed } = found
      // The lifetime is counted from the last byte.
      return new Upload({ id, size, offset, metadata, creation_date: changed.toISOString() })
    }

    override async remove(id: string): Promise<void> {
      await this.getUpload(id)
      const done = await discardUpload(place, id)
      if (done === 'gone') throw ERRORS.FILE_NOT_FOUND
      if (done === 'held') throw inUse()
    }

    override getExpiration = () => lifetime
  }

  const locker: Locker = {
    newLock: id => ({
      lock: async () => {
        const context = current()
        // A new upload isn't there yet, and no other request knows it.
        if (context.method === 'POST') return
        const found = await place.find(id)
        if (found?.eperson !== context.eperson) throw ERRORS.FILE_NOT_FOUND
        context.lock = await lockUpload(place, id, () => context.stop.abort())
      },
      unlock: async () => current().lock?.release(),
    }),
  }

  const server = new Server({
    path: '/uploads',
    datastore: new Uploads(),
    locker,
    maxSize,
    namingFunction: newUploadId,
    generateUrl: (_, { id }) => addressOf(id),
    getFileIdFromRequest: () => current().id,
    onResponseError: (_, error) => {
      current().problem = error
      return undefined
    },
  })

  return request => {
    const context: Context = { ...request, stop: new AbortController() }
    return contexts.run(context, async () => {
      const { method, headers } = request
      // The request has no body for the library: `write` reads the body.
      const response = await server.handleWeb(
        new Request(`http://localhost/uploads/${request.id ?? ''}`, { method, headers }),
      )
      if (context.problem instanceof Error) throw context.problem
      if (response.status >= 400) throw problemOf(response.status, (await response.text()).trim(), place)
      return { status: response.status, headers: new Map(response.headers) }
    })
  }
}

const inUse = () =>
  new Problem('upload-in-use', 'Something is being made of this upload.', { headers: { 'retry-after': '5' } })

/** Turns the library's error into a problem. */
function problemOf(status: number, text: string, { absent }: UploadPlace): Problem {
  switch (status) {
    case 404:
    case 410:
      return new Problem('not-found', absent)
    case 409:
      return new Problem('upload-offset', 'Upload-Offset is not where this upload ends.')
    case 413:
      return new Problem('body-too-large', 'The upload is larger than it may be, or than its Upload-Length.')
    case 501:
      return new Problem(
        'bad-request',
        'Uploads need their Upload-Length from the start, and can’t be put together.',
      )
    default:
      return new Problem('bad-request', `The headers of the upload are not right: ${text}.`)
  }
}
