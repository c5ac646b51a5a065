import { existsSync } from 'node:fs'
import { dirname, extname, join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Paths of the program's own files, which are in `src/` or in the folder that `scripts/build.ts` has filled.
 */

/** The folder that contains package.json. */
export const root: string = folderAbove(import.meta.dirname)

const extension = extname(import.meta.filename)
const [programs = ''] = relative(root, import.meta.dirname).split(sep)

function folderAbove(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : folderAbove(dirname(folder))
}

/**
 * Returns the URL of a file that starts a thread or a process. `scripts/build.ts` lists these files.
 * @param name its path below `src/`, without its extension
 */
export const programFile = (name: string): URL => pathToFileURL(join(root, programs, name + extension))
