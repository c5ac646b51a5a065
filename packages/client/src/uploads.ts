import type { Client } from './client.ts'
import { CarrelNetworkError, CarrelProblem } from './problem.ts'
import { counting } from './send-counted.ts'
import { pause } from './transport.ts'

export interface UploadOptions {
  /** The name of the file; that of a File by default. */
  readonly name?: string
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: UploadProgress) => void
}

export interface UploadProgress {
  /** Number of bytes of the file sent. */
  readonly done: number
  readonly total: number
}

interface Bitstream {
  readonly uuid: string
  readonly name: string
  readonly sizeBytes: number
}

type Anyone = Pick<Client<never>, 'request' | 'post'>

const nameOf = (file: Blob, name?: string) => name ?? (file as Partial<File>).name ?? 'file'

/**
 * Adds a file to a bundle of an item in one request. In Node, `fs.openAsBlob` returns a Blob of a file
 * without reading it.
 *
 * @param metadata such as `{ 'dc.description': [{ value: 'A letter' }] }`
 */
export async function uploadFile<T = Bitstream>(
  client: Anyone,
  bundle: string,
  file: Blob,
  { name, metadata, signal, onProgress }: UploadOptions & { readonly metadata?: object } = {},
): Promise<T> {
  const properties = { name: nameOf(file, name), ...(metadata ? { metadata } : {}) }
  const form = () => {
    const made = new FormData()
    made.append('properties', JSON.stringify(properties))
    made.append('file', file, properties.name)
    return made
  }
  return client.post<T>(`/api/core/bundles/${encodeURIComponent(bundle)}/bitstreams`, {
    body: form,
    signal,
    ...counting(done => onProgress?.({ done: Math.min(done, file.size), total: file.size })),
  })
}

export interface PieceOptions extends UploadOptions {
  /** The id of an earlier upload of the same file, which is resumed. */
  readonly resume?: string
  /** Called with the id as soon as it is known. Stored, it allows the upload to be resumed after a reload. */
  readonly onBegun?: (id: string) => void
  /** Size of a piece in bytes; 8 MiB by default. */
  readonly pieceSize?: number
  /** Maximum number of successive attempts to resume a broken upload that send no byte; 5 by default. */
  readonly attempts?: number
}

const tus = { 'tus-resumable': '1.0.0' }
const mebibyte = 1024 * 1024

/**
 * Sends a file in pieces (tus 1.0), and resumes after a broken connection. For administrators.
 *
 * @returns the id, used as `?upload=` for an import, an ingest, or the files of a bundle
 */
export async function uploadInPieces(
  client: Anyone,
  file: Blob,
  { name, signal, onProgress, resume, onBegun, pieceSize = 8 * mebibyte, attempts = 5 }: PieceOptions = {},
): Promise<string> {
  const total = file.size
  const id = resume ?? (await begin(client, file, nameOf(file, name), signal))
  if (resume === undefined) onBegun?.(id)
  const path = `/api/uploads/${encodeURIComponent(id)}`
  const told = (done: number) => onProgress?.({ done: Math.min(done, total), total })

  const where = async () => offsetIn(await client.request('HEAD', path, { headers: tus, signal }))
  const send = async (offset: number) =>
    offsetIn(
      await client.request('PATCH', path, {
        headers: {
          ...tus,
          'upload-offset': String(offset),
          'content-type': 'application/offset+octet-stream',
        },
        body: () => file.slice(offset, offset + pieceSize),
        signal,
        ...counting(sent => told(offset + sent)),
      }),
    )

  let offset = resume === undefined ? 0 : undefined
  for (let failures = 0; offset === undefined || offset < total; )
    try {
      offset ??= await where()
      if (offset < total) offset = await send(offset)
      told(offset)
      failures = 0
    } catch (error) {
      signal?.throwIfAborted()
      if (!isBroken(error) || ++failures > attempts) throw error
      await pause(250 * 2 ** failures, signal)
      // The service is asked how many bytes have arrived.
      offset = undefined
    }
  return id
}

async function begin(client: Anyone, file: Blob, name: string, signal?: AbortSignal): Promise<string> {
  const bytes = String.fromCharCode(...new TextEncoder().encode(name))
  const headers = { ...tus, 'upload-length': String(file.size), 'upload-metadata': `filename ${btoa(bytes)}` }
  const response = await client.request('POST', '/api/uploads', { headers, signal })
  const id = response.headers.get('location')?.split('/').at(-1)
  if (!id) throw new TypeError('The service did not say where the upload is.')
  return id
}

function offsetIn(response: Response): number {
  const offset = Number(response.headers.get('upload-offset') ?? Number.NaN)
  if (Number.isNaN(offset)) throw new TypeError('The service did not say how far the upload has come.')
  return offset
}

/**
 * True if the connection broke, another request still holds the upload, or the service is away for a moment.
 */
const isBroken = (error: unknown) =>
  error instanceof CarrelNetworkError ||
  (error instanceof CarrelProblem && [409, 423, 502, 503, 504].includes(error.status))
