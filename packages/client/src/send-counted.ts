import type { Send } from './transport.ts'

/**
 * Sends a request and reports the number of body bytes sent. Browsers report it only for XMLHttpRequest;
 * elsewhere the body is sent as a stream and counted there.
 */
export const counting = (told: (bytes: number) => void): Pick<Send, 'fetch'> => ({
  fetch: 'XMLHttpRequest' in globalThis ? byXhr(told) : byStream(told),
})

const byStream =
  (told: (bytes: number) => void): typeof fetch =>
  (input, init = {}) => {
    const { body } = init
    const headers = new Headers(init.headers)
    const boundary = `carrel-${crypto.randomUUID()}`
    if (body instanceof FormData) headers.set('content-type', `multipart/form-data; boundary=${boundary}`)
    else if (!(body instanceof Blob)) return fetch(input, init)
    const pieces = body instanceof Blob ? body.stream() : multipart(body, boundary)
    return fetch(input, { ...init, headers, body: counted(pieces, told), duplex: 'half' } as RequestInit)
  }

/** Streams pieces at the pace of the connection, and counts their bytes. */
function counted(pieces: AsyncIterable<Uint8Array>, told: (bytes: number) => void): ReadableStream {
  const iterator = pieces[Symbol.asyncIterator]()
  let bytes = 0
  return new ReadableStream(
    {
      pull: async controller => {
        const { done, value } = await iterator.next()
        if (done) return controller.close()
        bytes += value.length
        controller.enqueue(value)
        told(bytes)
      },
      cancel: async () => {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Encodes a form (RFC 7578). Node encodes forms itself, but if the service answers before it has received the
 * whole form, Node's stream throws an error that can't be caught.
 */
async function* multipart(form: FormData, boundary: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  const quoted = (text: string) => text.replaceAll(/["\r\n]/g, one => encodeURIComponent(one))
  for (const [name, value] of form) {
    const [file, type] =
      typeof value === 'string'
        ? ['', '']
        : [
            `; filename="${quoted(value.name)}"`,
            `\r\nContent-Type: ${value.type || 'application/octet-stream'}`,
          ]
    yield encoder.encode(
      `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}${type}\r\n\r\n`,
    )
    if (typeof value === 'string') yield encoder.encode(value)
    else yield* value.stream()
    yield encoder.encode('\r\n')
  }
  yield encoder.encode(`--${boundary}--\r\n`)
}

const byXhr =
  (told: (bytes: number) => void): typeof fetch =>
  (input, init = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    const request = new XMLHttpRequest()
    const { signal } = init
    const stop = () => request.abort()
    request.open(init.method ?? 'GET', String(input))
    request.withCredentials = true
    request.responseType = 'arraybuffer'
    new Headers(init.headers).forEach((value, name) => {
      request.setRequestHeader(name, value)
    })
    request.upload.onprogress = event => told(event.loaded)
    request.onload = () => resolve(answerOf(request))
    request.onerror = () => reject(new TypeError('the line broke'))
    request.onabort = () => reject(signal?.reason)
    request.onloadend = () => signal?.removeEventListener('abort', stop)
    if (signal?.aborted) return Promise.reject(signal.reason)
    signal?.addEventListener('abort', stop)
    request.send(init.body as XMLHttpRequestBodyInit | null | undefined)
    return promise
  }

function answerOf(request: XMLHttpRequest): Response {
  const headers = new Headers()
  for (const line of request.getAllResponseHeaders().trim().split('\r\n')) {
    const [name = '', ...value] = line.split(': ')
    if (name !== '') headers.append(name, value.join(': '))
  }
  const { status, statusText } = request
  // A response with one of these statuses may not have a body, not even an empty one (Fetch §2.2.3).
  const isEmpty = [204, 205, 304].includes(status)
  return new Response(isEmpty ? null : (request.response as ArrayBuffer), { status, statusText, headers })
}
