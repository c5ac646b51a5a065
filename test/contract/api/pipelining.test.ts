import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { listPath } from '../../support/clients/listings.ts'
import { openSocket } from '../../support/clients/raw.ts'
import { newItem, upload } from '../../support/data/editing.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

/**
 * Returns a request that careless or hostile clients send without waiting for earlier responses (RFC 9112
 * §9.3.2).
 */
const get = (path: string, ...headers: string[]) =>
  `${[`GET ${path} HTTP/1.1`, 'Host: service.test', ...headers].join('\r\n')}\r\n\r\n`

/** Opens a connection without reading from it, and finds its socket in the service. */
function connectTo(t: TestContext, service: Service) {
  const socket = openSocket(service.address)
  atEnd(t, () => socket.destroy())
  socket.on('error', () => {}).pause()
  let arrived = 0
  let connection: Socket | undefined
  service.app.server.on('request', (request: IncomingMessage) => {
    if (request.socket.remotePort !== socket.localPort) return
    arrived++
    connection = request.socket
  })
  return { socket, arrived: () => arrived, connection: () => connection }
}

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await new Promise(resolve => socket.once('close', resolve).resume())
  return Buffer.concat(chunks).toString('latin1')
}

const addLetters = (service: Service, edition: string, count: number, length: number) =>
  service.addRecords(
    'letters',
    'id',
    Array.from({ length: count }, (_, id) => ({ id, edition, text: 'x'.repeat(length) })),
  )

test('Q18 a connection is not read on while many of its requests wait for their turn', async t => {
  const service = await startService(t, { env: { CARREL_LISTINGS: '4' } })
  await addLetters(service, 'only', 2_500, 10_000)
  const path = listPath('letters')
  // A network has one place, which this listing occupies.
  const other = connectTo(t, service)
  other.socket.write(get(path))
  await once(other.socket, 'readable')
  const { socket, arrived, connection } = connectTo(t, service)
  const sent = 50_000
  socket.write(get(path).repeat(sent))
  await until('a connection that is not read on', () => connection()?.isPaused())
  assert.ok(arrived() < sent, `${arrived()} were read`)
})

test('T12 what waits behind other answers of its connection shows nothing once its session has ended', async t => {
  const service = await startService(t, { env: { CARREL_LISTINGS: '8' } })
  await service.addEperson('admin@example.org', { admin: true })
  const records = Array.from({ length: 100 }, (_, id) => ({ id, text: 'x'.repeat(250_000) }))
  await service.addRecords('secrets', 'id', records, 'admin')
  const admin = await service.loggedIn('admin@example.org')
  const { bundle } = await newItem(admin)
  const file = await upload(admin, bundle, { name: 'a.txt', content: 'hello' })
  const token = `Authorization: Bearer ${admin.token}`
  const { socket, arrived } = connectTo(t, service)
  const list = listPath('secrets')
  socket.write(
    get(list, token) +
      get(listPath('secrets', { limit: 100 }), token) +
      get(`/api/core/bitstreams/${file.body.uuid}/content`, token) +
      get(list, token, 'Connection: close'),
  )
  await until('four requests', arrived, count => count === 4)
  await once(socket, 'readable')
  assert.equal((await admin.post('/api/authn/logout')).status, 204)
  const statuses = [...(await readAll(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  // The answer in progress is completed.
  assert.deepEqual(statuses, ['200', '401', '401', '401'])
})

test('Q18 a page of large records waits for its turn like a long listing', async t => {
  const service = await startService(t)
  const page = 100
  await addLetters(service, 'old', page, 250_000)
  const { socket, arrived } = connectTo(t, service)
  const path = listPath('letters', { limit: page })
  socket.write(get(path) + get(path) + get(path, 'Connection: close'))
  await until('three requests', arrived, count => count === 3)
  await once(socket, 'readable')
  // Listings that begin later contain the new letters.
  await addLetters(service, 'new', page, 250_000)
  const editions = (await readAll(socket)).matchAll(/"edition":"(\w+)"/g)
  assert.deepEqual(
    Object.entries(Object.groupBy(editions, ([, edition]) => edition ?? '')).map(([edition, all]) => [
      edition,
      all?.length,
    ]),
    [
      ['old', page],
      ['new', 2 * page],
    ],
  )
})

testOn(
  'sqlite',
  'E2 Q10 an error of a later request never appears in the body that is being sent',
  async t => {
    const service = await startService(t)
    await addLetters(service, 'only', 2_500, 10_000)
    const { socket } = connectTo(t, service)
    socket.write(get(listPath('letters')))
    await once(socket, 'readable')
    socket.write('this is no request\r\n\r\n')
    await once(service.app.server, 'clientError')
    const received = await readAll(socket)
    assert.match(received, /^HTTP\/1\.1 200 /)
    assert.doesNotMatch(received, /HTTP\/1\.1 400|bad-request/)
    // The body doesn't look complete, either.
    assert.doesNotMatch(received, /\r\n0\r\n\r\n$/)
  },
)

testOn('sqlite', 'E2 what is no request gets its answer after the response to an earlier one', async t => {
  const service = await startService(t)
  const { socket } = connectTo(t, service)
  socket.write(get('/api/authn/status'))
  await once(socket, 'readable')
  socket.write('this is no request\r\n\r\n')
  assert.match(await readAll(socket), /^HTTP\/1\.1 200 .*HTTP\/1\.1 400 .*"bad-request"/s)
})

testOn('sqlite', 'Q18 a client that reads none of its short responses is disconnected', async t => {
  const env = { CARREL_LISTING_PATIENCE: '1', CARREL_REQUEST_TIMEOUT: '1' }
  const service = await startService(t, { env })
  await addLetters(service, 'only', 100, 1_000)
  const { socket, connection } = connectTo(t, service)
  socket.write(get(listPath('letters', { limit: 100 })).repeat(400))
  await until('a connection', connection)
  assert.equal(connection()?.timeout, 1_000)
  await until('the end of the connection', () => connection()?.destroyed)
})

testOn('sqlite', 'D4 a connection that is kept open for requests that do not come is closed', async t => {
  const service = await startService(t)
  service.app.server.keepAliveTimeout = 50
  const { socket } = connectTo(t, service)
  socket.write(get('/api/authn/status'))
  assert.match(await readAll(socket), /^HTTP\/1\.1 200 /)
})
