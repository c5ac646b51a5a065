import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { atEnd } from './at-end.ts'

/** Parameters of the start that PgBouncer takes; it refuses others (https://www.pgbouncer.org/config.html). */
const taken =
  /^(user|database|application_name|client_encoding|DateStyle|TimeZone|standard_conforming_strings)$/

interface Options {
  /** `transaction`: all clients share one connection to the server. */
  readonly mode?: 'session' | 'transaction'
  /** Settings that the server has for sessions of this pooler, such as `-c name=value`. */
  readonly options?: string
}

/** A small pooler in front of a PostgreSQL. It makes process ids up. @returns the address to use instead */
export async function startPooler(
  t: TestContext,
  url: string,
  { mode = 'session', options = '' }: Options = {},
): Promise<string> {
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  const keep = (socket: Socket) => {
    sockets.push(socket)
    return socket.on('error', () => {})
  }
  /** The shared connection, the client that has it, and those that wait for it. */
  let shared: Socket | undefined
  let owner: Socket | undefined
  const waiting: (() => void)[] = []

  function logIn(client: Socket, start: Buffer): Socket {
    const server = keep(connect(Number(port), hostname))
    const parameters = Buffer.concat([
      start.subarray(4, -1),
      options ? Buffer.from(`options\0${options}\0`) : Buffer.alloc(0),
      Buffer.alloc(1),
    ])
    server.write(Buffer.concat([int32(parameters.length + 4), parameters]))
    framesOf(server, frame => {
      const to = mode === 'session' ? client : owner
      // BackendKeyData.
      to?.write(frame[0] === 0x4b ? Buffer.concat([frame.subarray(0, 5), int32(1), int32(1)]) : frame)
      // ReadyForQuery, outside of a transaction.
      if (mode === 'transaction' && frame[0] === 0x5a && frame[5] === 0x49) {
        owner = undefined
        waiting.shift()?.()
      }
    })
    return server
  }

  const listener = createServer(given => {
    const client = keep(given)
    client.once('data', (start: Buffer) => {
      const names = start
        .subarray(8)
        .toString()
        .split('\0')
        .filter((_, at) => at % 2 === 0)
      const other = names.find(name => name !== '' && !taken.test(name))
      if (other !== undefined) {
        client.end(fatal(`unsupported startup parameter: ${other}`))
        return
      }
      if (mode === 'session') {
        const server = logIn(client, start)
        client.on('data', data => server.write(data))
        client.on('close', () => server.end())
        return
      }
      if (shared) client.write(Buffer.from('5200000008000000005a0000000549', 'hex'))
      else {
        owner = client
        shared = logIn(client, start)
      }
      client.on('data', (data: Buffer) => {
        const send = () => {
          owner = client
          shared?.write(data)
        }
        if (owner === undefined || owner === client) send()
        else waiting.push(send)
      })
    })
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    for (const socket of sockets) socket.destroy()
    listener.close()
  })
  const place = listener.address()
  if (typeof place !== 'object' || place === null) throw new Error('the pooler does not listen')
  return Object.assign(new URL(url), { port: String(place.port) }).href
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function fatal(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`)
  return Buffer.concat([Buffer.from('E'), int32(fields.length + 4), fields])
}

/** Calls for each message of the server (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
function framesOf(server: Socket, each: (frame: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  server.on('data', (data: Buffer) => {
    rest = Buffer.concat([rest, data])
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = 1 + rest.readInt32BE(1)
      each(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  })
}
