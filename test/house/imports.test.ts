import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { describedWalks } from '../../scripts/described-walks.ts'
import { repository } from '../support/service/process.ts'

/** The sources, from which the import rules (docs: habits of the house) are checked. */
const files = globSync('src/**/*.ts', { cwd: repository }).toSorted()
const sources = new Map(files.map(file => [file, readFileSync(join(repository, file), 'utf8')]))

/** The packages of the repository, without generated files. They don't know `src`. */
const packaged = new Map(
  globSync('packages/*/src/**/*.ts', { cwd: repository })
    .toSorted()
    .filter(file => file !== 'packages/client/src/api.ts')
    .map(file => [file, readFileSync(join(repository, file), 'utf8')]),
)
/** The console, without its texts, which are tables. */
const shown = new Map(
  globSync('console/src/**/*.{ts,tsx}', { cwd: repository, exclude: ['console/src/i18n/languages/**'] })
    .toSorted()
    .map(file => [file, readFileSync(join(repository, file), 'utf8')]),
)
const all = new Map([...sources, ...packaged, ...shown])

/** The imports of each file: files as paths from the root of the repository, packages by name. */
const imports = new Map([...sources].map(([file, text]) => [file, importsOf(file, text)]))
const importsOfAll = new Map([...all].map(([file, text]) => [file, importsOf(file, text)]))

function importsOf(file: string, text: string): string[] {
  const statements =
    /^\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm
  return [...text.matchAll(statements)].map(([, name = '', dynamic]) => {
    const from = dynamic ?? name
    return from.startsWith('.') ? normalize(join(dirname(file), from)) : from
  })
}

/** The rooms that every room above them may import besides itself; the last two are above the others. */
const floor = ['lib', 'model', 'model/functions', 'model/operators']

/** The rooms that both engines may import. The engines don't know each other. */
const ofEngines = [
  'storage',
  'storage/columns',
  'storage/records',
  'storage/plans',
  'storage/runtime',
  'storage/schema',
  'storage/statements',
  'storage/tables',
]

/**
 * The imports allowed for each room besides the floor and itself: a room with all its files, or a single
 * file.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  config: [],
  lib: [],
  'lib/threads': [],
  model: [],
  'model/operators': [],
  'model/functions': [],
  'query/language': [],
  'storage/schema': [],
  storage: ['storage/schema'],
  http: ['config'],
  'sso/metadata': ['config', 'lib/threads'],
  'storage/plans': ['storage'],
  'storage/runtime': ['lib/threads', 'storage'],
  'storage/tables': ['storage'],
  'admin/metrics': ['config', 'http', 'storage'],
  'http/resources': ['config', 'http'],
  'query/check': ['http', 'query/language'],
  'storage/columns': ['lib/threads', 'storage', 'storage/runtime'],
  'storage/records': ['lib/threads', 'storage', 'storage/columns', 'storage/plans', 'storage/runtime'],
  authn: ['config', 'http', 'http/resources', 'storage', 'storage/schema', 'storage/statements'],
  import: ['lib/threads', 'storage/columns', 'storage/records'],
  entities: ['import', 'storage', 'storage/columns', 'storage/records'],
  items: ['config', 'http', 'http/resources', 'items/statements', 'storage'],
  'items/statements': ['files/content-statements.ts', 'storage', 'storage/schema', 'storage/statements'],
  query: ['config', 'http', 'lib/threads', 'query/check', 'query/language', 'storage', 'storage/statements'],
  'storage/statements': ['storage', 'storage/records/pending-changes.ts', 'storage/schema'],
  dspace: [
    'config',
    'http',
    'http/resources',
    'items',
    'items/statements',
    'people/statements.ts',
    'storage',
    'storage/schema',
    'storage/statements',
  ],
  files: ['authn', 'config', 'http', 'storage/field-place.ts', 'storage/schema', 'storage/statements'],
  openapi: ['config', 'http', 'query', 'storage'],
  people: [
    'authn',
    'config',
    'http',
    'http/resources',
    'items/statements',
    'storage',
    'storage/schema',
    'storage/statements',
  ],
  sso: ['authn', 'config', 'http', 'lib/threads', 'sso/metadata', 'storage', 'storage/statements'],
  'storage/postgres': [...ofEngines, 'lib/threads'],
  'storage/sqlite': [...ofEngines, 'lib/threads'],
  console: ['config', 'dspace', 'http'],
  'items/ingest': ['files', 'import', 'items/statements'],
  'items/write': ['config', 'files', 'http', 'http/resources', 'items', 'items/statements', 'storage'],
  'sso/ldap': ['authn', 'config', 'http', 'sso', 'storage/statements'],
  'storage/copy': [
    'storage',
    'storage/schema',
    'storage/columns/sort-records.ts',
    'storage/postgres',
    'storage/sqlite',
    'storage/statements',
  ],
  'admin/backup': ['config', 'files', 'storage/copy'],
  'sso/check': ['config', 'sso', 'sso/ldap', 'sso/metadata'],
  'admin/processes': [
    'admin/backup',
    'authn',
    'config',
    'files',
    'http',
    'items/statements',
    'people/statements.ts',
    'storage',
    'storage/schema',
    'storage/statements',
  ],
  'cli/doctor': ['config', 'files', 'http', 'sso', 'sso/check', 'storage', 'storage/statements'],
  'entities/routes': [
    'admin/processes',
    'config',
    'entities',
    'http',
    'import',
    'lib/threads',
    'people/statements.ts',
    'query',
    'query/check',
    'query/language',
    'storage',
  ],
  'entities/write': [
    'config',
    'entities',
    'http',
    'import',
    'query',
    'query/check',
    'query/language',
    'storage',
  ],
  'admin/operation': [
    'admin/backup',
    'admin/metrics',
    'admin/processes',
    'authn',
    'config',
    'files',
    'http',
    'items/statements',
    'lib/threads',
    'people/statements.ts',
    'query',
    'sso',
    'storage',
    'storage/statements',
  ],
  'admin/uploads': [
    'admin/processes',
    'config',
    'files',
    'http',
    'import',
    'items/ingest',
    'items/statements',
    'lib/threads',
    'people/statements.ts',
  ],
  admin: [
    'admin/operation',
    'admin/processes',
    'admin/uploads',
    'authn',
    'config',
    'http',
    'items/statements',
    'people/statements.ts',
    'storage/statements',
  ],
}

/** The wiring and the command line, which may import all rooms. */
const doors = ['app.ts', 'cli', 'features.ts']

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

