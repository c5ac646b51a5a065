import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isLong } from './scale.ts'
import { allEngines, type Engine, useEngines } from './service/engines.ts'

const tests = fileURLToPath(new URL('../', import.meta.url))
const shares = globSync('suites/*.ts', { cwd: tests }).sort()

/**
 * Folders whose tests need software that `npm ci` doesn't install. `npm run test:products` and `test:oldest`
 * run them.
 */
const elsewhere = 'oldest|products'

/** Files that take many seconds. `npm run test:rest` runs them, and the everyday run doesn't. */
const thorough = [
  '{admin/backup,bounds,browser,faults,journeys,nodes,property,races,workers}/*',
  'sso/metadata/read',
  'cli/copy',
  'files/{both-kinds,lies}',
  'client/{browser*,changes,exact,examples,files,guide,records,size}',
  'console/{drawings,folders,journeys,waiting}',
  'contract/api/{every-route,pipelining}',
  'contract/entities/{import,uploads}',
  'contract/imports/{changes,expose*,loss}',
  'contract/items/{bucket,ingest-uploads,processes}',
  'contract/login/{ldap-throttle,passkey-attestation,second-factor*,throttle}',
  'contract/operation/{cli,copy*,operator,store,turns}',
  'contract/query/{errors,hostile,json-conditions,snapshots,streaming,three-valued}',
  'contract/records/{change-feed,kept-versions}',
  'contract/sso/{explain,metadata-*,oidc-front-channel,oidc-refused,saml-*}',
  'contract/tokens/endings-matrix',
  'items/ingest/unpack',
  'house/{lock-file,old-node,package}',
  'lib/{expressions,to-char}',
  'admin/processes/processes',
  'files/move',
  'storage/{match-on-records,migrations,plans-*,rows-*,text-search}',
  'admin/uploads/folder',
]

/**
 * Files whose tests `npm run test:rest` runs on PostgreSQL, too: those that depend on code which each engine
 * has of its own. The rest of a store's code is shared, and `store/*` runs it on both engines, so tests over
 * HTTP need not repeat that. They, and the tests of the client, of pages and of commands, run on the embedded
 * store; on PostgreSQL, `npm run test:long` runs them. Tests of PostgreSQL alone, and tests that start both
 * engines, always run, whichever file they are in.
 */
const onPostgres = [
  // Each method of the storage, without HTTP.
  'store/*',
  // Each engine has its own SQL for queries: conditions, orders, collations, text search, and visible rows.
  'property/{audiences,order,people-search,queries,query-audiences,samples}',
  'storage/{match-on-records,plans-*,rows-*,text-search,unseen-rows}',
  // Imported records are files in one engine and tables in the other, which reads short pages together.
  'property/{changes,snapshots}',
  'contract/query/short-pages',
  // Writers at once are kept apart by the lock of one database and by the one writer of the other.
  'contract/{entities/fields,records/constraints}',
  // Each connection to PostgreSQL has its own chain in the audit trail.
  'contract/operation/{audit-trail-life,counted-events}',
  'admin/backup/audit-trail',
  // A version that is restored or held shares its table with later ones on PostgreSQL, and no file on SQLite.
  'contract/{records/kept-versions,query/snapshots}',
  // Races, several nodes, and processes that are killed.
  '{races,nodes}/*',
  'admin/backup/{backup,kill}',
  'faults/{import-signals,ingest,processes}',
  'workers/{counted-events,revocation}',
  // Schemas, waiting for connections, and lost connections.
  'storage/{migrations,postgres/*,copy/*}',
  'contract/operation/turns',
  'faults/{postgres,clock}',
]

type Part = 'everyday' | 'rest' | 'long'

/** The long run has the files of the rest and of everyday at full size, on both engines. */
const part: Part = process.env.CARREL_TEST_PART !== 'rest' ? 'everyday' : isLong ? 'long' : 'rest'

/** A file, and the engines of its tests in this run. */
interface TestFile {
  readonly file: string
  readonly engines: readonly Engine[]
  /** Engines of the tests that are about a single engine. */
  readonly own: readonly Engine[]
}

/** Files that run in one process, because they share something that is expensive to start. */
interface Group {
  readonly files: readonly TestFile[]
  /** An estimate of the group's duration, in simple tests on one engine. */
  readonly weight: number
}

