import { createServer } from 'node:http'

/** The baseline: a bare `node:http` server that answers every request with a body of the given size. */
const body = Buffer.alloc(Number(process.argv[2]), 'x')

const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : ''}`)
})