/** The folder below `src` in which a file is, however deep. */
const folderOf = (file: string) => roomOf(file).replace(/\/.*/, '')

for (const [what, placeOf] of Object.entries({ rooms: roomOf, 'folders at the top': folderOf }))
  test(`${what} import each other in no circle`, () => {
    const rooms = Map.groupBy(
      files.filter(file => placeOf(file) !== 'app.ts'),
      placeOf,
    )
    const around = new Map(
      [...rooms].map(([room, members]) => [
        room,
        new Set(
          members
            .flatMap(file => imports.get(file) ?? [])
            .filter(one => one.startsWith('src/'))
            .map(placeOf)
            .filter(to => to !== room && rooms.has(to)),
        ),
      ]),
    )
    // Rooms that import no remaining room are removed; rooms in a cycle remain.
    for (;;) {
      const free = [...around].filter(([, list]) => [...list].every(room => !around.has(room)))
      if (free.length === 0) break
      for (const [room] of free) around.delete(room)
    }
    assert.deepEqual([...around.keys()], [])
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
  assert.deepEqual(users, ['src/cli/serve.ts', 'src/cli/worker.ts'])
})

test('docs/architecture.md has a line for each room', () => {
  const page = readFileSync(join(repository, 'docs/architecture.md'), 'utf8')
  const lines = [...page.matchAll(/^\| `src\/([\w/]+)\/` \|/gm)].map(([, room = '']) => room)
  const rooms = new Set(files.map(roomOf).filter(room => !room.endsWith('.ts')))
  assert.deepEqual(lines.toSorted(), [...rooms].toSorted())
})

test('each file of a walk in docs/architecture.md is imported by one before it, or passed in', () => {
  const walks = describedWalks()
  const wrong = walks.flatMap(({ name, files: named }) =>
    named.flatMap(({ path, note }, at) => {
      const file = `src/${path}`
      if (!sources.has(file)) return [`${name}: there is no ${file}`]
      const isImported = named.slice(0, at).some(one => imports.get(`src/${one.path}`)?.includes(file))
      if (at === 0 || isImported !== (note === 'passed in')) return []
      return [`${name}: ${file} is ${isImported ? '' : 'not '}imported by a file before it`]
    }),
  )
  assert.deepEqual(wrong, [])
  assert.ok(walks.length >= 9 && walks.every(({ files: named }) => named.length > 5))
})

