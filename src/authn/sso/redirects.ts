import type { Config } from '../../config/config.ts'
import { allowedAddress } from '../../config/providers.ts'
import { quote } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'

/** @returns what reads a `redirectUrl` as it will be sent, and throws Problem 400 for one that isn't allowed */
export const createRedirects =
  (config: Pick<Config, 'allowedOrigins' | 'baseUrl'>) =>
  (given: string): string => {
    const address = allowedAddress(given, config)
    if (address !== undefined) return address
    throw new Problem(
      'redirect-not-allowed',
      `redirectUrl ${quote(given)} must be an address of an origin in CARREL_ALLOWED_ORIGINS.`,
      { members: { parameter: 'redirectUrl' } },
    )
  }
