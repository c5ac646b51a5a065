import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { atEnd } from './at-end.ts'

/** A connection between a client and a service that can fail: it refuses requests, or breaks off. */
export interface FaultyLine {
  readonly address: string
  /** Requests received, oldest first. */
  readonly requests: Seen[]
  /** Returns the number of connections that clients have made. */
  readonly connections: () => number
  /** Counts the requests with this method and path. */
  count(method: string, path: string | RegExp): number
  /** Called for each request; undefined passes it on unchanged. */
  fault: (seen: Seen) => Fault | undefined
}

export interface Seen {
  readonly method: string
  /** The path with the query. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
}

/**
 * A fault: an answer in place of the service's, a delay, or a transfer that breaks off after a number of
 * bytes.
 */
export type Fault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | { readonly waitsFor: Promise<unknown> }
  | { readonly answerBreaksAfter: number }
  | { readonly requestBreaksAfter: number }
  | Lie

/** A request or an answer that is changed on its way. */
export interface Lie {
  /** Headers in place of those of the request; undefined takes one out. */
  readonly asks?: Readonly<Record<string, string | undefined>>
  /** Called with the answer, which is read whole. @returns the one that is sent, perhaps cut off */
  readonly says: (answer: Said) => Said & { readonly breaksAfter?: number }
}

export interface Said {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** @param pages by path, which it serves itself on the same origin as the service */
export async function startFaultyLine(
  t: TestContext,
  service: () => string,
  pages: ReadonlyMap<string, Page> = new Map(),
): Promise<FaultyLine> {
  const server = createServer((incoming, response) => {
    const page = pages.get(incoming.url?.split('?', 1)[0] ?? '')
    if (page) response.writeHead(200, { 'content-type': page.type }).end(page.body)
    else pass(incoming, response)
  })
  let connections = 0
  server.on('connection', () => connections++)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })

  const line: FaultyLine = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    connections: () => connections,
    count: (method, path) =>
      line.requests.filter(
        one => one.method === method && (typeof path === 'string' ? one.path === path : path.test(one.path)),
      ).length,
    fault: () => undefined,
  }

  function pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { method = '', url: path = '', headers } = incoming
    const seen = { method, path, headers }
    line.requests.push(seen)
    const fault = line.fault(seen)
    if (fault && 'status' in fault) {
      incoming.resume()
      response.writeHead(fault.status, fault.headers).end(fault.body)
      return
    }
    const drop = () => response.socket?.destroy()
    const lie = fault && 'says' in fault ? fault : undefined
    const asked = Object.entries({ ...headers, ...lie?.asks }).filter(([, value]) => value !== undefined)
    const outgoing = request(service() + path, { method, headers: Object.fromEntries(asked) }, answer => {
      if (lie) {
        void buffer(answer).then(body => {
          const said = lie.says({ status: answer.statusCode ?? 502, headers: answer.headers, body })
          response.writeHead(said.status, said.headers)
          if (said.breaksAfter === undefined) response.end(method === 'HEAD' ? undefined : said.body)
          else response.write(said.body.subarray(0, said.breaksAfter), () => setTimeout(drop, 20))
        }, drop)
        return
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      // Bytes sent before the break arrive; those after it don't.
      if (fault && 'answerBreaksAfter' in fault) cut(answer, fault.answerBreaksAfter, response, drop)
      else answer.pipe(response)
      answer.on('error', drop)
    })
    outgoing.on('error', drop)
    response.on('close', () => {
      if (!response.writableFinished) outgoing.destroy()
    })
    if (fault && 'requestBreaksAfter' in fault)
      cut(incoming, fault.requestBreaksAfter, outgoing, () => {
        drop()
        outgoing.destroy()
      })
    else
      void (fault && 'waitsFor' in fault ? fault.waitsFor : Promise.resolve()).then(() =>
        incoming.pipe(outgoing),
      )
  }
  return line
}

export interface Page {
  readonly type: string
  readonly body: string | Uint8Array
}

/** Passes on this number of bytes, then breaks the connection. */
function cut(
  from: IncomingMessage,
  after: number,
  to: { write(chunk: Uint8Array, done: () => void): boolean; flushHeaders(): void },
  breaks: () => void,
): void {
  let left = after
  to.flushHeaders()
  from.on('data', (chunk: Buffer) => {
    if (left < 0) return
    const part = chunk.subarray(0, left)
    left -= chunk.length
    if (left > 0) to.write(part, () => {})
    else {
      left = -1
      to.write(part, () => setTimeout(breaks, 20))
    }
  })
  from.on('end', () => {
    if (left >= 0) breaks()
  })
}
