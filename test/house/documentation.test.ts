import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { anchorOf, decisions, pages, withContents } from '../../scripts/contents.ts'
import { referencePath, references } from '../../scripts/reference.ts'
import { fileKeyOf, secretKeys, settings, structuredSettings } from '../../src/config/settings.ts'
import { allProviderSchemas, signOnSchema } from '../../src/config/single-sign-on-schema.ts'
import { problems } from '../../src/http/problems.ts'
import { metricsOf, scraper } from '../support/clients/metrics.ts'
import { carrel, repository } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

/** Reads a page of `docs/reference`, which must describe everything in the code. */
const reference = (name: string) => readFileSync(join(repository, 'docs/reference', name), 'utf8')

/** Returns the paths in Fastify's tree of routes, such as `/api/problems/:code`. */
function pathsIn(tree: string): string[] {
  const open: string[] = []
  return tree.split('\n').flatMap(line => {
    const [, indent = '', segment = ''] = /^(.*?)[├└]── (\S+)/.exec(line) ?? []
    if (segment === '') return []
    const depth = indent.length / 4
    open.length = depth
    open.push(segment)
    return line.includes('(') ? [open.join('')] : []
  })
}

/**
 * Paths by their form in the tree, which shows the part before a wildcard only as far as other routes share
 * it.
 */
const wildcards: Readonly<Record<string, string>> = {
  '/console*': '/console/:page',
  '/metrics/v2*': '/metrics/v2/read/:name',
  '/api/query/v4/:entity*': '/api/query/v4/:entity/:key',
}

const literally = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/** Returns the methods that a route allows. All other methods are routes, too, which refuse. */
async function allowed(address: string, path: string): Promise<string[]> {
  const response = await fetch(address + path.replaceAll(/:\w+/g, 'x'), { method: 'LOCK' })
  assert.equal(response.status, 405, path)
  return (response.headers.get('allow') ?? '').split(', ').filter(method => method !== 'HEAD')
}

function withEveryKindOfProvider(t: TestContext): Readonly<Record<string, string>> {
  const file = join(temporaryFolder(t), 'carrel.json')
  const providers = [
    { id: 'uni', kind: 'saml', metadata: 'not-there.xml' },
    { id: 'company', kind: 'oidc', issuer: 'https://id.example.org', clientId: 'carrel' },
  ]
  writeFileSync(file, JSON.stringify({ singleSignOn: { providers } }))
  return { CARREL_CONFIG: file }
}

test('every route is in docs/reference/http.md, as METHOD, space and path', async t => {
  const service = await startService(t, { env: withEveryKindOfProvider(t) })
  const paths = pathsIn(service.app.printRoutes({ commonPrefix: false })).map(path => wildcards[path] ?? path)
  for (const known of [
    '/api',
    '/api/authn/login',
    '/api/problems/:code',
    '/health/ready',
    '/api/query/v4/:entity',
  ])
    assert.ok(paths.includes(known), `${known} in ${paths.join(' ')}`)
  const missing: string[] = []
  const text = reference('http.md')
  for (const path of paths)
    for (const method of await allowed(service.address, path)) {
      const shown = path.replaceAll(/:(\w+)/g, '{$1}')
      const spellings = [
        shown,
        shown.replace('/api/query/v4', '{query_base}'),
        shown.replace(/company$/, '{provider}'),
        // Hyphens and underscores are equivalent (Q24).
        shown.replaceAll('_', '-'),
      ]
      const found = spellings.some(spelling =>
        new RegExp(`\\b${method} ${literally(spelling)}(?![\\w/{-])`).test(text),
      )
      if (!found) missing.push(`${method} ${shown}`)
    }
  assert.deepEqual(missing, [])
})

test('E1 every entry of the catalogue of errors is in docs/reference/problems.md, with its status', () => {
  const text = reference('problems.md')
  const missing = Object.entries(problems).filter(
    ([code, { status }]) =>
      !text.split('\n').some(line => line.includes(`\`${code}\``)) || !text.includes(String(status)),
  )
  assert.deepEqual(
    missing.map(([code]) => code),
    [],
  )
})

