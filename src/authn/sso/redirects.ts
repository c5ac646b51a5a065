import type { Config } from '../../config/config.ts'
import { quote } from '../../http/parameters.ts'
import { Problem } from '../../problems.ts'

/** Of an address that is kept in a cookie. */
const longest = 2_000

/**
 * Where a browser may be sent (X2): only to origins on the list. The address is read by the URL parser that browsers
 * use, and what is sent is what was read, so that no two readings can differ.
 * @throws Problem 400
 */
export function createRedirects({ allowedOrigins, baseUrl }: Pick<Config, 'allowedOrigins' | 'baseUrl'>) {
  const allowed = new Set([...allowedOrigins, new URL(baseUrl).origin])
  return (given: string): string => {
    const url = URL.parse(given)
    if (url && /^https?:$/.test(url.protocol) && allowed.has(url.origin)) {
      const isPlain = url.username === '' && url.password === '' && url.href.length <= longest
      if (isPlain && /^https?:\/\/[^\\\s\p{Cc}]+$/iu.test(given)) return url.href
    }
    throw new Problem(
      'redirect-not-allowed',
      `redirectUrl ${quote(given)} must be an address of an origin in CARREL_ALLOWED_ORIGINS.`,
      { members: { parameter: 'redirectUrl' } },
    )
  }
}
