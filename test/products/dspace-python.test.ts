import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { environmentWithNode, repository, run, serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'
import { freePort } from './dspace-interface.ts'
import { needPackages } from './packages.ts'

/** DSpace's Python client, of which DSPACE_PYTHON_CLIENT names the folder: it is in no package of Debian. */
const client = process.env.DSPACE_PYTHON_CLIENT

test('Z1 what DSpace’s Python client writes is there, and what Carrel has not fails with a clear message', async t => {
  assert.ok(client, 'set DSPACE_PYTHON_CLIENT to a checkout of the-library-code/dspace-rest-python')
  await needPackages('python3-requests', 'python3-pysolr', 'python3-smart-open')
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  await own.addEperson('admin@example.org', { admin: true })
  await own.stop()
  const port = await freePort()
  const api = `http://127.0.0.1:${port}/server/api`
  await serve(t, dataFolder, {
    env: { CARREL_PORT: String(port), CARREL_BASE_URL: `http://127.0.0.1:${port}/server` },
  })
  const script = join(repository, 'test/products/dspace-calls.py')
  const { code, stdout, stderr } = await run(
    '/usr/bin/python3',
    [script, api, 'admin@example.org', passwordOf('admin@example.org')],
    { env: environmentWithNode({ PYTHONPATH: client }) },
  )
  assert.equal(code, 0, stdout + stderr)
  const calls = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { call: string; right: boolean; given: string })
  assert.deepEqual(
    calls.filter(({ right }) => !right),
    [],
  )
  assert.equal(calls.length, 24)
})
