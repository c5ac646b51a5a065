import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeftOver, programInName } from './programs.ts'

/** The form of a folder's name: `<purpose>.<program>` and the suffix that `mkdtemp` adds. */
const pattern = /^(carrel-[a-z]+\.[\w-]+)\.\w{6}$/

/** Makes a folder among the system's temporary files. Its name says which program has to remove it. */
export const makeTemporaryFolder = (purpose: string): string =>
  mkdtempSync(join(tmpdir(), `carrel-${purpose}.${programInName()}.`))

/** Removes this user's temporary folders whose programs were killed. */
export function clearTemporaryFolders(): void {
  for (const name of readdirSync(tmpdir())) {
    const named = pattern.exec(name)?.[1]
    if (named === undefined || !isLeftOver(named)) continue
    const path = join(tmpdir(), name)
    const found = lstatSync(path, { throwIfNoEntry: false })
    // Every user may add files to the system's temporary folder.
    if (found?.isDirectory() && found.uid === process.getuid?.())
      rmSync(path, { recursive: true, force: true })
  }
}
