import { createServer } from 'node:http'
import { connect } from 'node:net'
import { scratch } from './support/folder.ts'
import { importGenerated } from './support/generated.ts'
import { median } from './support/load.ts'
import { memory, startCarrel } from './support/processes.ts'
import { type Read, read } from './support/read.ts'

/** Lists all of 1,000,000 records: rate, time to first byte and memory; then the memory that slow readers cost. */
const folder = scratch()
await importGenerated(folder, 1_000_000)
const service = await startCarrel(folder)
const { hostname, port } = new URL(service.address)
const path = '/api/query/v4/generated'

/** A server that writes this many bytes in pieces of 64 kB, as fast as the client reads. */
async function bareStream(bytes: number): Promise<{ address: string; close(): void }> {
  const piece = Buffer.alloc(65_536, 'x')
  const server = createServer((_, response) => {
    let left = bytes
    const more = () => {
      while (left > 0) {
        left -= piece.length
        if (!response.write(piece)) return response.once('drain', more)
      }
      return response.end()
    }
    more()
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const address = server.address()
  return {
    address: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : ''}`,
    close: () => server.close(),
  }
}

await read(service.address, `${path}?limit=1`)
for (const [name, query] of [
  ['in the order of the key', ''],
  [
    'in another order',
    `?order_by=${encodeURIComponent('[{"field":"place"},{"field":"year","order":"desc"}]')}`,
  ],
] as const) {
  const before = memory(service.pid).now
  const runs: Read[] = []
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, memory(service.pid).now)
  }, 20)
  for (let round = 0; round < 3; round++) runs.push(await read(service.address, path + query))
  clearInterval(watch)
  const bytes = runs[0]?.bytes ?? 0
  const bare = await bareStream(bytes)
  const baseline = await read(bare.address, '/')
  bare.close()
  const rate = median(runs.map(one => one.bytes / 1e6 / one.seconds))
  console.log(
    `1,000,000 records ${name}: ${rate.toFixed(0)} MB/s (${(rate / (baseline.bytes / 1e6 / baseline.seconds)).toFixed(2)} of bare), ` +
      `first byte ${runs.map(one => one.firstByte.toFixed(0)).join(', ')} ms, memory grew by ${(peak - before).toFixed(0)} MB`,
  )
}

// Twenty clients that read once and then nothing more for five seconds.
const before = memory(service.pid).now
const slow = Array.from({ length: 20 }, () => {
  const socket = connect(Number(port), hostname, () =>
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  )
  socket.once('data', () => socket.pause())
  return socket
})
await new Promise(resolve => setTimeout(resolve, 5_000))
console.log(`20 slow readers: memory grew by ${(memory(service.pid).now - before).toFixed(0)} MB in total`)
for (const socket of slow) socket.destroy()
await service.stop()
