import type { Client } from './client.ts'
import { CarrelNetworkError, CarrelProblem } from './problem.ts'
import { counting } from './send-counted.ts'
import { pause } from './transport.ts'

export interface UploadOptions {
  /** Of the file; that of a File unless told otherwise. */
  readonly name?: string
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: UploadProgress) => void
}

export interface UploadProgress {
  /** Bytes of the file that were sent. */
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
 * Adds a file to a bundle of an item, in one request. In Node, `fs.openAsBlob` makes a Blob of a file without reading it.
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
  /** The id of an upload that was begun earlier, of the same file. */
  readonly resume?: string
  /** Called with the id as soon as there is one: kept, it can be resumed after a reload. */
  readonly onBegun?: (id: string) => void
  /** In bytes; 8 MiB unless told otherwise. */
  readonly pieceSize?: number
  /** How often a broken line is taken up again without a byte having gone; 5 times unless told otherwise. */
  readonly attempts?: number
}

const tus = { 'tus-resumable': '1.0.0' }
const mebibyte = 1024 * 1024

/**
 * Sends a file piece by piece (tus 1.0), and goes on where it stopped after a broken line. For administrators.
 * @returns the id: for `?upload=` of an import, of an ingest, or of the files of a bundle
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
      // What had arrived by then counts.
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

/** The line broke, another request still has the upload, or the service is away for a moment. */
const isBroken = (error: unknown) =>
  error instanceof CarrelNetworkError ||
  (error instanceof CarrelProblem && [409, 423, 502, 503, 504].includes(error.status))
