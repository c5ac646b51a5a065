import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isLong } from './scale.ts'
import { allEngines, type Engine, useEngines } from './service/engines.ts'

const tests = fileURLToPath(new URL('../', import.meta.url))
const shares = globSync('suites/*.ts', { cwd: tests }).sort()

/** What `npm run test:apart` runs, or needs programs that `npm ci` doesn't bring. */
const elsewhere = 'backup|bounds|browser|faults|nodes|products|property|races|workers'

/** Files that take many seconds, or are about PostgreSQL: `npm run test:rest` runs them, on both engines. */
const thorough = [
  'authn/sso/metadata/read',
  'cli/copy',
  'client/{browser*,exact,examples,files,guide,records,size}',
  'console/{drawings,folders,journeys,waiting}',
  'contract/{cli,copy*,entities-import,entities-uploads,every-route,expose*,import-changes,ingest-uploads}',
  'contract/{ldap-throttle,operator,pipelining,processes,query-errors,query-hostile,query-streaming,sso-explain}',
  'contract/{sso-metadata-*,sso-oidc-front-channel,sso-oidc-refused}',
  'contract/{sso-saml-*,store,three-valued,throttle,turns}',
  'house/{lock-file,old-node,package}',
  'journeys/*',
  'lib/{expressions,to-char}',
  'processes/processes',
  'storage/{migrations,plans-*,rows-*,text-search,shared/people-names}',
  'uploads/folder',
]

/** Files of what is the same whatever the engine is: on PostgreSQL, `npm run test:long` runs them. */
const onAnyEngine = [
  'client/*',
  'contract/{browser,csrf,errors-requests,hosts,multipart-tricks,openapi,pipelining,query-errors}',
  'contract/{ldap-settings,sso-explain,sso-links,sso-proxy-attributes,sso-proxy-login}',
  'journeys/{http-examples,query-reference}',
]

/** The run of what the everyday one leaves out; in the long one, it is everything. */
const isRest = process.env.CARREL_TEST_PART === 'rest'

interface TestFile {
  readonly file: string
  readonly engines: readonly Engine[]
}

/** What runs in one process, as its files share what is expensive to start. */
interface Group {
  readonly files: readonly TestFile[]
  /** About how long it takes, in tests on one engine. */
  readonly weight: number
}

/**
 * Loads the test files of one of `test/suites/`, which share out those of every day. The files of a share run one after the
 * other in one process: starting a process, compiling and connecting cost more than most tests do.
 * @param url of the file that asks
 */
export async function loadShare(url: string): Promise<void> {
  const share = shares.indexOf(join('suites', basename(fileURLToPath(url))))
  if (share === -1) throw new Error(`${url} is none of test/suites/`)
  // Tests that have ended before the next file is loaded would be taken for all: what was opened later would stay open.
  const loaded = Promise.withResolvers<void>()
  before(() => loaded.promise)
  for (const { file, engines } of sharesOf(groups(), shares.length)[share] ?? []) {
    useEngines(engines)
    await import(pathToFileURL(join(tests, file)).href)
  }
  loaded.resolve()
}

const isThorough = matching(thorough)
const isOnAnyEngine = matching(onAnyEngine)

function matching(names: readonly string[]): (file: string) => boolean {
  const files = names.flatMap(name => {
    const found = globSync(`${name}.test.ts`, { cwd: tests })
    if (found.length === 0) throw new Error(`${name} is no test file`)
    return found
  })
  return file => files.includes(file)
}

/** The engines that the tests of the file run on in this run; undefined: it is not in this run. */
function enginesOf(file: string, text: string): readonly Engine[] | undefined {
  if (!isRest) return isThorough(file) ? undefined : ['sqlite']
  if (isLong) return allEngines
  if (isOnAnyEngine(file)) return isThorough(file) ? ['sqlite'] : undefined
  if (isThorough(file)) return allEngines
  return usesEngines(text) ? ['postgres'] : undefined
}

const usesEngines = (text: string): boolean => /\/engines\.ts'/.test(text)

/** Those that open a browser are one group: each process would start a browser of its own. */
function groups(): readonly Group[] {
  const browser: Group[] = []
  const others: Group[] = []
  for (const file of globSync(`!(${elsewhere})/**/*.test.ts`, { cwd: tests }).sort()) {
    const text = readFileSync(join(tests, file), 'utf8')
    const engines = enginesOf(file, text)
    if (engines === undefined) continue
    const count = text.match(/\btest(On)?\(/g)?.length ?? 1
    const opensBrowser = /\/(browser|console|client-pages)\.ts'/.test(text)
    // A test with a page takes as long as several others.
    const weight = count * (usesEngines(text) ? engines.length : 1) * (opensBrowser ? 4 : 1)
    const list = opensBrowser ? browser : others
    list.push({ files: [{ file, engines }], weight })
  }
  const sum = browser.reduce((all, { weight }) => all + weight, 0)
  return [{ files: browser.flatMap(({ files }) => files), weight: sum }, ...others]
}

/** The heaviest first, each to the share that has least. Every process comes to the same result. */
function sharesOf(all: readonly Group[], count: number): readonly (readonly TestFile[])[] {
  const made = Array.from({ length: count }, () => ({ files: [] as TestFile[], weight: 0 }))
  for (const { files, weight } of all.toSorted((a, b) => b.weight - a.weight)) {
    const lightest = made.reduce((least, one) => (one.weight < least.weight ? one : least))
    lightest.files.push(...files)
    lightest.weight += weight
  }
  return made.map(({ files }) => files)
}
