import { connect, type Socket } from 'node:net'
import { patience } from '../service/waiting.ts'

/** An answer to HTTP/1.1 written byte by byte, for requests that `fetch` refuses to send. */
export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export function openSocket(address: string): Socket {
  const { hostname, port } = new URL(address)
  return connect({ host: hostname, port: Number(port) })
}

/**
 * Sends the bytes and reads one answer.
 *
 * @returns undefined if the service closed the connection without an answer
 */
export function exchange(
  address: string,
  request: string | Uint8Array,
  method = 'GET',
): Promise<RawAnswer | undefined> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(address)
    let received = ''
    const finish = (answer: RawAnswer | undefined) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(patience, () => {
      socket.destroy()
      const sent = Buffer.from(request).toString('latin1')
      reject(new Error(`no whole answer to ${JSON.stringify(sent)}, but ${JSON.stringify(received)}`))
    })
    socket.on('data', chunk => {
      received += chunk.toString('latin1')
      const answer = readAnswer(received, method, false)
      if (answer) finish(answer)
    })
    // The service may close the connection while the request is still being sent. An answer received before
    // counts.
    socket.on('error', () => {})
    socket.on('close', () => finish(readAnswer(received, method, true)))
    socket.write(request)
  })
}

/** @param lines of a request without CRLFs; `Connection: close` is added */
export const head = (...lines: readonly string[]): string =>
  `${[...lines, 'Host: service.test', 'Connection: close'].join('\r\n')}\r\n\r\n`

function readAnswer(text: string, method: string, closed: boolean): RawAnswer | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1])
  if (status === 100) return readAnswer(text.slice(end + 4), method, closed)
  const headers = new Map<string, string>()
  for (const line of lines) {
    const at = line.indexOf(':')
    const name = line.slice(0, at).toLowerCase()
    const value = line.slice(at + 1).trim()
    const known = headers.get(name)
    headers.set(name, known === undefined ? value : `${known}, ${value}`)
  }
  const rest = text.slice(end + 4)
  const length = headers.get('content-length')
  if (method === 'HEAD' || status === 204 || status === 304) return { status, headers, body: '' }
  if (length !== undefined)
    return rest.length >= Number(length) ? { status, headers, body: utf8(rest) } : undefined
  if (headers.get('transfer-encoding') === 'chunked') {
    const body = unchunk(rest)
    return body === undefined ? undefined : { status, headers, body: utf8(body) }
  }
  return closed ? { status, headers, body: utf8(rest) } : undefined
}

const utf8 = (latin1: string) => Buffer.from(latin1, 'latin1').toString()

/** @returns undefined while the last chunk is missing (RFC 9112 §7.1) */
function unchunk(text: string): string | undefined {
  let body = ''
  for (let at = 0; ; ) {
    const line = text.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(text.slice(at, line), 16)
    if (text.length < line + 2 + size + 2) return undefined
    if (size === 0) return body
    body += text.slice(line + 2, line + 2 + size)
    at = line + 2 + size + 2
  }
}
