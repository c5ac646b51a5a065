import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'

/** The baseline: a bare `node:http` server that answers every request with one file. */
const path = process.argv[2] ?? ''
const { size } = statSync(path)

const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size })
  createReadStream(path).pipe(response)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : ''}`)
})