/**
 * Loads the test files assigned to one of `test/suites/`, which divide a run among them. The files of a share
 * run one after another in one process, because starting a process, compiling and connecting cost more than
 * most tests do.
 *
 * @param url of the calling file
 */
export async function loadShare(url: string): Promise<void> {
  const share = shares.indexOf(join('suites', basename(fileURLToPath(url))))
  if (share === -1) throw new Error(`${url} is none of test/suites/`)
  // Without this, tests that end before the next file is loaded would be taken for all, and later ones would
  // leave things open.
  const loaded = Promise.withResolvers<void>()
  before(() => loaded.promise)
  try {
    for (const { file, engines, own } of filesOf(share)) {
      useEngines(engines, own)
      await import(pathToFileURL(join(tests, file)).href)
    }
    loaded.resolve()
  } catch (error) {
    loaded.reject(error)
    throw error
  }
}

const filesOf = (share: number): readonly TestFile[] =>
  (sharesOf(groups(), shares.length)[share] ?? []).flatMap(({ files }) => files)

const isThorough = matching(thorough)
const isOnPostgres = matching(onPostgres)

function matching(names: readonly string[]): (file: string) => boolean {
  const files = names.flatMap(name => {
    const found = globSync(`${name}.test.ts`, { cwd: tests })
    if (found.length === 0) throw new Error(`${name} is no test file`)
    return found
  })
  return file => files.includes(file)
}

/** @returns undefined for a file that is not in this run */
function inThisRun(file: string, text: string): TestFile | undefined {
  const usesEngines = /\/engines\.ts'/.test(text)
  const both = { file, engines: allEngines, own: allEngines }
  switch (part) {
    case 'long':
      return isThorough(file) || usesEngines ? both : undefined
    case 'everyday':
      return isThorough(file) ? undefined : { file, engines: ['sqlite'], own: ['sqlite'] }
    case 'rest':
      if (isThorough(file)) return isOnPostgres(file) ? both : { ...both, engines: ['sqlite'] }
      if (isOnPostgres(file) && usesEngines) return { file, engines: ['postgres'], own: ['postgres'] }
      return /testOn\(\s*'postgres'/.test(text) ? { file, engines: [], own: ['postgres'] } : undefined
  }
}

/** Patterns of files whose tests take as long as several others, each with the factor. */
const factors = [
  [/\/(browser|console|client-pages|administrator)\.ts'/, 4],
  [/\bserve\(|startNodes\(|startReplica\(/, 5],
  [/^property\//, 4],
] as const

/**
 * Returns the groups of files. Files that open a browser form few groups, because each process starts a
 * browser of its own.
 */
function groups(): readonly Group[] {
  const browser: Group[] = []
  const others: Group[] = []
  for (const file of globSync(`!(${elsewhere})/**/*.test.ts`, { cwd: tests }).sort()) {
    const text = readFileSync(join(tests, file), 'utf8')
    const found = inThisRun(file, text)
    if (found === undefined) continue
    const count = text.match(/\btest(On\w*)?\(/g)?.length ?? 1
    const factor = Math.max(
      1,
      ...factors.map(([sign, more]) => (sign.test(text) || sign.test(file) ? more : 1)),
    )
    const weight = count * Math.max(1, found.engines.length) * factor
    const list = /\/(browser|console|client-pages)\.ts'/.test(text) ? browser : others
    list.push({ files: [found], weight })
  }
  return [...sharesOf(browser, browserGroups).map(together), ...others]
}

const browserGroups = part === 'everyday' ? 1 : 3

const together = (all: readonly Group[]): Group => ({
  files: all.flatMap(({ files }) => files),
  weight: all.reduce((sum, { weight }) => sum + weight, 0),
})

/**
 * Distributes groups, heaviest first, each to the share with the least weight. Every process gets the same
 * result.
 */
function sharesOf(all: readonly Group[], count: number): readonly (readonly Group[])[] {
  const made = Array.from({ length: count }, () => ({ groups: [] as Group[], weight: 0 }))
  for (const group of all.toSorted((a, b) => b.weight - a.weight)) {
    const lightest = made.reduce((least, one) => (one.weight < least.weight ? one : least))
    lightest.groups.push(group)
    lightest.weight += group.weight
  }
  return made.map(one => one.groups)
}
