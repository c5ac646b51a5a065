import type { Send } from './transport.ts'

/**
 * A request that tells how much of its body has gone. Browsers tell it of XMLHttpRequest alone; elsewhere the body is read
 * as a stream, and counted there.
 */
export const counting = (told: (bytes: number) => void): Pick<Send, 'fetch'> => ({
  fetch: 'XMLHttpRequest' in globalThis ? byXhr(told) : byStream(told),
})

const byStream =
  (told: (bytes: number) => void): typeof fetch =>
  (input, init = {}) => {
    let bytes = 0
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, controller) => {
        bytes += piece.length
        controller.enqueue(piece)
        told(bytes)
      },
    })
    // It knows how to write forms, and what their boundary is.
    const written = new Response(init.body ?? null)
    const headers = new Headers(init.headers)
    const type = written.headers.get('content-type')
    if (type && !headers.has('content-type')) headers.set('content-type', type)
    const streamed = written.body ? { body: written.body.pipeThrough(counted), duplex: 'half' } : {}
    return fetch(input, { ...init, headers, ...streamed } as RequestInit)
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
  // These have no body, not even an empty one (Fetch §2.2.3).
  const isEmpty = [204, 205, 304].includes(status)
  return new Response(isEmpty ? null : (request.response as ArrayBuffer), { status, statusText, headers })
}
