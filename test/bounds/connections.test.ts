import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { testOn } from '../support/service/engines.ts'
import { entry, type Served, serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'
import { until, within } from '../support/service/waiting.ts'

/** Limit of descriptors, and the number of connections that a service with one worker takes then. */
const descriptors = 300
const places = 102
const program = [
  ...['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh'],
  ...[process.execPath, entry],
] as const

const ruth = 'ruth@example.org'

interface Line {
  readonly socket: Socket
  received: string
  /** Sends a text and waits for an answer that matches. */
  ask(text: string, expected: RegExp): Promise<void>
}

/** Opens a connection from an address, which is a network of its own. */
async function lineFrom(t: TestContext, { address }: Pick<Served, 'address'>, from: string): Promise<Line> {
  const { hostname, port } = new URL(address)
  const socket = connect({ host: hostname, port: Number(port), localAddress: from })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  const line: Line = {
    socket,
    received: '',
    ask: async (text, expected) => {
      line.received = ''
      socket.write(text)
      const answered = new Promise<void>((resolve, reject) => {
        const look = () => expected.test(line.received) && resolve()
        socket.on('data', look)
        if (socket.closed) reject(new Error('closed before'))
        socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(line.received)}`)))
      })
      await within(`an answer that matches ${expected}`, answered, () => line.received)
    },
  }
  socket.on('data', chunk => {
    line.received += chunk
  })
  return line
}

const linesFrom = async (t: TestContext, served: Served, from: string, count: number): Promise<Line[]> => {
  const lines: Line[] = []
  for (let at = 0; at < count; at++) lines.push(await lineFrom(t, served, from))
  return lines
}

const live = 'GET /health/live HTTP/1.1\r\nHost: service.test\r\n\r\n'
/** The beginning of a request whose body never comes. Node says that it has begun. */
const begun = async ({ address }: Served) => {
  const { cookie, value } = await new Client(address).csrfPair()
  return (
    'POST /api/authn/login HTTP/1.1\r\nHost: service.test\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
    `Cookie: ${cookie}\r\nX-XSRF-TOKEN: ${value}\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n`
  )
}

const openOf = (lines: readonly Line[]) => lines.filter(({ socket }) => !socket.closed).length

/** Seconds after which connections without a whole request end: longer than any of these tests takes. */
const env = { CARREL_REQUEST_TIMEOUT: '3600' }

testOn(
  'sqlite',
  'D19 connections up to the limit of descriptors end no worker that starts, and no service',
  async t => {
    const dataFolder = temporaryFolder(t)
    await (await startService(t, { dataFolder })).addEperson(ruth)
    const options = { env: { ...env, CARREL_WORKERS: '3' }, program, waitsForWorkers: false }
    const served = await serve(t, dataFolder, options)
    const { hostname, port } = new URL(served.address)
    let opened = 0
    let isOver = false
    t.after(() => {
      isOver = true
    })
    const keepOpen = () => {
      if (isOver) return
      const socket = connect({ host: hostname, port: Number(port), localAddress: '127.0.1.1' })
      t.after(() => socket.destroy())
      socket.on('connect', () => opened++)
      socket.on('error', () => {})
      socket.on('close', () => setTimeout(keepOpen, 100))
    }
    for (let at = 0; at < descriptors + 100; at++) keepOpen()
    await until(
      'all workers',
      async () => (await fetch(`${served.address}/health/ready`)).json(),
      ready => !('workers' in (ready as object)),
    )
    await until('more connections than descriptors', () => opened > 2 * descriptors)
    const { status } = await new Client(served.address).tryLogin(ruth, passwordOf(ruth))
    assert.equal(status, 200)
    assert.ok(readdirSync(`/proc/${served.pid}/fd`).length < descriptors)
    isOver = true
    assert.doesNotMatch(served.output.stdout, /worker has ended|Too many files/)
    assert.equal(await served.stop(), 0)
  },
)

testOn(
  'sqlite',
  'D19 a network has half of the connections, and the one with the most gives way first',
  async t => {
    const served = await serve(t, temporaryFolder(t), {
      env: { ...env, CARREL_TRUSTED_PROXIES: '127.0.9.0/24' },
      program,
    })
    const few = await linesFrom(t, served, '127.0.1.1', 5)
    const proxied = await linesFrom(t, served, '127.0.9.1', 20)
    for (const one of [...few, ...proxied]) await one.ask(live, /live/)
    const first = await linesFrom(t, served, '127.0.2.1', places)
    await until(
      'half of the places',
      () => openOf(first),
      open => open === places / 2,
    )
    assert.ok(
      first.slice(-places / 2).every(({ socket }) => !socket.closed),
      'the newest stay',
    )
    const second = await linesFrom(t, served, '127.0.3.1', places)
    await until(
      'all places',
      () => openOf([...first, ...second]),
      open => open === places - 25,
    )
    assert.ok(Math.abs(openOf(first) - openOf(second)) < 2, 'both have as many')
    for (const one of [...few, ...proxied]) await one.ask(live, /live/)
    // Clients of a proxy share its connections, so they are no network.
    const more = await linesFrom(t, served, '127.0.9.2', places / 2 + 9)
    await until(
      'all places',
      () => openOf([...first, ...second]),
      open => open === places - 25 - more.length,
    )
    for (const one of [...proxied, ...more]) await one.ask(live, /live/)
    for (const one of few) await one.ask(live, /live/)
    assert.equal(await served.stop(), 0)
  },
)

testOn(
  'sqlite',
  'D19 where no connection is idle, the newest of the largest network gives way, or 503 is the answer',
  async t => {
    const served = await serve(t, temporaryFolder(t), { env, program })
    const request = await begun(served)
    const isUnderWay = /^HTTP\/1\.1 100 /
    const first: Line[] = []
    const second: Line[] = []
    for (const [from, lines] of [
      ['127.0.2.1', first],
      ['127.0.3.1', second],
    ] as const)
      while (lines.length < places / 2) {
        const line = await lineFrom(t, served, from)
        await line.ask(request, isUnderWay)
        lines.push(line)
      }

    // A network that has its share gets no more.
    const refused = await lineFrom(t, served, '127.0.2.1')
    await refused.ask(live, /HTTP\/1\.1 503 .*retry-after: 5.*"code":"busy".*connections/is)
    assert.equal(openOf([...first, ...second]), places)

    const third = await lineFrom(t, served, '127.0.4.1')
    await third.ask(live, /live/)
    await until(
      'one that gave way',
      () => openOf([...first, ...second]),
      open => open === places - 1,
    )
    assert.ok(first.at(-1)?.socket.closed || second.at(-1)?.socket.closed)
    await third.ask('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n', /process_open_fds \d+/)
    assert.match(third.received, new RegExp(`^carrel_connections_open ${places}$`, 'm'))
    assert.match(third.received, new RegExp(`^carrel_connections_max ${places}$`, 'm'))
    assert.match(third.received, /^carrel_connections_limited_total\{outcome="refused"\} 1$/m)
    assert.match(third.received, /^carrel_connections_limited_total\{outcome="ended"\} [1-9]/m)
    for (const { socket } of [...first, ...second]) socket.destroy()
    assert.equal(await served.stop(), 0)
  },
)
