import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '../support/clients/client.ts'
import { list } from '../support/clients/listings.ts'
import { openSocket } from '../support/clients/raw.ts'
import { isLong, repeats } from '../support/scale.ts'
import { createDatabase, runSql } from '../support/service/databases.ts'
import { fill, letters, withClient } from '../support/service/faults.ts'
import { type Served, serve } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const admin = 'admin@example.org'

/** Numbers of rows whose listings are much larger than the buffers of both sockets. */
const eventCount = repeats(20_000, 30_000)
const records = letters(repeats(2_000, 3_000), 'x'.repeat(10_000))

/** Starts a node with a single connection, so that one that isn't returned is missed. */
async function startNode(t: TestContext, content: Parameters<typeof fill>[2]) {
  const url = await createDatabase(t)
  const env = { CARREL_DATABASE_URL: url, CARREL_DATABASE_POOL_SIZE: '1' }
  await fill(t, env, content)
  return { url, served: await serve(t, temporaryFolder(t), { env }) }
}

const ofCarrel =
  "SELECT pid FROM pg_stat_activity WHERE application_name = 'carrel' AND datname = current_database()"
const cut = (which: string) =>
  `SELECT count(pg_terminate_backend(pid))::int AS cut FROM (${ofCarrel} AND ${which}) these`

/** A condition for a listing whose client has stalled: the node waits for it with an open cursor. */
const stalled =
  "state = 'idle in transaction' AND query LIKE 'FETCH %' AND clock_timestamp() - state_change > '0.3 s'"

async function cutStalled(url: string): Promise<void> {
  await withClient(url, client =>
    until(
      'a listing that waits for its client, to be cut',
      async () => (await client.query<{ cut: number }>(cut(stalled))).rows[0]?.cut,
      count => count === 1,
    ),
  )
}

/** @returns the answer, unread, and a promise of its ending: `end`, or the code of the error */
async function open(served: Served, path: string, headers: Record<string, string>) {
  const request = get(served.address + path, { agent: false, headers })
  // The answer reports the error, too.
  request.on('error', () => {})
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  return { response, ending: endingOf(response) }
}

function endingOf(stream: Readable): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  stream.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  stream.once('end', () => resolve('end'))
  return promise
}

const insertEvents = `INSERT INTO carrel.event (time, event, outcome, reason)
  SELECT '2020-01-01T00:00:00.000Z', 'login', 'failure', repeat('x', 1000) FROM generate_series(1, ${eventCount})`

test('Q10 a listing of a table whose connection is cut in the middle breaks off, in every format and version of HTTP', async t => {
  const { url, served } = await startNode(t, { administrator: admin })
  await runSql(url, insertEvents)
  const client = new Client(served.address)
  const token = await client.login(admin)
  // In CI, only the format that would look complete wherever a line ends.
  for (const accept of ['application/x-ndjson', ...(isLong ? ['application/json', 'text/csv'] : [])]) {
    const headers = { accept, authorization: `Bearer ${token}` }
    const { response, ending } = await open(served, '/api/query/v4/audit-events', headers)
    await cutStalled(url)
    response.resume()
    assert.equal(await ending, 'ECONNRESET', accept)
    assert.equal(response.complete, false)
  }
  // In HTTP/1.0, the end of the connection is the end of the body. Only a reset tells that there was more.
  const socket = openSocket(served.address)
  const ending = endingOf(socket)
  socket.write(
    `GET /api/query/v4/audit-events HTTP/1.0\r\nHost: service.test\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
  await cutStalled(url)
  socket.resume()
  assert.equal(await ending, 'ECONNRESET')
  // The node goes on: none of the cut listings counts as one under way.
  assert.ok((await list(client, 'audit-events')).length > eventCount)
})

/** A condition for a listing of records, which waits for its client without a connection. */
const restful = `state = 'idle' AND query LIKE '%"records.%' AND clock_timestamp() - state_change > '0.3 s'`

async function cutAtRest(url: string, served: Served): Promise<void> {
  const { response, ending } = await open(served, '/api/query/v4/letters', {})
  await withClient(url, async client => {
    await until(
      'a connection at rest',
      async () => (await client.query(`${ofCarrel} AND ${restful}`)).rows,
      rows => rows.length === 1,
    )
    const before = (await client.query<{ pid: number }>(ofCarrel)).rows.map(({ pid }) => pid)
    await client.query(cut('true'))
    // The node has noticed the cut once it has reconnected.
    await until(
      'a new connection of the node',
      async () => (await client.query<{ pid: number }>(ofCarrel)).rows,
      rows => rows.some(({ pid }) => !before.includes(pid)),
    )
  })
  const body = await text(response)
  assert.equal(await ending, 'end')
  assert.ok(body === JSON.stringify(records), `${body.length} bytes`)
}

async function cutAnyTime(url: string, served: Served, t: TestContext): Promise<void> {
  const whole = new Map([
    ['/api/query/v4/letters', JSON.stringify(records)],
    [
      `/api/query/v4/letters?order_by=${encodeURIComponent('[{"field":"id","order":"desc"}]')}`,
      JSON.stringify(records.toReversed()),
    ],
  ])
  const outcomes = { whole: 0, broken: 0, refused: 0 }
  let cuts = 0
  await withClient(url, async client => {
    let isOver = false
    const cutting = (async () => {
      while (!isOver) {
        cuts += (await client.query<{ cut: number }>(cut('true'))).rows[0]?.cut ?? 0
        await sleep(randomInt(50, 300))
      }
    })()
    const reader = async (path: string, expected: string) => {
      // Repeated until a cut has hit a listing, which takes longer on some machines.
      for (let answered = 0; answered < 3 || cuts <= repeats(4, 10) || outcomes.broken === 0; ) {
        const response = await fetch(served.address + path)
        if (response.status === 503) {
          outcomes.refused++
          await response.arrayBuffer()
          continue
        }
        assert.equal(response.status, 200)
        answered++
        let body: string
        try {
          body = await response.text()
        } catch (error) {
          assert.ok(error instanceof TypeError && error.message === 'terminated', String(error))
          outcomes.broken++
          continue
        }
        assert.ok(body === expected, `a body that looks whole has ${body.length} of ${expected.length} bytes`)
        outcomes.whole++
      }
    }
    await Promise.all([...whole].map(([path, expected]) => reader(path, expected)))
    isOver = true
    await cutting
  })
  t.diagnostic(`${cuts} connections cut: ${JSON.stringify(outcomes)}`)
  assert.ok(outcomes.whole + outcomes.broken > 0)
  for (const [path, expected] of whole) {
    const { body } = await until(
      `an answer to ${path} that is 200`,
      async () => {
        const response = await fetch(served.address + path)
        return { status: response.status, body: await response.text() }
      },
      ({ status }) => status === 200,
    )
    assert.ok(body === expected)
  }
}

test('Q10 a listing of imported records holds no connection', async t => {
  const { url, served } = await startNode(t, { letters: records })
  await t.test('it comes whole when all connections are cut while its client takes its time', () =>
    cutAtRest(url, served),
  )
  await t.test('it is whole or breaks off when they are cut again and again', during =>
    cutAnyTime(url, served, during),
  )
})
