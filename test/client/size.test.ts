import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { bundle, type Entry, entries } from '../support/clients/bundles.ts'
import { environmentWithNode, repository, run } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

const folder = join(repository, 'packages/client')

/** Maximum size in bytes, minified and gzipped, as one file with all its dependencies. */
const most: Readonly<Record<Entry, number>> = {
  index: 8_000,
  downloads: 3_000,
  uploads: 3_000,
  processes: 3_000,
}

test('CL12 what a page imports by default is at most 8 kB, and the other entry points 3 kB each', async t => {
  for (const entry of entries) {
    const files = await bundle([entry])
    assert.equal(files.size, 1)
    const [code = ''] = files.values()
    const { length } = gzipSync(code, { level: 9 })
    t.diagnostic(`${entry}: ${length} bytes`)
    assert.ok(length <= most[entry], `${entry} has ${length} bytes`)
  }
})

test('CL12 the package that npm makes installs into an empty folder, and works there', async t => {
  const to = temporaryFolder(t, 'sqlite')
  const env = environmentWithNode()
  const npm = async (cwd: string, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await run('npm', args, { cwd, env })
    assert.equal(code, 0, stdout + stderr)
    return stdout
  }
  const packed = await npm(folder, 'pack', '--json', '--silent', '--pack-destination', to)
  const [{ filename, files } = { filename: '', files: [] }] = JSON.parse(packed) as {
    readonly filename: string
    readonly files: readonly { readonly path: string }[]
  }[]
  for (const { path } of files)
    assert.match(
      path,
      /^(dist\/.*\.(js|d\.ts)|dist\/(browser\/)?licenses\.md|LICENSE|package\.json|README\.md)$/,
    )
  writeFileSync(join(to, 'package.json'), '{"private": true, "type": "module"}')
  await npm(to, 'install', '--no-audit', '--no-fund', '--offline', `./${filename}`)
  const program = entries.map(entry =>
    entry === 'index' ? "import('@carrel/client')" : `import('@carrel/client/${entry}')`,
  )
  const script = `console.log((await Promise.all([${program}])).flatMap(Object.keys).join())`
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: to,
  })
  assert.equal(stderr, '')
  assert.match(stdout, /createClient.*download.*uploadFile.*followProcess/s)
})

test('CL12 it depends on nothing, and its entry points are all there', () => {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, Readonly<Record<string, string>> | string>>
  }
  for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies'])
    assert.ok(!(kind in manifest), kind)
  const named = Object.keys(manifest.exports).filter(name => !name.includes('*'))
  assert.deepEqual(
    named,
    entries.map(entry => (entry === 'index' ? '.' : `./${entry}`)),
  )
  // The build contains the library.
  const inlined = 'src/file-name.ts content-disposition'
  const wrong = globSync('src/**/*.ts', { cwd: folder }).flatMap(file =>
    [
      ...readFileSync(join(folder, file), 'utf8').matchAll(
        /^(?:import|export)\b[^'`;]*?from '([^']+)'|\bimport\('([^']+)'\)/gm,
      ),
    ]
      .map(([, from, dynamic = '']) => from ?? dynamic)
      .filter(from => !from.startsWith('./') && `${file} ${from}` !== inlined)
      .map(from => `${file} imports ${from}`),
  )
  assert.deepEqual(wrong, [])
})
