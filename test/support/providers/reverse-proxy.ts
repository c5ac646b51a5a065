import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { atEnd } from '../service/at-end.ts'

/** Headers that the proxy adds for a logged-in user. */
export type Attributes = Readonly<Record<string, string>>

/**
 * A proxy in front of a service, like a web server with mod_shib or oauth2-proxy. It has a login form and
 * sessions of its own, removes the identity headers of clients, and tells the service which user is logged
 * in.
 */
export interface ReverseProxy {
  /** The public address, which is the service's base URL. */
  readonly address: string
  readonly loginPage: string
  readonly logoutPage: string
  /** @param below the path of the requests that this service gets; all by default */
  forwardTo(service: string, below?: string): void
}

interface Options {
  /** Users who can log in, by name. The password is the name, too. */
  readonly users?: Readonly<Record<string, Attributes>>
  /** The secret sent with every request. */
  readonly secret?: Readonly<{ header: string; value: string }>
  /** False lets such headers from clients pass. */
  readonly strips?: boolean
  readonly tls?: Readonly<{ key: string; cert: string }>
}

export async function startReverseProxy(t: TestContext, options: Options = {}): Promise<ReverseProxy> {
  const { users = {}, secret, strips = true, tls } = options
  const own = secret ? { [secret.header]: secret.value } : {}
  const names = [own, ...Object.values(users)].flatMap(headers => Object.keys(headers))
  const stripped = new Set(strips ? names.map(name => name.toLowerCase()) : [])
  const sessions = new Map<string, Attributes>()
  const services = new Map<string, string>()

  const server = tls ? createTlsServer({ ...tls }, answer) : createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const address = `http${tls ? 's' : ''}://127.0.0.1:${(server.address() as AddressInfo).port}`

  function answer(incoming: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', address)
    const target = searchParams.get('target') ?? '/'
    if (pathname === '/proxy/login') void logIn(incoming, response, target)
    else if (pathname === '/proxy/logout') {
      sessions.delete(sessionOf(incoming))
      response.writeHead(303, { location: target, 'set-cookie': `${cookie}=; Path=/; Max-Age=0` }).end()
    } else forward(incoming, response)
  }

  async function logIn(incoming: IncomingMessage, response: ServerResponse, target: string): Promise<void> {
    const form = new URLSearchParams(incoming.method === 'POST' ? await text(incoming) : '')
    const attributes = users[form.get('user') ?? '']
    if (!attributes || form.get('password') !== form.get('user')) {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(loginForm)
      return
    }
    const session = randomUUID()
    sessions.set(session, attributes)
    response
      .writeHead(303, { location: target, 'set-cookie': `${cookie}=${session}; Path=/; HttpOnly` })
      .end()
  }

  function forward(incoming: IncomingMessage, response: ServerResponse): void {
    const said = pairsOf(incoming.rawHeaders).filter(
      ([name]) => !stripped.has(name.toLowerCase()) && !/^(x-forwarded-for|connection)$/i.test(name),
    )
    const hops = [incoming.headers['x-forwarded-for'], incoming.socket.remoteAddress].flat()
    const added = Object.entries({
      ...own,
      ...sessions.get(sessionOf(incoming)),
      'X-Forwarded-For': hops.filter(Boolean).join(', '),
    })
    const headers = [...said, ...added.map(([name, value]) => [name, bytes(value)])].flat()
    const [, service = ''] = [...services].find(([below]) => incoming.url?.startsWith(below)) ?? []
    const onward = request(service + incoming.url, { method: incoming.method ?? 'GET', headers }, back => {
      response.writeHead(back.statusCode ?? 502, back.rawHeaders)
      back.pipe(response)
    })
    onward.on('error', () => response.headersSent || response.writeHead(502).end())
    incoming.pipe(onward)
  }

  return {
    address,
    loginPage: `${address}/proxy/login`,
    logoutPage: `${address}/proxy/logout`,
    forwardTo: (service, below = '') => {
      services.set(below, service)
    },
  }
}

const cookie = 'PROXY-SESSION'
const sessionOf = ({ headers }: IncomingMessage) =>
  new RegExp(`(?:^|; )${cookie}=([^;]+)`).exec(headers.cookie ?? '')?.[1] ?? ''

const loginForm = `<!doctype html><html lang="en"><title>The proxy's login</title><link rel="icon" href="data:,">
<form method="post"><label>User <input name="user"></label>
<label>Password <input name="password" type="password"></label> <button>Log in at the proxy</button></form>`

/** Returns the UTF-8 bytes of a text as Node expects them in a header. */
export const bytes = (value: string): string => Buffer.from(value).toString('latin1')

const pairsOf = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? '']] : []))
