import { connect, type Socket } from 'node:net'

/**
 * A load generator that costs less than the service it measures: raw sockets with one request at a time on
 * each, and responses delimited by Content-Length. Every response must have the status 200.
 */
export interface Load {
  readonly address: string
  /** Number of connections; 32 by default. */
  readonly connections?: number
  readonly seconds: number
  /** Returns the head and body of the next request (see `head`); undefined ends the connection. */
  next(): string | undefined
}

export interface Measured {
  readonly perSecond: number
  /** Latencies in ms, sorted. */
  readonly latencies: Float64Array
}

export const head = (method: string, path: string, headers: Readonly<Record<string, string>> = {}): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

export async function run({ address, connections = 32, seconds, next }: Load): Promise<Measured> {
  const { hostname, port } = new URL(address)
  const latencies: number[] = []
  const start = performance.now()
  const end = start + seconds * 1000
  await Promise.all(
    Array.from({ length: connections }, () => {
      const socket = connect(Number(port), hostname)
      socket.setNoDelay(true)
      return keepAsking(socket, end, next, latencies)
    }),
  )
  const sorted = Float64Array.from(latencies).sort()
  return { perSecond: latencies.length / ((performance.now() - start) / 1000), latencies: sorted }
}

function keepAsking(socket: Socket, end: number, next: Load['next'], latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let asked = 0
    let missing = -1
    let text = ''
    const ask = () => {
      asked = performance.now()
      const request = asked < end ? next() : undefined
      if (request === undefined) {
        socket.end(resolve)
        return
      }
      missing = -1
      text = ''
      socket.write(request)
    }
    socket.once('connect', ask)
    socket.once('error', reject)
    socket.on('data', chunk => {
      if (missing < 0) {
        text += chunk.toString('latin1')
        const headEnd = text.indexOf('\r\n\r\n')
        if (headEnd < 0) return
        if (!text.startsWith('HTTP/1.1 200')) return reject(new Error(text.slice(0, 600)))
        const length = /content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1]
        missing = headEnd + 4 + Number(length ?? 0) - text.length
      } else missing -= chunk.length
      if (missing > 0) return
      latencies.push(performance.now() - asked)
      ask()
    })
  })
}

export const quantile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
