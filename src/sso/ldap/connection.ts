import { once } from 'node:events'
import { isIP, type Socket, connect as tcpConnect } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import type { FastifyBaseLogger } from 'fastify'
import type { LdapConfig, LdapServer } from '../../config/providers.ts'
import {
  type Answer,
  answerIn,
  bindRequest,
  type Entry,
  Inbox,
  otherAnswer,
  type Result,
  type Search,
  ServerFault,
  searchRequest,
  startTlsRequest,
  unbindRequest,
} from './messages.ts'

/** A conversation with a directory server: requests and their answers, one after the other (RFC 4511). */
export interface Connection {
  /** @returns the result code; 0 means that the password is right */
  bind(dn: string, password: string): Promise<number>
  /** @returns the entries, at most one more than `max`, and the result code */
  search(search: Search): Promise<{ readonly code: number; readonly entries: readonly Entry[] }>
  close(): void
}

interface Parts {
  /** The only trusted certificates; null for those that Node trusts. */
  readonly ca: string | null
  /** Time for the whole conversation, in ms. */
  readonly timeout: number
}

/** @throws ServerFault (from its methods, too) if the server can't be reached or violates the protocol */
async function connect(server: LdapServer, parts: Parts): Promise<Connection> {
  const { host, port, security } = server
  const conversation = new Conversation(parts.timeout)
  const secured = {
    host,
    // RFC 6066 §3: an IP address is no server name.
    ...(isIP(host) ? {} : { servername: host }),
    ...(parts.ca && { ca: parts.ca }),
    minVersion: 'TLSv1.2',
    // Certificates are verified even if the environment disables that.
    rejectUnauthorized: true,
  } as const
  try {
    if (security === 'tls') await conversation.goOn(tlsConnect({ ...secured, port }), 'secureConnect')
    else await conversation.goOn(tcpConnect({ host, port }), 'connect')
    if (security === 'start-tls') await conversation.startTls(socket => tlsConnect({ ...secured, socket }))
  } catch (error) {
    conversation.end()
    throw conversation.faultOf(error)
  }
  return conversation
}

class Conversation implements Connection {
  readonly #timeout: number
  readonly #deadline: AbortSignal
  readonly #sockets: Socket[] = []
  #inbox = new Inbox()
  #id = 0

  /** @param timeout time for the whole conversation, in ms */
  constructor(timeout: number) {
    this.#timeout = timeout
    this.#deadline = AbortSignal.timeout(timeout)
    this.#deadline.addEventListener('abort', () => this.end())
  }

  /** Continues over this socket after `ready` was emitted, and drops whatever came before. */
  async goOn(socket: Socket, ready: 'connect' | 'secureConnect'): Promise<void> {
    const inbox = new Inbox()
    this.#inbox = inbox
    this.#sockets.push(socket)
    socket.on('error', error => inbox.fail(this.faultOf(error)))
    socket.on('close', () => inbox.fail(this.faultOf(new ServerFault('it closed the connection'))))
    await once(socket, ready, { signal: this.#deadline })
    socket.on('data', (chunk: Buffer) => {
      inbox.add(chunk)
    })
  }

  async startTls(secure: (socket: Socket) => Socket): Promise<void> {
    const { code } = await this.#askOnce(startTlsRequest(++this.#id), 'extended')
    if (code !== success) throw new ServerFault(`it refused StartTLS (result ${code})`)
    // An attacker on the path may have injected the beginning of a message, which the data inside TLS would
    // complete.
    if (!this.#inbox.isEmpty)
      throw new ServerFault('it sent something unencrypted after its answer to StartTLS')
    const plain = this.#socket
    plain.removeAllListeners('data')
    await this.goOn(secure(plain), 'secureConnect')
  }

  async bind(dn: string, password: string): Promise<number> {
    // RFC 4513 §5.1: without a name or a password, the bind would be anonymous or unauthenticated, and
    // succeed.
    if (dn === '' || password === '') throw new Error('a bind needs a name and a password')
    const { code } = await this.#askOnce(bindRequest(++this.#id, dn, password), 'bind')
    return code
  }

  async search(search: Search): ReturnType<Connection['search']> {
    const request = searchRequest(++this.#id, search, this.#timeout)
    const entries: Entry[] = []
    for await (const answer of this.#ask(request)) {
      if (answer.kind === 'done') return { code: answer.code, entries }
      // References to other servers (RFC 4511 §4.5.3) are not followed.
      if (answer.kind === 'entry') entries.push(answer.entry)
      else if (answer.kind !== 'reference') break
      if (entries.length > search.max + 1) throw new ServerFault('it sent more entries than it was asked for')
    }
    throw new ServerFault(otherAnswer)
  }

  close(): void {
    // If the server doesn't even accept that, the deadline ends the connection.
    this.#socket.end(unbindRequest(++this.#id), () => this.end())
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  faultOf(error: unknown): Error {
    if (this.#deadline.aborted) return new ServerFault(`it took more than ${this.#timeout / 1000} s`)
    if (error instanceof ServerFault) return error
    const { code, message } = error as NodeJS.ErrnoException
    return new ServerFault(code === undefined ? message : `${message} (${code})`, { cause: error })
  }

  get #socket(): Socket {
    const socket = this.#sockets.at(-1)
    if (!socket) throw new Error('there is no connection yet')
    return socket
  }

  async *#ask(request: Buffer): AsyncGenerator<Answer> {
    this.#socket.write(request)
    for (;;) yield answerIn(await this.#inbox.next(), this.#id)
  }

  async #askOnce(request: Buffer, kind: Result['kind']): Promise<Result> {
    for await (const answer of this.#ask(request)) {
      if (answer.kind === kind) return answer
      break
    }
    throw new ServerFault(otherAnswer)
  }
}

const success = 0

/** No server of the directory can be used. */
export class DirectoryUnavailable extends Error {}

interface Servers {
  /**
   * Does the work with the first usable server. If a server fails, the work starts again with the next.
   * @throws DirectoryUnavailable if none can be used
   */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>
}

/** Time in ms during which a failed server is tried last. */
const pause = 30_000

type ServersParts = Pick<LdapConfig, 'id' | 'servers' | 'ca' | 'timeout'>

export function createServers(parts: ServersParts, log: Pick<FastifyBaseLogger, 'warn'>): Servers {
  const states = parts.servers.map(server => ({ server, pausedUntil: 0 }))
  return {
    use: async work => {
      const now = performance.now()
      for (const state of states.toSorted((a, b) => rankAt(now, a) - rankAt(now, b))) {
        const { host, port } = state.server
        try {
          const done = await converse(state.server, parts, work)
          state.pausedUntil = 0
          return done
        } catch (error) {
          if (!(error instanceof ServerFault)) throw error
          // Logged once for each pause, however many logins were waiting.
          if (state.pausedUntil > performance.now()) continue
          log.warn(
            { provider: parts.id, server: `${host}:${port}`, why: error.message },
            'a directory server failed',
          )
          state.pausedUntil = performance.now() + pause
        }
      }
      throw new DirectoryUnavailable(`no server of the directory ${parts.id} can be used`)
    },
  }
}

const rankAt = (now: number, { pausedUntil }: { readonly pausedUntil: number }) => Math.max(now, pausedUntil)

/** @throws ServerFault */
export async function converse<T>(
  server: LdapConfig['servers'][number],
  parts: Pick<LdapConfig, 'ca' | 'timeout'>,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connect(server, parts)
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}
