import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { list } from '../support/clients/listings.ts'
import { isLong } from '../support/scale.ts'
import { createDatabase, runSql } from '../support/service/databases.ts'
import { testOn } from '../support/service/engines.ts'
import { carrelProcess, entry, serve } from '../support/service/process.ts'
import { passwordOf, temporaryFolder } from '../support/service/service.ts'

const rounds = 3
const nodes = 4
const admin = 'admin@example.org'

testOn(
  'sqlite',
  'D3 a secret comes from the pipe of a command, which is read once, also for a free port',
  async t => {
    const command = 'exec env CARREL_METRICS_SECRET_FILE=<(sleep 0.2; printf "%040d" 7) "$0" "$@"'
    const served = await serve(t, temporaryFolder(t), {
      program: ['bash', '-c', command, process.execPath, entry],
    })
    const ask = (secret: string) =>
      fetch(`${served.address}/metrics`, { headers: { authorization: `Bearer ${secret}` } })
    assert.equal((await ask('7'.padStart(40, '0'))).status, 200)
    assert.equal((await ask('8'.padStart(40, '0'))).status, 401)
  },
)

// In the everyday run, test/races/authn.test.ts starts two at the same moment, and
// test/nodes/isolation.test.ts four in one process.
if (isLong)
  test('T7 D4 nodes that start at the same moment on an empty database make one store of it', async t => {
    const dataFolder = temporaryFolder(t)
    for (let round = 0; round < rounds; round++)
      await t.test(`round ${round + 1}`, async inRound => {
        const url = await createDatabase(inRound)
        const env = { CARREL_DATABASE_URL: url }
        // A command at the same moment takes part, too.
        const add = carrelProcess(dataFolder, ['eperson', 'add', admin, '--admin', '--password-stdin'], {
          env,
          input: passwordOf(admin),
        })
        const served = await Promise.all(
          Array.from({ length: nodes }, () => serve(inRound, dataFolder, { env })),
        )
        const { code, stderr } = await add
        assert.equal(code, 0, stderr)

        assert.deepEqual(await runSql(url, 'SELECT name FROM carrel.epersongroup'), [
          { name: 'Administrator' },
        ])
        for (const table of ['secret', 'state', 'store_schema', 'eperson'])
          assert.deepEqual(
            await runSql(url, `SELECT count(*)::int AS rows FROM carrel.${table}`),
            [{ rows: 1 }],
            table,
          )

        const clients = served.map(({ address }) => new Client(address))
        for (const client of clients) {
          const token = await client.login(admin)
          for (const other of clients) {
            assert.equal(await other.isLoggedIn(token), true)
            // The CSRF pair of one node is accepted by all, too.
            const { cookie, value } = await client.csrfPair()
            const refreshed = await other.request('/api/authn/login', {
              method: 'POST',
              headers: { cookie, 'x-xsrf-token': value, authorization: `Bearer ${token}` },
            })
            assert.equal(refreshed.status, 200, await refreshed.text())
          }
        }
        for (const client of clients) {
          const events = await list(client, 'audit-events')
          assert.deepEqual(
            ['eperson.add', 'group.join', 'login', 'refresh'].map(
              name => events.filter(one => one.event === name).length,
            ),
            [1, 1, nodes, nodes * nodes],
          )
        }
        for (const one of served) assert.equal(one.output.stderr, '')
      })
  })
