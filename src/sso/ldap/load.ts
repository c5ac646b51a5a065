import type { DirectoryLogins } from '../../authn/logins-under-way.ts'
import type { Config } from '../../config/config.ts'
import type { DirectoryParts } from './directory-logins.ts'

/** Loads logins by directory only if one is configured: the protocol's library takes time and memory at every start. */
export async function loadDirectory(
  { singleSignOn }: Pick<Config, 'singleSignOn'>,
  parts: Omit<DirectoryParts, 'directory'>,
): Promise<DirectoryLogins | undefined> {
  if (!singleSignOn?.directory) return undefined
  const { createDirectoryLogins } = await import('./directory-logins.ts')
  return createDirectoryLogins({ ...parts, directory: singleSignOn.directory })
}
