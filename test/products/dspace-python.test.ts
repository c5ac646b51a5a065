import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from '../support/service/engines.ts'
import { carrel, environmentWithNode, repository, run, serve } from '../support/service/process.ts'
import { passwordOf, startService } from '../support/service/service.ts'
import { freePort } from './dspace-interface.ts'
import { needPackages } from './packages.ts'

/** The folder of DSpace's Python client, which is in no Debian package. */
const client = process.env.DSPACE_PYTHON_CLIENT
const administrator = 'admin@example.org'

test('Z1 every function of DSpace’s Python client works, or fails with a clear message where Carrel has nothing for it', async t => {
  assert.ok(client, 'set DSPACE_PYTHON_CLIENT to a checkout of the-library-code/dspace-rest-python')
  await needPackages('python3-requests', 'python3-pysolr', 'python3-smart-open')
  const own = await startService(t)
  await own.addEperson(administrator, { admin: true })
  await own.stop()
  const { stdout: token } = await carrel(own.dataFolder, [
    'access-token',
    'add',
    administrator,
    '--name=python',
    '--parts=people',
  ])
  const port = await freePort()
  const api = `http://127.0.0.1:${port}/server/api`
  await serve(t, own.dataFolder, {
    env: { CARREL_PORT: String(port), CARREL_BASE_URL: `http://127.0.0.1:${port}/server` },
  })
  const script = join(repository, 'test/products/dspace-calls.py')
  const { code, stdout, stderr } = await run(
    '/usr/bin/python3',
    [script, api, administrator, passwordOf(administrator), token.trim()],
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
  assert.ok(calls.length > 90, `${calls.length} calls`)
})
