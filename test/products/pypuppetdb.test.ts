import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { addPuppetEntities } from '../support/data/puppet.ts'
import { atEnd } from '../support/service/at-end.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { carrel, repository, run } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'
import { blockOf, configureNginx, nginxProgram } from './nginx.ts'
import { needPackages } from './packages.ts'

const guide = join(repository, 'docs/how-to/puppetdb-clients.md')

test('Q14 Q15 Q16 Q24 every call of pypuppetdb that reads is answered as PuppetDB would', async t => {
  await needPackages('python3-pypuppetdb')
  const service = await startService(t, { env: { CARREL_QUERY_BASE: '/pdb/query/v4' } })
  await addPuppetEntities(service)
  const { hostname, port } = new URL(service.address)
  const script = join(repository, 'test/products/puppetdb-calls.py')
  const { code, stdout, stderr } = await run('/usr/bin/python3', [script, hostname, port])
  assert.equal(code, 0, stderr)
  const calls = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { call: string; right: boolean; given: string })
  assert.ok(calls.length >= 56, `${calls.length} calls were made`)
  assert.deepEqual(
    calls.filter(({ right }) => !right),
    [],
  )
})

test('Q24 behind the proxy that the guide shows for Puppetboard, which sends no token, its requests are answered', async t => {
  const service = await startService(t, { env: { CARREL_QUERY_BASE: '/pdb/query/v4' } })
  await addPuppetEntities(service, 'eperson')
  await service.addEperson('puppetboard@example.org')
  const [, words = ''] = /^carrel (access-token add .*)$/m.exec(readFileSync(guide, 'utf8')) ?? []
  const made = await carrel(service.dataFolder, words.split(' '))
  assert.equal(made.code, 0, made.stderr)
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const port = await freePort()
  const server = blockOf('docs/how-to/puppetdb-clients.md', 'nginx')
    .replaceAll('127.0.0.1:8080', new URL(service.address).host)
    .replace('127.0.0.1:8082', `127.0.0.1:${port}`)
    .replaceAll('the-access-token', made.stdout.trim())
  const child = spawn(nginxProgram, configureNginx(folder, server), { stdio: 'ignore' })
  const ended = once(child, 'exit')
  atEnd(t, async () => {
    child.kill('SIGTERM')
    await ended
  })
  // The header that the client sends without a user.
  const headers = { authorization: `Basic ${btoa('None:None')}` }
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: { ...headers, ...init.headers } })
  await until(
    'nginx',
    () =>
      ask('/')
        .then(() => true)
        .catch(() => false),
    Boolean,
  )
  for (const path of [
    '/pdb/meta/v1/version',
    '/pdb/query/v4/nodes?limit=5',
    '/pdb/query/v4/reports/0000000000000000000000000000000000000000/events',
    '/pdb/query/v4/event-counts?summarize_by=certname&query=%5B%22~%22%2C%22certname%22%2C%22.%22%5D',
    '/pdb/query/v4/fact-names',
    '/status/v1/services',
    '/metrics/v2/read/puppetlabs.puppetdb.population:name=num-nodes',
  ]) {
    const response = await ask(path)
    assert.equal(response.status, 200, `${path}: ${await response.text()}`)
  }
  const asked = await ask('/pdb/query/v4', {
    method: 'POST',
    body: JSON.stringify({ query: 'nodes[certname] { }' }),
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(asked.status, 200, await asked.text())
  assert.equal((await ask('/api/authn/status')).status, 404)
  const direct = await fetch(`${service.address}/pdb/query/v4/nodes`, { headers })
  assert.equal(direct.status, 401)
})
