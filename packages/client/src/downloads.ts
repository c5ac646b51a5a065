import type { Client } from './client.ts'
import { fileNameIn } from './file-name.ts'
import { brokenLine, CarrelNetworkError, CarrelProblem } from './problem.ts'
import { pause } from './transport.ts'

export interface DownloadOptions {
  readonly signal?: AbortSignal
  /** Called for each piece received. */
  readonly onProgress?: (progress: Progress) => void
  /** The result of an earlier attempt: the number of bytes received, and the entity tag of the file. */
  readonly from?: { readonly bytes: number; readonly etag: string }
  /** Maximum number of successive attempts to resume a broken transfer that yield no byte; 5 by default. */
  readonly attempts?: number
}

export interface Progress {
  /** Number of bytes received, including those of an earlier attempt. */
  readonly done: number
  readonly total: number
}

/** A file whose content is read from `stream`, which resumes broken transfers by itself. */
export interface Download {
  /** The file name that the service sent, or the UUID if it sent none. */
  readonly name: string
  readonly type: string
  /** Size in bytes. */
  readonly size: number
  /** Identifies the content, to resume the download later with `from`. */
  readonly etag: string
  /** The content. Nothing is requested ahead of its reader. */
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>
}

type Anyone = Pick<Client<never>, 'request' | 'post' | 'address' | 'session'>

const contentOf = (bitstream: string) => `/api/core/bitstreams/${encodeURIComponent(bitstream)}/content`

/**
 * Returns an address for a link or a player, which can't send headers. The transfer has to begin within two
 * seconds.
 */
export async function downloadLink(client: Anyone, bitstream: string): Promise<string> {
  return client.address(contentOf(bitstream), await shortLived(client))
}

/** Requests a token that is valid for two seconds, if there is a session. */
async function shortLived(client: Anyone, signal?: AbortSignal): Promise<Record<string, string>> {
  if (!client.session) return {}
  const { token } = await client.post<{ token: string }>('/api/authn/shortlivedtokens', { signal })
  return { 'authentication-token': token }
}

/**
 * @param bitstream the UUID of a file
 * @throws CarrelProblem if the file does not exist or the caller may not read it. The stream fails with
 * `file-changed` if the file was replaced during the transfer, and with CarrelNetworkError if the connection
 * can't be restored.
 */
export async function download(
  client: Anyone,
  bitstream: string,
  options: DownloadOptions = {},
): Promise<Download> {
  const { signal, onProgress, from, attempts = 5 } = options
  let done = from?.bytes ?? 0
  let etag = from?.etag ?? ''
  let failures = 0

  const ask = async (isRepeated = false): Promise<Response> => {
    const query = await shortLived(client, signal)
    const headers = done > 0 ? { range: `bytes=${done}-`, 'if-range': etag } : {}
    try {
      const given = { query, headers: { accept: '*/*', ...headers }, signal, anonymous: true }
      return await client.request('GET', contentOf(bitstream), given)
    } catch (error) {
      // Two seconds may be too short on a slow connection, so a 401 with a session leads to one more attempt.
      const isLate = error instanceof CarrelProblem && error.status === 401 && client.session && !isRepeated
      if (isLate) return ask(true)
      throw error
    }
  }

  const check = (response: Response) => {
    if (done > 0 && response.status !== 206) throw changed()
    const [, first, total] =
      /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? []
    if (done > 0 && Number(first) !== done) throw changed()
    return Number(total ?? response.headers.get('content-length'))
  }

  let response = await ask()
  const size = check(response)
  etag = response.headers.get('etag') ?? etag
  let reader = response.body?.getReader()

  /** @returns undefined at the end of the file */
  async function next(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    for (;;)
      try {
        if (!reader) {
          response = await ask()
          check(response)
          reader = response.body?.getReader()
        }
        const piece = await reader?.read()
        if (piece?.value) {
          failures = 0
          done += piece.value.length
          onProgress?.({ done, total: size })
          return piece.value
        }
        if (done >= size) return undefined
        throw new CarrelNetworkError(`The file broke off after ${done} of ${size} bytes.`)
      } catch (error) {
        const broken = brokenLine(error, `The file broke off after ${done} of ${size} bytes`, signal)
        await reader?.cancel().catch(() => {})
        reader = undefined
        if (!(broken instanceof CarrelNetworkError) || ++failures > attempts) throw broken
        await pause(250 * 2 ** failures, signal)
      }
  }

  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull: async controller => {
        const piece = await next()
        if (piece) controller.enqueue(piece)
        else controller.close()
      },
      cancel: reason => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return {
    name: fileNameIn(response.headers.get('content-disposition') ?? '') ?? bitstream,
    type: response.headers.get('content-type') ?? '',
    size,
    etag,
    stream,
  }
}

const changed = () =>
  new CarrelProblem({
    status: 412,
    code: 'file-changed',
    title: 'The file has changed',
    detail: 'The file is another one than when the download began. Download it again from the start.',
  })
