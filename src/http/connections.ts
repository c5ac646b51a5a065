import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { clientAddress, siteOf } from '../lib/addresses.ts'
import type { ConnectionMeasures } from '../model/measures.ts'

interface Parts {
  /** Maximum number of connections of this event loop. */
  readonly max: number
  /** True for the addresses of trusted proxies. */
  readonly isProxy: (address: string) => boolean
  /** Answers a connection that is refused, with a problem of this code, and closes it. */
  readonly answer: (error: NodeJS.ErrnoException, socket: Socket) => void
  readonly measures: ConnectionMeasures
}

export interface Connections {
  /** Notes that a request on the connection has begun, or that it has been answered. */
  begin(socket: Socket): void
  end(socket: Socket): void
}

interface Connection {
  readonly socket: Socket
  readonly network: Network
  /** Requests that have begun and aren't answered. */
  requests: number
  /** True if one has begun since the connection was last considered for closing. */
  wasUsed: boolean
}

interface Network {
  readonly name: string
  readonly isProxy: boolean
  /** The newest is last. */
  readonly all: Set<Connection>
  /** The same connections, in the order in which they are next considered for closing. */
  readonly turns: Set<Connection>
  /** Number of connections with a request under way. */
  busy: number
}

/** Maximum number of refused connections that are kept until their request arrives, and that time in ms. */
const maxRefused = 16
const patienceWithRefused = 1_000
/** The code of the error for `answer`. */
export const tooManyConnections = 'CARREL_TOO_MANY_CONNECTIONS'

/**
 * Bounds the connections of a server, so that descriptors are left for everything else (docs/decisions/0086). When
 * all places are taken, an idle connection gives way to a new one, of the network that has the most. If none is
 * idle, the newest of that network gives way, unless the newcomer's own would then have more. A network has at
 * most half of the places; clients of a trusted proxy share its connections, so none of this is about those.
 */
export function boundConnections(server: Server, { max, isProxy, answer, measures }: Parts): Connections {
  const maxOfOne = Math.max(1, Math.floor(max / 2))
  const networks = new Map<string, Network>()
  const known = new Map<Socket, Connection>()
  const refuse = createRefusals(answer, measures)
  measures.max.set(max)
  endIdleWhileStopping(server, known)

  function networkOf(socket: Socket): Network {
    const address = clientAddress(socket.remoteAddress ?? '')
    const isOfProxy = address !== null && isProxy(address)
    const name = isOfProxy ? 'proxies' : siteOf(address)
    return networks.get(name) ?? { name, isProxy: isOfProxy, all: new Set(), turns: new Set(), busy: 0 }
  }

  function close(connection: Connection | undefined): boolean {
    if (!connection) return false
    measures.ended.add()
    // A broken answer must not look complete.
    if (connection.requests > 0) connection.socket.resetAndDestroy()
    else connection.socket.destroy()
    remove(connection)
    return true
  }

  function hasRoom(own: Network): boolean {
    if (!own.isProxy && own.all.size >= maxOfOne) return close(idleOf(own))
    if (known.size < max) return true
    const idle = largest(networks, hasIdle)
    if (idle) return close(idleOf(idle))
    const others = largest(networks, one => !one.isProxy)
    const least = own.isProxy ? 0 : own.all.size + 1
    return others !== undefined && others.all.size > least && close([...others.all].at(-1))
  }

  function add(socket: Socket, network: Network): void {
    const connection: Connection = { socket, network, requests: 0, wasUsed: false }
    networks.set(network.name, network)
    network.all.add(connection)
    network.turns.add(connection)
    known.set(socket, connection)
    measures.open.change(1)
    socket.once('close', () => remove(connection))
  }

  function remove(connection: Connection): void {
    const { socket, network } = connection
    if (!known.delete(socket)) return
    measures.open.change(-1)
    network.all.delete(connection)
    network.turns.delete(connection)
    if (connection.requests > 0) network.busy--
    if (network.all.size === 0) networks.delete(network.name)
  }

  const serve = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket)
    if (!hasRoom(network)) return refuse(socket)
    add(socket, network)
    for (const listener of serve) listener.call(server, socket)
  })

  return {
    begin: socket => {
      const connection = known.get(socket)
      if (!connection) return
      connection.wasUsed = true
      if (connection.requests++ === 0) connection.network.busy++
    },
    end: socket => {
      const connection = known.get(socket)
      if (connection && --connection.requests === 0) connection.network.busy--
    },
  }
}

/** Returns the network that has the most connections; proxies come last. */
function largest(
  networks: ReadonlyMap<string, Network>,
  suits: (network: Network) => boolean,
): Network | undefined {
  let found: Network | undefined
  for (const one of networks.values())
    if (suits(one) && (!found || found.isProxy || (!one.isProxy && one.all.size > found.all.size)))
      found = one
  return found
}

/** @returns a function that refuses a connection */
function createRefusals(answer: Parts['answer'], measures: ConnectionMeasures): (socket: Socket) => void {
  let refused = 0
  return socket => {
    measures.refused.add()
    socket.on('error', () => {})
    if (refused >= maxRefused) {
      socket.destroy()
      return
    }
    refused++
    const late = setTimeout(() => socket.destroy(), patienceWithRefused).unref()
    socket.once('close', () => {
      refused--
      clearTimeout(late)
    })
    // An answer that comes before its request confuses clients.
    socket.once('data', () => {
      clearTimeout(late)
      answer(Object.assign(new Error(tooManyConnections), { code: tooManyConnections }), socket)
    })
  }
}

/**
 * While the service stops, a connection on which no request is under way has a second for the rest of one: without a
 * bound, half a header would hold the stop for as long as the grace is.
 */
function endIdleWhileStopping(server: Server, known: ReadonlyMap<Socket, Connection>): void {
  const closeIdle = server.closeIdleConnections.bind(server)
  let late: number | undefined
  server.closeIdleConnections = () => {
    late ??= performance.now() + patienceWithRefused
    closeIdle()
    if (performance.now() < late) return
    for (const { socket, requests } of known.values()) if (requests === 0) socket.destroy()
  }
}

const hasIdle = ({ all, busy }: Network): boolean => all.size > busy

/**
 * Returns a connection that has been idle for about the longest time. One that was used since it was last considered is
 * passed over once, so a request only sets a mark.
 */
function idleOf(network: Network): Connection | undefined {
  if (!hasIdle(network)) return undefined
  // The loop ends, because an idle connection that was passed over isn't marked the next time.
  for (const connection of network.turns) {
    if (connection.requests === 0 && !connection.wasUsed) return connection
    connection.wasUsed = false
    network.turns.delete(connection)
    network.turns.add(connection)
  }
  return undefined
}
