import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openApi } from '../../scripts/open-api.ts'
import { environmentWithNode, run } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

/** The versions with which this test was last run, on 2026-11-26. */
const packages = ['openapi-typescript@7.13.0', 'orval@8.38.0', 'typescript@5.9.3']

const compilerOptions = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
}

test('OD1 what openapi-typescript and orval make of the document compiles', async t => {
  const folder = temporaryFolder(t)
  const inFolder = async (program: string, ...args: readonly string[]) => {
    // With this machine's npm settings, such as a mirror or certificates.
    const { code, stdout, stderr } = await run(program, args, { cwd: folder, env: environmentWithNode() })
    assert.equal(code, 0, `${args.join(' ')}\n${stdout}${stderr}`)
  }
  const program = (...path: readonly string[]) =>
    inFolder(process.execPath, join(folder, 'node_modules', path[0] ?? ''), ...path.slice(1))

  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  await inFolder('npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages)
  writeFileSync(join(folder, 'openapi.json'), await openApi())
  const output = { target: './orval.ts', client: 'fetch', mode: 'single' }
  const config = { carrel: { input: './openapi.json', output } }
  writeFileSync(join(folder, 'orval.config.js'), `export default ${JSON.stringify(config)}`)
  await program('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'types.ts')
  await program('orval/dist/bin/orval.mjs', '--config', 'orval.config.js')
  const files = ['types.ts', 'orval.ts']
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  await program('typescript/bin/tsc', '-p', '.')
})
