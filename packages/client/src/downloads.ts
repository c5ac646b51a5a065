import type { Client } from './client.ts'
import { fileNameIn } from './file-name.ts'
import { brokenLine, CarrelNetworkError, CarrelProblem } from './problem.ts'
import { pause } from './transport.ts'

export interface DownloadOptions {
  readonly signal?: AbortSignal
  /** Called with each piece. */
  readonly onProgress?: (progress: Progress) => void
  /** What is there of an earlier attempt: so many bytes of the file that had this tag. */
  readonly from?: { readonly bytes: number; readonly etag: string }
  /** How often a broken line is taken up again without a byte having come; 5 times unless told otherwise. */
  readonly attempts?: number
}

export interface Progress {
  /** Bytes so far, those of an earlier attempt included. */
  readonly done: number
  readonly total: number
}

/** A file whose bytes are read from `stream`; broken lines are taken up again there. */
export interface Download {
  /** The file name that the service sent, or the UUID if it sent none. */
  readonly name: string
  readonly type: string
  /** In bytes. */
  readonly size: number
  /** Says which content it is: for going on later, with `from`. */
  readonly etag: string
  /** Nothing is read before it is asked for. */
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>
}

type Anyone = Pick<Client<never>, 'request' | 'post' | 'address' | 'session'>

const contentOf = (bitstream: string) => `/api/core/bitstreams/${encodeURIComponent(bitstream)}/content`

/** An address for a link or a player, which can send no header. The transfer has to begin within two seconds. */
export async function downloadLink(client: Anyone, bitstream: string): Promise<string> {
  return client.address(contentOf(bitstream), await shortLived(client))
}

/** A token of two seconds, for those who are logged in. */
async function shortLived(client: Anyone, signal?: AbortSignal): Promise<Record<string, string>> {
  if (!client.session) return {}
  const { token } = await client.post<{ token: string }>('/api/authn/shortlivedtokens', { signal })
  return { 'authentication-token': token }
}

/**
 * @param bitstream the UUID of a file
 * @throws CarrelProblem if it isn't there, or isn't for the caller. The stream fails with `file-changed` if the file was
 *   replaced while it was sent, and with CarrelNetworkError if the line is down for good.
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
      // Two seconds were too short; this happens to slow lines, not to those who may not have the file.
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

  /** @returns nothing at the end */
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