test('E1 docs/reference/problems.md names no error that there is not', () => {
  const described = [...reference('problems.md').matchAll(/^#+ .*`([a-z-]+)`|^\| *`([a-z-]+)` *\|/gm)]
  for (const [, heading, cell] of described) assert.ok(Object.hasOwn(problems, heading ?? cell ?? ''))
})

test('D3 every setting is in docs/reference/settings.md, with its default', () => {
  const text = reference('settings.md')
  const missing = [...Object.keys(settings), ...Object.keys(structuredSettings)].filter(
    key => !text.includes(`\`${key}\``),
  )
  assert.deepEqual(missing, [])
  // The default of this setting depends on the machine.
  for (const [key, { fallback }] of Object.entries(settings))
    if (fallback !== null && fallback !== '' && key !== 'CARREL_PASSWORD_CONCURRENCY')
      assert.ok(text.includes(fallback), `the default ${fallback} of ${key}`)
})

test('D3 docs/reference/settings.md names no setting that there is not', () => {
  for (const [key] of reference('settings.md').matchAll(/\bCARREL_[A-Z_]+\b/g))
    assert.ok(Object.hasOwn(settings, key) || Array.from(secretKeys, fileKeyOf).includes(key), key)
})

/** Returns the commands under "Commands:" and the long options in a help text. */
const commandsIn = (help: string) =>
  [...(/^Commands:\n([\s\S]*)/m.exec(help)?.[1] ?? '').matchAll(/^ {2}(\w[\w-]*)/gm)]
    .map(([, name = '']) => name)
    .filter(name => name !== 'help')
const optionsIn = (help: string) =>
  [...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)]
    .map(([, name = '']) => name)
    .filter(name => name !== '--help' && name !== '--version')

test('D2 every command and option is in docs/reference/commands.md, as `carrel eperson add` and `--admin`', async t => {
  const folder = temporaryFolder(t)
  const text = reference('commands.md')
  const missing: string[] = []
  let commands = 0
  async function visit(path: readonly string[]): Promise<void> {
    const [stdout = ''] = (await carrel(folder, [...path, '--help'])).stdout.split('\nExample:')
    const below = commandsIn(stdout)
    for (const name of below) await visit([...path, name])
    if (below.length > 0) return
    commands++
    const command = ['carrel', ...path].join(' ')
    if (!text.includes(command)) missing.push(command)
    for (const option of optionsIn(stdout)) if (!text.includes(option)) missing.push(`${command} ${option}`)
  }
  await visit([])
  assert.ok(commands >= 14, `${commands} commands`)
  assert.deepEqual(missing, [])
})

test('what is made from the code is as the code makes it (npm run docs)', async () => {
  for (const [name, make] of Object.entries(references))
    assert.ok(readFileSync(referencePath(name), 'utf8') === (await make()), `${name} is not up to date`)
})

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** Returns the names of settings that contain no other settings. */
const leavesOf = ({ properties = {}, items }: Schema): string[] =>
  Object.entries({ ...properties, ...items?.properties }).flatMap(([name, one]) => {
    const below = 'env' in (one.properties ?? {}) ? [] : leavesOf(one)
    return below.length === 0 ? [name] : below
  })

test('D3 every setting of single sign-on is explained in docs/sso.md', () => {
  const guide = readFileSync(join(repository, 'docs/sso.md'), 'utf8')
  const rows = guide.split('\n').filter(line => line.startsWith('|'))
  const schemas = [signOnSchema, ...Object.values(allProviderSchemas)] as readonly Schema[]
  const missing = schemas
    .flatMap(leavesOf)
    .filter(name => !rows.some(row => new RegExp(`\`([\\w.[\\]]*\\.)?${name}\``).test(row)))
  assert.deepEqual([...new Set(missing)], [])
})

test('long pages begin with their contents, and every link to a heading of the same page leads to one', () => {
  const all = [...pages()]
  const long = all.filter(([, page]) => withContents(page).includes('<!-- Contents, by'))
  assert.ok(long.length > 8, `${long.length} pages are long`)
  assert.deepEqual(
    all.filter(([, page]) => withContents(page) !== page).map(([path]) => path),
    [],
    'npm run docs writes them',
  )
  const broken = all.flatMap(([path, page]) => {
    const text = page.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '')
    const anchors = new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)))
    return [...text.matchAll(/\]\(#([^)]+)\)/g)].flatMap(([, to = '']) =>
      anchors.has(to) ? [] : `${path}#${to}`,
    )
  })
  assert.deepEqual(broken, [])
})

test('the changelog begins with what is unreleased, and has the current version with its date', () => {
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  const headings = [...readFileSync(join(repository, 'CHANGELOG.md'), 'utf8').matchAll(/^## (.+)$/gm)].map(
    ([, one]) => one,
  )
  assert.equal(headings[0], 'Unreleased')
  for (const one of headings.slice(1)) assert.match(one ?? '', /^\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}$/)
  assert.ok(headings[1]?.startsWith(`${version} - `))
})