/** The file or the rooms in which each library may be imported; one file if the library could be replaced. */
const libraries: Readonly<Record<string, string>> = {
  '@aws-sdk/client-s3': 'src/files/bucket-client.ts',
  '@aws-sdk/s3-request-presigner': 'src/files/bucket-client.ts',
  '@fastify/busboy': 'src/http/multipart.ts',
  '@simplewebauthn/server': 'src/authn/passkeys.ts',
  '@node-saml/node-saml': 'src/sso/saml-library.ts',
  '@xmldom/xmldom': 'src/lib/xml.ts',
  '@zxcvbn-ts/language-common': 'src/authn/password-rules.ts',
  ajv: 'src/lib/json-schema.ts',
  commander: 'src/cli/',
  'content-disposition': 'src/files/presentation.ts',
  fastify:
    'src/(app.ts|admin/|authn/|console/|dspace/|entities/|files/|http/|items/|openapi/|people/|query/|sso/|cli/(listen|worker).ts)',
  jose: 'src/sso/oidc.ts',
  'jsonc-parser': 'src/query/',
  'mime-types': 'src/files/presentation.ts',
  ldapts: 'src/sso/ldap/messages.ts',
  negotiator: 'src/http/accept.ts',
  'node:sqlite': 'src/lib/sqlite.ts',
  nodemailer: 'src/people/mailer.ts',
  'openid-client': 'src/sso/oidc-client.ts',
  pg: 'src/storage/postgres/driver.ts',
  'pg-copy-streams': 'src/storage/postgres/driver.ts',
  re2js: 'src/lib/expressions.ts',
  saxes: 'src/lib/xml-stream.ts',
  'tar-stream': 'src/lib/tar.ts',
  'xml-crypto': 'src/sso/saml-signed.ts',
  'xml-encryption': 'src/sso/saml-signed.ts',
  typebox: 'src/http/(contract|schema).ts',
  yauzl: 'src/items/ingest/unpack-zip.ts',
}

/** Returns the package of a specifier, without the path inside it. */
const packageOf = (specifier: string) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier

test('every library is imported where it may be, and nowhere else', () => {
  const used = [...imports].flatMap(([file, list]) =>
    list
      .filter(one => !one.startsWith('src/') && (!one.startsWith('node:') || one in libraries))
      .map(one => [file, packageOf(one)] as const),
  )
  const wrong = used.filter(([file, one]) => !new RegExp(`^${libraries[one] ?? '-'}`).test(file))
  assert.deepEqual(wrong, [])
  assert.deepEqual([...new Set(used.map(([, one]) => one))].toSorted(), Object.keys(libraries).toSorted())
})

test('imports go in no circle, type-only ones included', () => {
  const done = new Set<string>()
  function circle(file: string, way: readonly string[]): readonly string[] | undefined {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file]
    if (done.has(file)) return undefined
    for (const one of importsOfAll.get(file) ?? []) {
      const found = all.has(one) ? circle(one, [...way, file]) : undefined
      if (found) return found
    }
    done.add(file)
    return undefined
  }
  for (const file of all.keys()) assert.equal(circle(file, [])?.join(' → '), undefined)
})

/** Packages that a build inlines, by the only file that uses them. */
const inlined: Readonly<Record<string, string>> = {
  'packages/client/src/file-name.ts': 'content-disposition',
}

test('a package imports its own files, and nothing else but what is inlined', () => {
  const wrong = [...packaged.keys()].flatMap(file => {
    const own = file.split('/').slice(0, 3).join('/')
    return (importsOfAll.get(file) ?? [])
      .filter(one => !one.startsWith(`${own}/`) && one !== inlined[file])
      .map(one => `${file} imports ${one}`)
  })
  assert.deepEqual(wrong, [])
})

