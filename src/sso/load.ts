import type { Config } from '../config/config.ts'
import type { SingleSignOn, SingleSignOnParts } from './single-sign-on.ts'

/**
 * Loads single sign-on only if it is configured: its protocols' libraries take time and memory at every
 * start.
 */
export async function loadSingleSignOn(
  { singleSignOn, ...config }: Config,
  parts: Omit<SingleSignOnParts, 'config'>,
): Promise<SingleSignOn | undefined> {
  if (!singleSignOn || singleSignOn.providers.length === 0) return undefined
  const { createSingleSignOn } = await import('./single-sign-on.ts')
  return createSingleSignOn({ ...parts, config: { ...config, singleSignOn } })
}
