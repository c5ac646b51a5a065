import type { Config } from '../../config/config.ts'
import type { DirectoryLogins } from '../login.ts'
import type { DirectoryParts } from './directory-logins.ts'

/** Loaded where a directory is configured: what speaks its protocol takes its time and memory at every start. */
export async function loadDirectory(
  { singleSignOn }: Pick<Config, 'singleSignOn'>,
  parts: Omit<DirectoryParts, 'directory'>,
): Promise<DirectoryLogins | undefined> {
  if (!singleSignOn?.directory) return undefined
  const { createDirectoryLogins } = await import('./directory-logins.ts')
  return createDirectoryLogins({ ...parts, directory: singleSignOn.directory })
}