test('the console uses the client, and of the service only the names of events, the functions and readers of queries and the codes of findings', () => {
  const outside = [...shown.keys()].flatMap(file =>
    (importsOfAll.get(file) ?? []).filter(
      one => (one.startsWith('src/') || one.startsWith('packages/')) && !one.startsWith('console/'),
    ),
  )
  assert.deepEqual([...new Set(outside)].toSorted(), [
    'src/cli/doctor/words.ts',
    'src/lib/nearest.ts',
    'src/model/audit-events.ts',
    'src/model/functions/functions.ts',
    'src/query/language/node.ts',
    'src/query/language/pql-scanner.ts',
    'src/query/language/read-ast.ts',
    'src/query/language/read-pql.ts',
    'src/sso/check/findings.ts',
  ])
  const packages = [...shown.keys()].flatMap(file =>
    (importsOfAll.get(file) ?? []).filter(one => !/^(src|console)\//.test(one)).map(packageOf),
  )
  const { devDependencies } = JSON.parse(readFileSync(join(repository, 'console/package.json'), 'utf8')) as {
    devDependencies: Record<string, string>
  }
  const wanted = Object.keys(devDependencies).filter(name => !/^(vite$|@types\/)/.test(name))
  assert.deepEqual([...new Set(packages)].toSorted(), wanted.toSorted())
})

/**
 * The floors of the console, lowest first: files and folders. Each imports itself and the floors below; the folders of the
 * base import each other, too. Every page is a folder.
 */
const floorsOfConsole = [
  ['', 'i18n', 'parts', 'styles'],
  ['people', 'query'],
  ['administration', 'records'],
  ['pages', 'pages/*'],
  ['pages.tsx'],
  ['shell/keyboard'],
  ['shell'],
  ['main.tsx'],
]

test('the console has floors, and no page imports another', () => {
  const floors = floorsOfConsole.flat()
  const nameOf = (path: string) => path.replace('console/src/', '')
  const placeOf = (path: string) => {
    const folder = dirname(nameOf(path)).replace(/^\.$/, '')
    return floors.includes(nameOf(path)) ? nameOf(path) : folder
  }
  const floorOf = (place: string) =>
    floorsOfConsole.findIndex(one => one.includes(place.replace(/^pages\/.*/, 'pages/*')))
  const arrows = [...shown.keys()].flatMap(file =>
    (importsOfAll.get(file) ?? [])
      .filter(one => one.startsWith('console/src/') && !one.includes('/languages/'))
      .map(one => ({ file, one, from: placeOf(file), to: placeOf(one) })),
  )
  const wrong = arrows.filter(({ from, to }) => {
    const [high, low] = [floorOf(from), floorOf(to)]
    return low === -1 || high === -1 || (from !== to && low >= high && high > 0)
  })
  assert.deepEqual(
    wrong.map(({ file, one }) => `${file} imports ${one}`),
    [],
  )
  const places = new Set(
    arrows.flatMap(({ from, to }) => [from, to].map(one => one.replace(/^pages\/.*/, 'pages/*'))),
  )
  assert.deepEqual([...places].toSorted(), floors.toSorted())
})

test('the wiring fits on a page', () => {
  assert.ok((sources.get('src/app.ts')?.trimEnd().split('\n').length ?? 151) <= 150)
})

test('every dependency is used, and every package that is imported is a dependency', () => {
  const { dependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const used = [...imports.values()]
    .flat()
    .filter(one => !/^(src\/|node:)/.test(one))
    .map(packageOf)
  assert.deepEqual([...new Set(used)].toSorted(), Object.keys(dependencies).toSorted())
})

/** True for tables of settings, errors, words, contracts and schemas, in which each line is an entry. */
const isTable = (file: string) =>
  /\/(problems|settings|migrations|terms)\.ts$|(contracts|schemas?|-tables|words)\.ts$/.test(file)

test('no file of code is longer than 300 lines', () => {
  const long = [...all]
    .filter(([file]) => !isTable(file))
    .map(([file, text]) => [file, text.split('\n').length - 1] as const)
    .filter(([, lines]) => lines > 300)
  assert.deepEqual(long, [])
})

test('no test file is longer than 600 lines', () => {
  const long = globSync('test/**/*.ts', { cwd: repository })
    .map(file => [file, readFileSync(join(repository, file), 'utf8').split('\n').length - 1] as const)
    .filter(([, lines]) => lines > 600)
  assert.deepEqual(long, [])
})

test('no any, no ignored errors, nothing left to do', () => {
  const forbidden =
    /@ts-(ignore|nocheck|expect-error)|biome-ignore(?! lint\/a11y\/\w+: )|\b(TODO|FIXME|XXX|HACK)\b|(:|<|\bas|,|\|)\s*any\b(?!\s+\w)|\bany\[\]/
  const found = [...all].flatMap(([file, text]) =>
    text
      .split('\n')
      .map((line, at) => `${file}:${at + 1} ${line.trim()}`)
      .filter(line => forbidden.test(line) && !/^\S+ (\/\/|\*|\/\*)/.test(line.replace(/TODO|FIXME/, ''))),
  )
  assert.deepEqual(found, [])
})