test('links between documents lead to files and headings that there are', () => {
  const documents = globSync(['*.md', 'docs/**/*.md', '{deploy,examples,packages/*}/*.md'], {
    cwd: repository,
  })
  const textOf = (file: string) => readFileSync(join(repository, file), 'utf8')
  const anchorsIn = (file: string) =>
    [...textOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
  const links = documents.flatMap(file =>
    [...textOf(file).matchAll(/\]\((?!\w+:|#)([^)#\s]+)(?:#([^)\s]+))?/g)].map(([, target = '', anchor]) => ({
      file,
      target: join(dirname(file), target),
      anchor,
    })),
  )
  assert.ok(links.length > 300, `${links.length} links were found`)
  const broken = links.filter(
    ({ target, anchor }) =>
      !existsSync(join(repository, target)) || (anchor !== undefined && !anchorsIn(target).includes(anchor)),
  )
  assert.deepEqual(broken, [])
})

test('D5 docs/how-to/monitor.md explains every metric, and the dashboard and the alerts use no other', async t => {
  const { names } = await metricsOf((await startService(t, { env: scraper.env })).address)
  assert.ok(names.size > 25)
  const file = (name: string) => readFileSync(join(repository, 'docs', name), 'utf8')
  const namesIn = (text: string) =>
    [...text.matchAll(/\b(?:carrel|process)_[a-z_]+\b/g)].map(([name]) => name)
  const explained = namesIn(file('how-to/monitor.md')).toSorted()
  assert.deepEqual(explained, [...names].toSorted(), 'each once')
  for (const name of ['grafana.json', 'alerts.yml']) {
    const used = namesIn(file(name))
    assert.ok(used.length > 10, name)
    const unknown = used.filter(one => !names.has(one) && !names.has(one.replace(/_(bucket|sum|count)$/, '')))
    assert.deepEqual(unknown, [], name)
  }
})

test('every document is reached from the README or from docs/README.md', () => {
  const pages = ['README.md', 'docs/README.md']
  const linked = new Set(
    pages.flatMap(page =>
      [...readFileSync(join(repository, page), 'utf8').matchAll(/\]\(([^)#:]+)\)/g)].map(([, to = '']) =>
        join(dirname(page), to).replace(/\/$/, ''),
      ),
    ),
  )
  const documents = globSync('docs/{*,how-to/*,reference/*.{md,schema.json}}', { cwd: repository })
  assert.ok(documents.length > 30)
  assert.deepEqual(
    documents.filter(one => one.includes('.') && !linked.has(one) && !pages.includes(one)),
    [],
  )
})

test('each page of decisions can be read at a sitting', () => {
  const long = globSync('docs/decisions/*.md', { cwd: repository })
    .map(file => [file, readFileSync(join(repository, file), 'utf8').split('\n').length] as const)
    .filter(([, lines]) => lines > 200)
  assert.deepEqual(long, [])
})

test('docs/decisions/README.md leads from each number that is cited to its section, and names each once', () => {
  const numbers = decisions().map(({ number }) => number)
  const table = [
    ...readFileSync(join(repository, 'docs/decisions/README.md'), 'utf8').matchAll(
      /\[(\d{4})\]\(([\w-]+\.md)#([^)]+)\)/g,
    ),
  ].map(([, number = '', page = '', anchor = '']) => ({ number, page, anchor }))
  const byNumber = (a: { number: string }, b: { number: string }) => a.number.localeCompare(b.number)
  assert.deepEqual(table.toSorted(byNumber), decisions().toSorted(byNumber))
  assert.equal(new Set(numbers).size, numbers.length)
  const citing = globSync(
    [
      '{src,test,console/src,scripts,packages/*/src,bench,tools}/**/*.{ts,tsx,js}',
      '{*,docs/**/*,deploy/*,examples/*}.md',
    ],
    { cwd: repository, exclude: ['**/node_modules/**'] },
  )
  const cited = citing.flatMap(file =>
    [...readFileSync(join(repository, file), 'utf8').matchAll(/decisions\/(\d{4})\b/g)].map(
      ([, number = '']) => [file, number] as const,
    ),
  )
  assert.ok(cited.length > 300, `${cited.length} citations were found`)
  assert.deepEqual(
    cited.filter(([, number]) => !numbers.includes(number)),
    [],
  )
})

test('decision 0001 says of every dependency why it was chosen', () => {
  const page = readFileSync(join(repository, 'docs/decisions/ground.md'), 'utf8')
  const missing = ['package.json', 'console/package.json', 'packages/client/package.json'].flatMap(file => {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(
      readFileSync(join(repository, file), 'utf8'),
    ) as { dependencies?: object; devDependencies?: object }
    return Object.keys({ ...dependencies, ...devDependencies })
      .filter(name => !name.startsWith('@types/') && !new RegExp(`^\\|[^|]*\\b${name}\\b`, 'm').test(page))
      .filter(name => !(name.startsWith('@') && page.includes(name)))
  })
  assert.deepEqual(missing, [])
})

test('each file that docs/architecture.md and the decisions name is there', () => {
  const names = new Set(
    globSync('{src,scripts,packages/*/src,console,test,bench,tools}/**/*.{ts,tsx,js}', {
      cwd: repository,
      exclude: ['**/node_modules/**'],
    }).map(file => file.replace(/^.*\//, '')),
  )
  const missing = ['docs/architecture.md', ...globSync('docs/decisions/*.md', { cwd: repository })].flatMap(
    page =>
      [...readFileSync(join(repository, page), 'utf8').matchAll(/`([\w./-]+\.ts)`/g)]
        .map(([, name = '']) => name)
        .filter(name => !names.has(name.replace(/^.*\//, '')))
        .map(name => `${page}: ${name}`),
  )
  assert.deepEqual(missing, [])
})
