import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { isLong } from '../support/scale.ts'
import { storeSettings } from '../support/service/engines.ts'
import { environmentWithNode, type Finished, repository, run, serve } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

interface Packed {
  readonly filename: string
  readonly version: string
  readonly files: readonly { readonly path: string }[]
}

function assertQuiet({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(stderr, '', 'no warning')
  return stdout
}

test('D1 the package that npm makes installs into an empty folder, and works there', async t => {
  const folder = temporaryFolder(t)
  // npm needs this machine's proxies to reach its registry.
  const proxies = Object.entries(process.env).filter(([name]) => /^(https?|all|no)_proxy$/i.test(name))
  const env = environmentWithNode(Object.fromEntries(proxies.map(([name, value]) => [name, value ?? ''])))
  // npm would build everything that `npm ci` and the tests have built already; only the program is missing.
  if (!isLong) {
    const build = await run(process.execPath, ['scripts/build.ts'], { env, cwd: repository })
    assert.equal(build.code, 0, build.stderr)
  }
  const options = [
    '--json',
    '--silent',
    '--pack-destination',
    folder,
    ...(isLong ? [] : ['--ignore-scripts']),
  ]
  const pack = await run('npm', ['pack', ...options], { env, cwd: repository })
  assert.equal(pack.code, 0, pack.stdout + pack.stderr)
  const [packed] = JSON.parse(pack.stdout) as Packed[]
  assert.ok(packed)
  const paths = packed.files.map(file => file.path)
  assert.ok(paths.includes('dist/cli/carrel.js'))
  assert.ok(paths.includes('dist/openapi.json'))
  assert.ok(paths.includes('console/dist/index.html'))
  assert.ok(paths.includes('LICENSE'))
  for (const path of paths)
    assert.doesNotMatch(path, /^(src|test|bench|tools|data|node_modules)\/|\.ts$|secret$|\.db$/)

  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  const install = await run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--prefer-offline', '--omit=dev', `./${packed.filename}`],
    { env, cwd: folder },
  )
  assert.equal(install.code, 0, install.stderr)
  // Warnings about this machine's own npm configuration don't concern the package.
  assert.doesNotMatch(install.stderr, /EBADENGINE|deprecated|ERESOLVE|peer/i)

  const program = join(folder, 'node_modules/.bin/carrel')
  const dataFolder = join(folder, 'data')
  const installed = { env: environmentWithNode({ CARREL_DATA: dataFolder }), cwd: folder }
  assert.equal(assertQuiet(await run(program, ['--version'], installed)), `${packed.version}\n`)
  const { stdout: added, ...done } = await run(
    program,
    ['eperson', 'add', 'ruth@example.org', '--admin'],
    installed,
  )
  assert.deepEqual(done, { code: 0, stderr: `carrel: created a new store in ${dataFolder}\n` })
  const password = /Password: (\S+)/.exec(added)?.[1] ?? ''
  writeFileSync(join(folder, 'letters.csv'), 'id,title\n1,a\n2,b\n')
  const args = ['import', 'letters.csv', '--entity', 'letters', '--key', 'id']
  assert.equal((await run(program, args, installed)).code, 0)
  const databaseSettings = await storeSettings(temporaryFolder(t, 'postgres'))
  const onDatabase = { ...installed, env: environmentWithNode(databaseSettings) }
  assert.match(assertQuiet(await run(program, ['eperson', 'add', 'ruth@example.org'], onDatabase)), /^Added /)

  const served = await serve(t, dataFolder, { program: [program] })
  const client = new Client(served.address)
  const login = await client.tryLogin('ruth@example.org', password)
  assert.equal(login.status, 200)
  client.token = login.headers.get('authorization')?.slice('Bearer '.length)
  const response = await client.get('/api/query/v4/letters?order_by=[{"field":"id","order":"desc"}]')
  assert.deepEqual(await response.json(), [
    { id: 2, title: 'b' },
    { id: 1, title: 'a' },
  ])
  assert.equal(await served.stop(), 0)
  assert.equal(served.output.stderr, '')
})
