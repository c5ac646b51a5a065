import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { examplesIn } from '../support/clients/document.ts'
import { followDocument } from '../support/clients/followed.ts'
import { atEnd } from '../support/service/at-end.ts'
import { runSql, serverUrl } from '../support/service/databases.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

/** The guide that an operator follows: two nodes on one database, and a store that moves to another one. */

const path = 'docs/deployment.md'

test('D1 D3 every command of docs/deployment.md works, but those of systemd and nginx', async t => {
  const folder = temporaryFolder(t, 'sqlite')
  const superuser = await serverUrl()
  const [server, copied] = [new URL(superuser), new URL(superuser)]
  const name = `carrel_guide_${randomBytes(4).toString('hex')}`
  const statements = examplesIn(path).find(({ language }) => language === 'sql')?.text ?? ''
  for (const one of statements.trim().split('\n'))
    await runSql(superuser, one.replaceAll(/\bcarrel\b/g, name))
  await runSql(superuser, `CREATE DATABASE ${name}_copied OWNER ${name}`)
  atEnd(t, () => runSql(superuser, `DROP ROLE ${name}`))
  for (const database of [name, `${name}_copied`])
    atEnd(t, () => runSql(superuser, `DROP DATABASE ${database} WITH (FORCE)`))
  for (const [url, database] of [
    [server, name],
    [copied, `${name}_copied`],
  ] as const) {
    url.username = name
    url.password = 'choose%20one'
    url.pathname = `/${database}`
  }
  writeFileSync(join(folder, 'password'), 'choose one', { mode: 0o600 })
  const bare = new URL(copied)
  bare.password = ''
  const ports = [await freePort(), await freePort()] as const
  const [database, proxy] = ['postgres://carrel:choose%20one@127.0.0.1:5432/carrel', 'http://localhost:8088']
  // This service lends its folder and the address to the shell; the nodes are the guide's.
  const service = await startService(t, { engine: 'sqlite' })
  await followDocument(
    service,
    {
      path,
      before: `trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\nsudo() { :; }\n`,
      places: {
        '/etc/carrel.env': 'carrel.env',
        '/srv/carrel/files': 'files',
        '/etc/carrel/database-password': 'password',
        '/var/lib/carrel': 'embedded',
      },
      steps: [
        // The role was created above, as the superuser.
        { at: 'CREATE ROLE', by: ':' },
        {
          at: 'CARREL_BASE_URL=',
          by: `sed 's#${database}#${server.href}#; s#${proxy}#http://localhost:${ports[0]}#' $BLOCK > carrel.env`,
        },
        {
          at: 'CARREL_PORT=8081 carrel serve &',
          instead: [
            [
              'CARREL_PORT=8081 carrel serve &',
              `env CARREL_PORT=${ports[0]} carrel serve > first.log 2>&1 &`,
            ],
            [
              'CARREL_PORT=8082 carrel serve &',
              `env CARREL_PORT=${ports[1]} carrel serve > second.log 2>&1 &`,
            ],
          ],
        },
        { at: '[Service]', elsewhere: 'test/products/deploy.test.ts' },
        { at: 'synchronous_commit', elsewhere: 'test/nodes/failover.test.ts' },
        { at: 'upstream carrel', needs: 'nginx; test/products runs the example in deploy/' },
        {
          at: 'curl -i http://localhost:8088',
          before: `for port in ${ports.join(' ')}; do
  until lenient_curl -sf -o ready http://localhost:$port/health/ready; do sleep 0.2; done
  lenient_curl -sf -o status http://localhost:$port/server/api/authn/status
done`,
          instead: [[proxy, `http://localhost:${ports[0]}`]],
        },
        {
          at: 'carrel copy --to',
          before: `unset CARREL_DATABASE_URL CARREL_FILES
CARREL_DATA=$PWD/embedded carrel eperson add ruth@example.org --no-password`,
          instead: [['postgres://carrel@127.0.0.1:5432/carrel', bare.href]],
        },
        { at: 'carrel copy --finish', instead: [[database, copied.href]] },
      ],
      least: 6,
    },
    folder,
  )
  for (const log of ['first.log', 'second.log'])
    assert.match(readFileSync(join(folder, log), 'utf8'), /"msg":"ready"/)
})
