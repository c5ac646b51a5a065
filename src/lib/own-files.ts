import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Paths of the program's own files, which are in `src/` or in the folder that `scripts/build.ts` has filled. */

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

/**
 * Returns a function that loads a package on first use. Each event loop keeps its own copy of what it has
 * loaded, and most of them never need regular expressions or forms with files.
 * @returns a function with the result of `require`
 */
export function onDemand<Package>(name: string): () => Package {
  let loaded: Package | undefined
  return () => {
    loaded ??= createRequire(import.meta.url)(name) as Package
    return loaded
  }
}
