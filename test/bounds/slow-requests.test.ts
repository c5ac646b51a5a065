import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { testOn } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

/**
 * Limit in ms: far longer than the second allowed for a request, and shorter than the 30 s of Node's own
 * checks.
 */
const limit = 25_000

/** Sends a start and then a byte at a time, until the service closes the connection. @returns the answer */
async function drip(address: string, start: string, byte: string): Promise<string> {
  const { hostname, port } = new URL(address)
  // Half-open: the client keeps sending after the service has ended its side.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  const dripping = setInterval(() => socket.write(byte), 20)
  let answer = ''
  socket.on('data', chunk => {
    answer += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise<void>(resolve => {
    socket.once('close', () => resolve())
  })
  const giveUp = setTimeout(() => socket.destroy(), limit)
  try {
    socket.write(start)
    await closed
    return answer
  } finally {
    clearTimeout(giveUp)
    clearInterval(dripping)
  }
}

const post = (headers: string) => `POST /api/authn/login HTTP/1.1\r\nHost: localhost\r\n${headers}`
const form = 'Content-Type: application/x-www-form-urlencoded\r\n'
/** @param pair the headers of a valid CSRF pair, without which the body is never read */
const drips: Readonly<Record<string, (pair: string) => readonly [start: string, byte: string]>> = {
  'a request line': () => ['GET /api/', 'a'],
  headers: () => [post(''), 'X: y\r\n'],
  'a body': pair => [post(`${pair}${form}Content-Length: 10000\r\n\r\n`), 'a'],
  'a body in chunks': pair => [post(`${pair}${form}Transfer-Encoding: chunked\r\n\r\n`), '1\r\na\r\n'],
  'a body that was refused': () => [post(`${form}Content-Length: 10000\r\n\r\n`), 'a'],
}

for (const [what, of] of Object.entries(drips))
  testOn(
    'sqlite',
    `E2 ${what} that drips ends when its time is over, and so does the connection`,
    async t => {
      const { address } = await startService(t, { env: { CARREL_REQUEST_TIMEOUT: '1' } })
      const { headers } = await fetch(`${address}/api/security/csrf`)
      const [cookie = ''] = headers.getSetCookie()[0]?.split(';') ?? []
      const pair = `X-XSRF-TOKEN: ${headers.get('dspace-xsrf-token')}\r\nCookie: ${cookie}\r\n`
      const answer = await drip(address, ...of(pair))
      // The service may have answered before the body arrived.
      assert.match(answer, what === 'a body that was refused' ? /^HTTP\/1\.1 403 / : /^HTTP\/1\.1 408 /)
      assert.match(answer, /HTTP\/1\.1 408 [^{]+{.*"detail":"The request did not arrive within 1 s\."/)
    },
  )
