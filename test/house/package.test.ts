import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { storeSettings } from '../support/service/engines.ts'
import { installPackage, tryDemo } from '../support/service/installed.ts'
import { environmentWithNode, type Finished, repository, run, serve } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

function assertQuiet({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(stderr, '', 'no warning')
  return stdout
}

/** Relative links of the pages in a folder to what isn't in it. */
const brokenLinks = (folder: string): readonly string[] =>
  globSync('**/*.md', { cwd: folder, exclude: ['node_modules'] }).flatMap(page =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)]
      .map(([, target = '']) => target)
      .filter(target => target.startsWith('/') || !existsSync(join(folder, dirname(page), target)))
      .map(target => `${page}: ${target}`),
  )

test('D1 the package that is packed installs into an empty folder, and works there', async t => {
  // deploy/compose.yaml has the password of the database written to such a file.
  const secret = join(repository, 'deploy/.env.of-tests')
  writeFileSync(secret, 'POSTGRES_PASSWORD=secret\n')
  t.after(() => rmSync(secret))
  const installed = await installPackage(t)
  const { folder, paths, program, version } = installed
  for (const path of [
    'dist/cli/carrel.js',
    'dist/openapi.json',
    'console/dist/index.html',
    'LICENSE',
    'docs/README.md',
  ])
    assert.ok(paths.includes(path), path)
  for (const path of paths)
    assert.doesNotMatch(
      path,
      /^(src|test|bench|tools|data|node_modules|docs\/decisions)\/|\.ts$|secret$|\.db$|(^|\/)\./,
    )

  const place = join(folder, 'node_modules/carrel')
  const manifest = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as Readonly<
    Record<string, unknown>
  >
  const { dependencies, engines } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  assert.deepEqual(Object.keys(manifest).toSorted(), [
    ...[
      'bin',
      'dependencies',
      'description',
      'engines',
      'exports',
      'keywords',
      'license',
      'name',
      'type',
      'version',
    ],
  ])
  assert.deepEqual([manifest.dependencies, manifest.engines], [dependencies, engines])
  assert.deepEqual(brokenLinks(place), [])
  for (const page of globSync('**/*.md', { cwd: place, exclude: ['node_modules'] }))
    assert.doesNotMatch(
      readFileSync(join(place, page), 'utf8'),
      /\((how|why|why so|decision)\)|[Tt]he decision says|^- (Contract|Architecture|How it is built)\b|· Contributing\b/m,
      page,
    )

  const imported = (name: string) =>
    installed.run('node', ['--input-type=module', '--eval', `await import(${JSON.stringify(name)})`])
  assert.match((await imported('carrel')).stderr, /Error: carrel is a program: run `npx carrel serve`/)
  for (const inside of ['carrel/dist/cli/carrel.js', 'carrel/dist/cli/main.js', 'carrel/docs/README.md'])
    assert.match((await imported(inside)).stderr, /ERR_PACKAGE_PATH_NOT_EXPORTED/)
  const described = `console.log((await import('carrel/openapi.json', { with: { type: 'json' } })).default.openapi)`
  assert.match(
    assertQuiet(await installed.run('node', ['--input-type=module', '--eval', described])),
    /^3\.1/,
  )

  const dataFolder = join(folder, 'data')
  const settings = { CARREL_DATA: dataFolder }
  assert.equal(assertQuiet(await installed.run(program, ['--version'], settings)), `${version}\n`)
  const adding = ['eperson', 'add', 'ruth@example.org', '--admin']
  const { stdout: added, ...done } = await installed.run(program, adding, settings)
  assert.deepEqual(done, { code: 0, stderr: `carrel: created a new store in ${dataFolder}\n` })
  const password = /Password: (\S+)/.exec(added)?.[1] ?? ''
  writeFileSync(join(folder, 'letters.csv'), 'id,title\n1,a\n2,b\n')
  const args = ['import', 'letters.csv', '--entity', 'letters', '--key', 'id']
  assert.equal((await installed.run(program, args, settings)).code, 0)
  const onDatabase = await storeSettings(temporaryFolder(t, 'postgres'))
  const there = await installed.run(program, ['eperson', 'add', 'ruth@example.org'], onDatabase)
  assert.match(assertQuiet(there), /^Added /)

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
  await tryDemo(t, installed)
})

test('D1 `npm run package` builds the client and the console first, and `npm pack` in the clone names it', async () => {
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<'package' | 'prepare', string>>
  }
  const builds = scripts.prepare.split(' && ').filter(step => step.endsWith('build.js'))
  assert.deepEqual(scripts.package.split(' && '), [...builds, 'node scripts/package.ts'])
  assert.equal(builds.length, 2)
  const options = { env: environmentWithNode(), cwd: repository }
  const { code, stderr } = await run('npm', ['pack', '--dry-run'], options)
  assert.notEqual(code, 0)
  assert.match(stderr, /npm run package/)
})

test('CL12 the package of the client has its license, and no broken link', async t => {
  const folder = temporaryFolder(t, 'sqlite')
  const options = ['pack', '-w', '@carrel/client', '--ignore-scripts', '--json', '--pack-destination', folder]
  const pack = await run('npm', options, { env: environmentWithNode(), cwd: repository })
  assert.equal(pack.code, 0, pack.stderr)
  const [{ filename, files }] = JSON.parse(pack.stdout) as [{ filename: string; files: { path: string }[] }]
  assert.ok(files.some(({ path }) => path === 'LICENSE'))
  assert.equal((await run('tar', ['-xzf', join(folder, filename), '-C', folder])).code, 0)
  assert.deepEqual(brokenLinks(join(folder, 'package')), [])
  const license = (place: string) => readFileSync(join(place, 'LICENSE'), 'utf8')
  assert.equal(license(join(folder, 'package')), license(repository))
})
