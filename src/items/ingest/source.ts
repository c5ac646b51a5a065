import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ImportError } from '../../import/import-error.ts'
import { openArchive } from './archive.ts'
import type { Candidates, SourceOptions } from './candidates.ts'
import { manifestName, openManifest } from './manifest.ts'

/**
 * Opens a folder with `manifest.csv`, or a folder of DSpace's item folders.
 * @throws ImportError if it is neither
 */
export async function openItems(path: string, options: SourceOptions): Promise<Candidates> {
  const given = statSync(path, { throwIfNoEntry: false })
  if (!given) throw new ImportError(`there is no folder ${path}`)
  if (!given.isDirectory())
    throw new ImportError(
      `${path} is a file; give the folder that holds ${manifestName} or DSpace's item folders`,
    )
  const folder = realpathSync(path)
  // A dangling link counts, because the folder was meant to have a manifest.
  const manifest = lstatSync(join(folder, manifestName), { throwIfNoEntry: false })
  if (manifest) {
    const other =
      manifest.isFile() &&
      readdirSync(folder, { withFileTypes: true }).find(
        one => one.isDirectory() && existsSync(join(folder, one.name, 'dublin_core.xml')),
      )
    if (other)
      throw new ImportError(
        `${path} has both ${manifestName} and the item folder ${other.name}; put them into separate folders`,
      )
    return openManifest(folder, options)
  }
  if (existsSync(join(folder, 'dublin_core.xml')))
    throw new ImportError(`${path} is itself an item folder; give the folder that contains it`)
  try {
    return await openArchive(folder, options)
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    throw syscall === undefined ? error : new ImportError(`can't read ${path} (${code})`, { cause: error })
  }
}
