import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { repository } from '../support/service/process.ts'

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

/** What every room but these two may import besides itself. */
const floor = ['lib', 'model']

/** What each room may import besides the floor and itself: a room with all its files, or a single file of one. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  model: ['http/problems.ts', 'storage/storage.ts'],
  config: [],
  http: ['config', 'storage/storage.ts'],
  storage: [],
  'storage/shared': ['storage'],
  'storage/sqlite': ['storage', 'storage/shared'],
  'storage/postgres': ['storage', 'storage/shared'],
  'storage/copy': ['storage', 'storage/sqlite', 'storage/postgres'],
  query: ['http', 'storage'],
  dspace: ['config', 'http', 'storage'],
  authn: ['config', 'http', 'storage', 'dspace/epersons.ts'],
  'authn/sso': ['config', 'http', 'storage', 'authn'],
  files: ['storage'],
  downloads: ['config', 'http', 'storage', 'files', 'authn'],
  import: ['storage', 'storage/sqlite/driver.ts'],
  ingest: ['storage', 'files', 'import'],
}

/** The rooms that the wiring and the command line may look into: all. */
const doors = ['app.ts', 'cli']

const roomOf = (file: string) => dirname(file).replace(/^src\/?/, '') || basename(file)

test('every room imports only what it may', () => {
  const wrong = [...imports].flatMap(([file, list]) => {
    const room = roomOf(file)
    if (doors.includes(room)) return []
    const listed = allowed[room]
    if (!listed) return [`${file} is in a room that has no rule`]
    const may = room === 'lib' ? listed : [...listed, ...(room === 'model' ? ['lib'] : floor)]
    return list
      .filter(one => one.startsWith('src/'))
      .filter(one => {
        const to = roomOf(one)
        return to !== room && !may.includes(to) && !may.includes(one.replace(/^src\//, ''))
      })
      .map(one => `${file} imports ${one}`)
  })
  assert.deepEqual(wrong, [])
})

test('every rule is needed', () => {
  const unused = Object.entries(allowed).flatMap(([room, may]) => {
    const used = new Set(
      [...imports]
        .filter(([file]) => roomOf(file) === room)
        .flatMap(([, list]) => list.flatMap(one => [one.replace(/^src\//, ''), roomOf(one)])),
    )
    return may.filter(one => !used.has(one)).map(one => `${room}: ${one}`)
  })
  assert.deepEqual(unused, [])
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
