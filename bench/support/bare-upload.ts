import { createWriteStream, fsyncSync, openSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** The baseline: a bare `node:http` server that writes every body to a file and syncs it. */
const folder = process.argv[2] ?? ''
let count = 0

const server = createServer(async (request, response) => {
  const path = join(folder, `${count++}`)
  const fd = openSync(path, 'w')
  await pipeline(request, createWriteStream(path, { fd, autoClose: false }))
  fsyncSync(fd)
  response.writeHead(201).end()
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : ''}`)
})
