import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { repository } from '../support/process.ts'

/** The import rules (docs: habits of the house), read off the sources. */
const files = globSync('src/**/*.ts', { cwd: repository }).toSorted()
const sources = new Map(files.map(file => [file, readFileSync(join(repository, file), 'utf8')]))

/** Of each file, what it imports: files as paths from the root of the repository, packages by name. */
const imports = new Map([...sources].map(([file, text]) => [file, importsOf(file, text)]))

function importsOf(file: string, text: string): string[] {
  const statements =
    /^\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm
  return [...text.matchAll(statements)].map(([, name = '', dynamic]) => {
    const from = dynamic ?? name
    return from.startsWith('.') ? normalize(join(dirname(file), from)) : from
  })
}

/** Every import of files under `folder` that `forbidden` finds. */
const violations = (folder: string, forbidden: (imported: string) => boolean): string[] =>
  [...imports]
    .filter(([file]) => file.startsWith(`src/${folder}/`))
    .flatMap(([file, list]) => list.filter(forbidden).map(one => `${file} imports ${one}`))

const isIn = (imported: string, ...folders: readonly string[]) =>
  folders.some(folder => imported.startsWith(`src/${folder}/`))

test('the imports of every file are found', () => {
  assert.ok(files.length > 30)
  assert.ok(imports.get('src/app.ts')?.includes('src/authn/login.ts'))
  assert.ok(imports.get('src/app.ts')?.includes('fastify'))
  for (const list of imports.values())
    for (const one of list) if (one.startsWith('src/')) assert.ok(sources.has(one), one)
})

test('authn and query never import each other', () => {
  assert.deepEqual(
    violations('authn', one => isIn(one, 'query')),
    [],
  )
  assert.deepEqual(
    violations('query', one => isIn(one, 'authn')),
    [],
  )
})

test('authn, authz, core and query import the shared floor only: caller, http, problems and the interface of storage', () => {
  // Settings and keys belong to no feature.
  const floor = [
    'src/caller.ts',
    'src/problems.ts',
    'src/storage/storage.ts',
    'src/storage/sign-on.ts',
    'src/storage/repository.ts',
    'src/storage/audiences.ts',
    'src/storage/audit.ts',
    'src/viewer.ts',
    'src/config/config.ts',
    'src/config/sign-on.ts',
    'src/keys.ts',
    'src/shapes.ts',
    'src/turnstile.ts',
    'src/xml.ts',
  ]
  for (const feature of ['authn', 'authz', 'core', 'query'])
    assert.deepEqual(
      violations(
        feature,
        one => one.startsWith('src/') && !isIn(one, feature, 'http') && !floor.includes(one),
      ),
      [],
      feature,
    )
})

test('storage imports nothing of http, authn, query and the command line', () => {
  assert.deepEqual(
    violations('storage', one => isIn(one, 'http', 'authn', 'query', 'cli') || one === 'src/app.ts'),
    [],
  )
})

test('http imports nothing of authn and query, and only the interface of storage', () => {
  assert.deepEqual(
    violations(
      'http',
      one =>
        isIn(one, 'authn', 'query', 'cli', 'import') ||
        (isIn(one, 'storage') && one !== 'src/storage/storage.ts'),
    ),
    [],
  )
})

test('the interface of storage imports no engine, and features never see one', () => {
  const parts = ['storage', 'sign-on', 'repository', 'audiences', 'audit'].map(
    name => `src/storage/${name}.ts`,
  )
  for (const part of parts)
    assert.ok(!imports.get(part)?.some(one => isIn(one, 'storage') && !parts.includes(one)))
  const users = [...imports]
    .filter(([file]) => !file.startsWith('src/storage/'))
    .filter(([, list]) => list.some(one => isIn(one, 'storage/sqlite', 'storage/postgres')))
    .map(([file]) => file)
  // The command line opens the store; an import sorts in a scratch database of its own.
  for (const file of users) assert.match(file, /^src\/(cli|import)\//)
})

test('nothing imports the wiring but the process', () => {
  const users = [...imports].filter(([, list]) => list.includes('src/app.ts')).map(([file]) => file)
  assert.deepEqual(users, ['src/cli/serve.ts'])
})

for (const library of [
  'node:sqlite',
  'pg',
  'pg-copy-streams',
  'csv-parse',
  'negotiator',
  'jsonc-parser',
  'cli-progress',
  '@node-saml/node-saml',
  '@xmldom/xmldom',
  'mime-types',
  'xml-encryption',
  'openid-client',
  'jose',
  'ajv',
])
  test(`${library} is imported in exactly one file`, () => {
    const users = [...imports].filter(([, list]) => list.includes(library)).map(([file]) => file)
    assert.equal(users.length, 1, users.join(', '))
  })

test('commander is imported by the command line only', () => {
  const users = [...imports].filter(([, list]) => list.includes('commander')).map(([file]) => file)
  assert.ok(users.length > 0)
  for (const file of users) assert.match(file, /^src\/cli\//)
})

test('every dependency is used, and every package that is imported is a dependency', () => {
  const { dependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const used = [...imports.values()]
    .flat()
    .filter(one => !/^(src\/|node:)/.test(one))
    .map(one => /^(@[^/]+\/)?[^/]+/.exec(one)?.[0])
  assert.deepEqual([...new Set(used)].toSorted(), Object.keys(dependencies).toSorted())
})

test('no file is longer than 250 lines', () => {
  const long = [...sources]
    .map(([file, text]) => [file, text.split('\n').length - 1] as const)
    .filter(([, lines]) => lines > 250)
  assert.deepEqual(long, [])
})

test('no any, no ignored errors, nothing left to do', () => {
  const forbidden =
    /@ts-(ignore|nocheck|expect-error)|biome-ignore|\b(TODO|FIXME|XXX|HACK)\b|(:|<|\bas|,|\|)\s*any\b(?!\s+\w)|\bany\[\]/
  const found = [...sources].flatMap(([file, text]) =>
    text
      .split('\n')
      .map((line, at) => `${file}:${at + 1} ${line.trim()}`)
      .filter(line => forbidden.test(line) && !/^\S+ (\/\/|\*|\/\*)/.test(line.replace(/TODO|FIXME/, ''))),
  )
  assert.deepEqual(found, [])
})
