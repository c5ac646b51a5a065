import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const tests = new URL('../', import.meta.url)
const shares = globSync('suites/*.ts', { cwd: fileURLToPath(tests) }).sort()

/**
 * Loads the test files of one of `test/suites/`, which share all of them out. The files of a share run one after the
 * other in one process: starting a process, compiling and connecting cost more than most tests do.
 * @param url of the file that asks
 */
export async function loadShare(url: string): Promise<void> {
  const share = shares.findIndex(name => url.endsWith(`/${name}`))
  const files = globSync('**/*.test.ts', { cwd: fileURLToPath(tests) }).sort()
  for (const [at, file] of files.entries())
    if (at % shares.length === share) await import(new URL(file, tests).href)
}
