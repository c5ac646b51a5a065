import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const tests = fileURLToPath(new URL('../', import.meta.url))
const shares = globSync('suites/*.ts', { cwd: tests }).sort()

/** What `npm run test:apart` runs, or needs programs that `npm ci` doesn't bring. */
const elsewhere = 'backup|bounds|browser|faults|nodes|products|property|races|workers'

/** What runs in one process, as its files share what is expensive to start. */
interface Group {
  readonly files: readonly string[]
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
  for (const file of sharesOf(groups(), shares.length)[share] ?? [])
    await import(pathToFileURL(join(tests, file)).href)
}

/** Those that open a browser are one group: each process would start a browser of its own. */
function groups(): readonly Group[] {
  const browser: Group[] = []
  const others: Group[] = []
  for (const file of globSync(`!(${elsewhere})/**/*.test.ts`, { cwd: tests }).sort()) {
    const text = readFileSync(join(tests, file), 'utf8')
    const count = text.match(/\btest(On)?\(/g)?.length ?? 1
    const opensBrowser = /\/(browser|console|client-pages)\.ts'/.test(text)
    // A test with a page takes as long as several others.
    const weight = count * (/\/engines\.ts'/.test(text) ? 2 : 1) * (opensBrowser ? 4 : 1)
    const list = opensBrowser ? browser : others
    list.push({ files: [file], weight })
  }
  const sum = browser.reduce((all, { weight }) => all + weight, 0)
  return [{ files: browser.flatMap(({ files }) => files), weight: sum }, ...others]
}

/** The heaviest first, each to the share that has least. Every process comes to the same result. */
function sharesOf(all: readonly Group[], count: number): readonly (readonly string[])[] {
  const made = Array.from({ length: count }, () => ({ files: [] as string[], weight: 0 }))
  for (const { files, weight } of all.toSorted((a, b) => b.weight - a.weight)) {
    const lightest = made.reduce((least, one) => (one.weight < least.weight ? one : least))
    lightest.files.push(...files)
    lightest.weight += weight
  }
  return made.map(({ files }) => files)
}
