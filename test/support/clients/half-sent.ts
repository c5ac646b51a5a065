import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Client } from './client.ts'

/** A request whose body is late: the service has the head and half of the body, and waits for the rest. */
export interface HalfSent {
  /** True once there is an answer, which then came before the end of the body. */
  isAnswered(): boolean
  /** Sends the rest of the body. */
  end(): Promise<LateAnswer>
}

export interface LateAnswer {
  readonly status: number | undefined
  /** The code, if the answer is a problem. */
  readonly code: string | undefined
  readonly text: string
}

interface Wanted {
  readonly method?: string
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** The address of the service; the client's by default. */
  readonly address?: string
}

export async function sendHalf(
  client: Client,
  path: string,
  { method = 'POST', type, body, headers = {}, address = client.address }: Wanted,
): Promise<HalfSent> {
  const pair = await client.csrfPair()
  const middle = Math.floor(body.length / 2)
  const request: ClientRequest = httpRequest(address + path, {
    method,
    headers: {
      authorization: `Bearer ${client.token}`,
      cookie: pair.cookie,
      'x-xsrf-token': pair.value,
      'content-type': type,
      'content-length': body.length,
      ...headers,
    },
  })
  // The listener is added first, because a refusal may come before the end.
  let isAnswered = false
  const answered = (once(request, 'response') as Promise<[IncomingMessage]>).then(async ([response]) => {
    isAnswered = true
    let text = ''
    for await (const piece of response) text += String(piece)
    const isProblem = response.headers['content-type']?.startsWith('application/problem+json')
    const { code } = isProblem ? (JSON.parse(text) as { code?: string }) : {}
    return { status: response.statusCode, code, text }
  })
  answered.catch(() => {})
  // When the service asks for the body, it knows the caller.
  request.setHeader('expect', '100-continue')
  request.flushHeaders()
  await once(request, 'continue')
  request.write(body.slice(0, middle))
  return {
    isAnswered: () => isAnswered,
    end: () => {
      request.end(body.slice(middle))
      return answered
    },
  }
}
