import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { addPuppetEntities } from '../support/data/puppet.ts'
import { repository, run } from '../support/service/process.ts'
import { startService } from '../support/service/service.ts'
import { needPackages } from './packages.ts'

/** PuppetDB's Python client, from Debian's packages, as it is. */
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
