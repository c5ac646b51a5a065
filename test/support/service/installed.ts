import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { environmentWithNode, type Finished, run, serve } from './process.ts'
import { temporaryFolder } from './service.ts'
import { until } from './waiting.ts'

/** The package, packed as for npm and installed into an empty folder, by the Node that runs the test. */
export interface Installed {
  readonly folder: string
  readonly version: string
  /** Paths in the package. */
  readonly paths: readonly string[]
  /** The command `carrel`. */
  readonly program: string
  /** Runs a program in the folder. */
  run(
    program: string,
    args: readonly string[],
    settings?: Readonly<Record<string, string>>,
  ): Promise<Finished>
}

interface Packed {
  readonly filename: string
  readonly version: string
  readonly files: readonly { readonly path: string }[]
}

export async function installPackage(t: TestContext): Promise<Installed> {
  const folder = temporaryFolder(t, 'sqlite')
  // npm needs this machine's proxies to reach its registry.
  const proxies = Object.entries(process.env).filter(([name]) => /^(https?|all|no)_proxy$/i.test(name))
  const env = environmentWithNode(Object.fromEntries(proxies.map(([name, value]) => [name, value ?? ''])))
  const packing = [
    'scripts/package.ts',
    join(folder, 'package'),
    '--json',
    '--silent',
    '--pack-destination',
    folder,
  ]
  const pack = await run(process.execPath, packing, { env })
  assert.equal(pack.code, 0, pack.stdout + pack.stderr)
  const [packed] = JSON.parse(pack.stdout) as Packed[]
  assert.ok(packed)

  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--omit=dev']
  const install = await run('npm', ['install', ...options, `./${packed.filename}`], { env, cwd: folder })
  assert.equal(install.code, 0, install.stderr)
  // Warnings about this machine's own npm configuration don't concern the package.
  assert.doesNotMatch(install.stderr, /EBADENGINE|deprecated|ERESOLVE|peer|script/i)
  return {
    folder,
    version: packed.version,
    paths: packed.files.map(file => file.path),
    program: join(folder, 'node_modules/.bin/carrel'),
    run: (program, args, settings) => run(program, args, { env: environmentWithNode(settings), cwd: folder }),
  }
}

/** Starts the demo of an installed package, asks the first question of the README, and stops it. */
export async function tryDemo(t: TestContext, { folder, program }: Installed): Promise<void> {
  const served = await serve(t, join(folder, 'demo'), { program: [program], args: ['--demo'] })
  const letters = () => fetch(`${served.address}/api/query/v4/letters?limit=3`)
  const answer = await until('the letters of the demo', letters, ({ status }) => status === 200)
  const ids = ((await answer.json()) as readonly { readonly id: number }[]).map(({ id }) => id)
  assert.deepEqual(ids, [1, 2, 3])
  assert.equal((await fetch(served.address, { headers: { accept: 'text/html' } })).status, 200, 'the console')
  assert.equal(await served.stop(), 0)
}
