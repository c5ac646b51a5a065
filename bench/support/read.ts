import { connect } from 'node:net'

export interface Read {
  readonly bytes: number
  /** Time to the first byte, in ms. */
  readonly firstByte: number
  readonly seconds: number
}

/**
 * Reads a response and discards it. A status other than 200 is an error, because its time would mean nothing.
 */
export const read = (address: string, target: string): Promise<Read> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(address)
    const start = performance.now()
    let firstByte = 0
    let bytes = 0
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
    )
    socket.on('data', chunk => {
      if (bytes === 0) {
        firstByte = performance.now() - start
        if (!chunk.toString('latin1').startsWith('HTTP/1.1 200')) reject(new Error(chunk.toString('latin1')))
      }
      bytes += chunk.length
    })
    socket.on('error', reject)
    socket.on('close', () => resolve({ bytes, firstByte, seconds: (performance.now() - start) / 1000 }))
  })

/**
 * Reads the body of a response into one reused buffer, so that the reader costs little.
 * @param request in the format of `head`
 * @param take receives each chunk, whose buffer is overwritten afterwards
 * @returns the size of the body in bytes
 */
export const receive = (address: string, request: string, take?: (chunk: Buffer) => void): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(address)
    let text = ''
    let missing = -1
    let bytes = 0
    const socket = connect({
      host,
      port: Number(port),
      onread: {
        buffer: Buffer.alloc(256 * 1024),
        callback: (length, buffer) => {
          let chunk = Buffer.from(buffer.buffer, buffer.byteOffset, length)
          if (missing < 0) {
            text += chunk.toString('latin1')
            const headEnd = text.indexOf('\r\n\r\n') + 4
            if (headEnd < 4) return true
            if (!text.startsWith('HTTP/1.1 200')) return fail(text)
            missing = Number(/content-length: (\d+)/i.exec(text)?.[1])
            chunk = Buffer.from(text.slice(headEnd), 'latin1')
          }
          take?.(chunk)
          bytes += chunk.length
          if (bytes >= missing) socket.end()
          return true
        },
      },
    })
    function fail(answer: string): boolean {
      socket.destroy(new Error(answer.slice(0, 600)))
      return false
    }
    socket.once('connect', () => socket.write(request))
    socket.once('error', reject)
    socket.once('close', () => resolve(bytes))
  })
