import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Clients on slow connections, in a process of their own: each repeatedly reads a little of its response,
 * then waits. Prints a line when all of them have started, and runs until it is killed.
 */
const [address = '', count = '', request = ''] = process.argv.slice(2)
const { hostname, port } = new URL(address)
/** Number of bytes that each client reads at a time, twenty times a second. */
const sip = 4096

async function readSlowly(started: () => void): Promise<never> {
  const socket = connect(Number(port), hostname, () => socket.write(request))
  socket.pause()
  let isFirst = true
  for (;;) {
    await sleep(50)
    const chunk: Buffer | null = socket.read(sip) ?? socket.read()
    if (chunk === null || !isFirst) continue
    if (!chunk.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(chunk.toString('latin1'))
    isFirst = false
    started()
  }
}

let left = Number(count)
const started = () => {
  left--
  if (left === 0) console.log(`reading from ${address}`)
}
for (let n = 0; n < Number(count); n++) void readSlowly(started)
