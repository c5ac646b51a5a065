import { isLoopback } from '../../config/providers.ts'

/** The answer of a metadata server. */
type Fetched =
  | { readonly kind: 'fresh'; readonly body: AsyncIterable<Uint8Array>; readonly version: Version }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'unknown' }

/** The validators of an answer (RFC 9110 §8.8), with which the server can say that it hasn't changed. */
export interface Version {
  readonly etag?: string
  readonly modified?: string
}

const maxRedirects = 3

/**
 * Fetches metadata. Redirects are followed, but never away from https.
 * @param known the version that was fetched last
 * @param signal ends the request, and the reading of its answer
 * @throws Error saying what went wrong
 */
export async function fetchMetadata(url: string, known: Version, signal: AbortSignal): Promise<Fetched> {
  let address = new URL(url)
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const response = await ask(address, known, signal)
    const location = response.headers.get('location')
    if ([301, 302, 303, 307, 308].includes(response.status) && location !== null) {
      await response.body?.cancel()
      const next = URL.parse(location, address)
      if (!next || !isSafe(next, address))
        throw new Error('its server redirects to an address that is not https')
      address = next
      continue
    }
    if (response.status === 200 && response.body)
      return {
        kind: 'fresh',
        body: readable(response.body),
        version: {
          ...headerAs('etag', response, 'etag'),
          ...headerAs('modified', response, 'last-modified'),
        },
      }
    await response.body?.cancel()
    if (response.status === 304) return { kind: 'unchanged' }
    if (response.status === 404) return { kind: 'unknown' }
    throw new Error(`its server answered with status ${response.status}`)
  }
  throw new Error(`its server redirects more than ${maxRedirects} times`)
}

const isSafe = (next: URL, from: URL): boolean =>
  next.protocol === 'https:' ||
  (from.protocol === 'http:' && next.protocol === 'http:' && isLoopback(next.href))

async function ask(address: URL, { etag, modified }: Version, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(address, {
      redirect: 'manual',
      signal,
      headers: {
        accept: 'application/samlmetadata+xml, application/xml;q=0.8, */*;q=0.1',
        ...(etag !== undefined && { 'if-none-match': etag }),
        ...(modified !== undefined && { 'if-modified-since': modified }),
      },
    })
  } catch (error) {
    throw reasonOf(error)
  }
}

/**
 * Starts an iterator of the body at once: Node's fetch cancels an unread body as soon as its response is
 * garbage-collected, and a canceled body reads as empty.
 */
const readable = (body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
  chunksOf(body[Symbol.asyncIterator]())

async function* chunksOf(chunks: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    for (;;) {
      const next = await chunks.next().catch(error => {
        throw reasonOf(error)
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    // Runs also when the reader has read enough.
    await chunks.return?.().catch(() => {})
  }
}

function reasonOf(error: unknown): Error {
  const { name, cause } = error as Error
  if (name === 'TimeoutError') return new Error('its server took too long')
  const { code, message } = (cause ?? error) as NodeJS.ErrnoException
  return new Error(`its server cannot be reached: ${code ?? message}`)
}

function headerAs<K extends string>(key: K, { headers }: Response, name: string): Partial<Record<K, string>> {
  const value = headers.get(name)
  return value === null || value.length > 1_000 ? {} : ({ [key]: value } as Record<K, string>)
}
