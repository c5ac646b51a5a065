import { existsSync } from 'node:fs'
import { dirname, extname, join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Where the program's own files are: in `src/`, or in the folder that `scripts/build.ts` has filled. */

/** The folder of package.json. */
export const root: string = folderAbove(import.meta.dirname)

const extension = extname(import.meta.filename)
const [programs = ''] = relative(root, import.meta.dirname).split(sep)

function folderAbove(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : folderAbove(dirname(folder))
}

/**
 * A file that a thread or a process begins with. `scripts/build.ts` has the list of them.
 * @param name its path below `src/`, without its extension
 */
export const programFile = (name: string): URL => pathToFileURL(join(root, programs, name + extension))
