import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { commandEvent } from '../../src/cli/store.ts'
import { Client } from '../support/clients/client.ts'
import { listPath } from '../support/clients/listings.ts'
import { keepsAtMost, openOn, residentOf } from '../support/clients/transfers.ts'
import { repeats } from '../support/scale.ts'
import { testOn } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'
import { connectionsTo } from '../support/service/workers.ts'

/** Number of clients that request a listing of everything and read nothing (Q18). */
const clients = 1_000
const networks = 250
/** Default of `CARREL_LISTINGS`, the number of listings sent at the same time. */
const listings = 32
const refreshes = repeats(2_500, 20_000)
const mebibyte = 2 ** 20

testOn(
  'sqlite',
  'Q18 a thousand clients that read nothing cost at most 64 MiB, and leave the log at 16 MiB',
  async t => {
    const dataFolder = temporaryFolder(t)
    const own = await startService(t, { dataFolder })
    await own.addEperson('root@example.org', { admin: true })
    const reason = 'x'.repeat(16_000)
    for (let n = 0; n < 15; n++)
      await Promise.all(
        Array.from({ length: 100 }, () => own.storage.trail.record({ ...commandEvent('login'), reason })),
      )
    await own.stop()

    // With this setting, clients that read nothing stay connected, however long the test takes.
    const env = { CARREL_LOG_LEVEL: 'error', CARREL_LISTING_PATIENCE: '3600' }
    const served = await serve(t, dataFolder, { env })
    const client = new Client(served.address)
    const token = await client.login('root@example.org')
    const { cookie, value } = await client.csrfPair()
    const headers = { authorization: `Bearer ${token}`, cookie, 'x-xsrf-token': value }
    const connections = connectionsTo(t, served.address)
    const refresh = (times: number) =>
      Promise.all(
        connections.map(async ({ ask }) => {
          for (let n = 0; n < times / connections.length; n++) {
            const { status } = await ask('/api/authn/login', { method: 'POST', headers })
            assert.equal(status, 200)
          }
        }),
      )
    // Warms the service up to the memory that it needs anyway.
    await refresh(2_000)
    const response = await client.get(listPath('audit-events'))
    await response.body?.pipeTo(new WritableStream())
    const before = residentOf(served.pid)

    const stalled = Array.from({ length: clients }, (_, n) => unread(served.address, n % networks, token))
    t.after(() => {
      for (const socket of stalled) socket.destroy()
    })
    // The listings being sent; the others wait for their turn.
    await until(
      `${listings} listings that have begun`,
      () => stalled.filter(socket => socket.readableLength > 0).length,
      begun => begun === listings,
    )
    await until(
      `more than ${clients} connections`,
      () => openOn(served.pid, 'socket:'),
      open => open > clients,
    )
    const grown = await keepsAtMost(64 * mebibyte, served.pid, before)

    let log = 0
    const watch = setInterval(() => {
      log = Math.max(log, statSync(join(dataFolder, 'carrel.db-wal')).size / mebibyte)
    }, 20)
    t.after(() => clearInterval(watch))
    await refresh(refreshes)
    t.diagnostic(`${(grown / mebibyte).toFixed(0)} MiB, log ${log.toFixed(1)} MiB`)
    assert.ok(log <= 16, `a log of ${log} MiB`)
  },
)

/** Starts a listing that its client, in a network of its own, does not read. */
function unread(address: string, network: number, token: string): Socket {
  const socket = connect({
    port: Number(new URL(address).port),
    host: '127.0.0.1',
    localAddress: `127.0.1.${network + 1}`,
  })
  socket.on('error', () => {})
  // The socket takes a first piece and no more.
  socket.on('readable', () => {})
  socket.write(
    `GET ${listPath('audit-events')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
  return socket
}
