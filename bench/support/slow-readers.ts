import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Readers on slow lines, in a process of their own: each takes a little of its answer, then waits. Says when all of them
 * have begun, and goes on until it is ended.
 */
const [address = '', count = '', request = ''] = process.argv.slice(2)
const { hostname, port } = new URL(address)
/** Bytes that one takes at once, twenty times a second. */
const sip = 4096

async function readSlowly(begun: () => void): Promise<never> {
  const socket = connect(Number(port), hostname, () => socket.write(request))
  socket.pause()
  let isFirst = true
  for (;;) {
    await sleep(50)
    const chunk: Buffer | null = socket.read(sip) ?? socket.read()
    if (chunk === null || !isFirst) continue
    if (!chunk.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(chunk.toString('latin1'))
    isFirst = false
    begun()
  }
}

let left = Number(count)
const begun = () => {
  left--
  if (left === 0) console.log(`reading from ${address}`)
}
for (let n = 0; n < Number(count); n++) void readSlowly(begun)
