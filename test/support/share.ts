import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const tests = fileURLToPath(new URL('../', import.meta.url))
const shares = globSync('suites/*.ts', { cwd: tests }).sort()

/** What `npm run test:long` runs, or needs programs that `npm ci` doesn't bring. */
const elsewhere = 'backup|bounds|browser|faults|nodes|products|property|races|workers'

/**
 * Loads the test files of one of `test/suites/`, which share out those of every day. The files of a share run one after the
 * other in one process: starting a process, compiling and connecting cost more than most tests do.
 * @param url of the file that asks
 */
export async function loadShare(url: string): Promise<void> {
  const share = shares.indexOf(join('suites', basename(fileURLToPath(url))))
  if (share === -1) throw new Error(`${url} is none of test/suites/`)
  const files = globSync(`!(${elsewhere})/**/*.test.ts`, { cwd: tests }).sort()
  for (const [at, file] of files.entries())
    if (at % shares.length === share) await import(pathToFileURL(join(tests, file)).href)
}
