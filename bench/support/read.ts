import { connect } from 'node:net'

export interface Read {
  readonly bytes: number
  /** Milliseconds. */
  readonly firstByte: number
  readonly seconds: number
}

/** Reads an answer without looking at it. */
export const read = (to: string, target: string): Promise<Read> =>
  new Promise((resolve, reject) => {
    const { hostname: host, port: at } = new URL(to)
    const start = performance.now()
    let firstByte = 0
    let bytes = 0
    const socket = connect(Number(at), host, () =>
      socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
    )
    socket.on('data', chunk => {
      if (bytes === 0) firstByte = performance.now() - start
      bytes += chunk.length
    })
    socket.on('error', reject)
    socket.on('close', () => resolve({ bytes, firstByte, seconds: (performance.now() - start) / 1000 }))
  })
