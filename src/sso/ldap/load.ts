import type { DirectoryLogins } from '../../authn/login.ts'
import type { Config } from '../../config/config.ts'
import type { DirectoryParts } from './directory-logins.ts'

/**
 * Loads logins by directory only if one is configured: the protocol's library takes time and memory at every
 * start.
 */
export async function loadDirectory(
  { singleSignOn, tokenLifetime }: Pick<Config, 'singleSignOn' | 'tokenLifetime'>,
  parts: Omit<DirectoryParts, 'directory' | 'tokenLifetime'>,
): Promise<DirectoryLogins | undefined> {
  if (!singleSignOn?.directory) return undefined
  const { createDirectoryLogins } = await import('./directory-logins.ts')
  return createDirectoryLogins({ ...parts, tokenLifetime, directory: singleSignOn.directory })
}
