import type { Config } from '../config/config.ts'

/** The addresses in links: each starts with the configured base URL, never with a request's Host header (P3). */
export interface Addresses {
  /** The address for people: the console, or the links of the API if there is no console. */
  readonly home: string
  readonly api: string
  readonly authn: string
  readonly csrf: string
  readonly query: string
  problem(code: string): string
  eperson(uuid: string): string
  group(uuid: string): string
}

export const addressesOf = ({
  baseUrl,
  console,
  queryBase,
}: Pick<Config, 'baseUrl' | 'console' | 'queryBase'>): Addresses => ({
  home: console ? `${baseUrl}/` : `${baseUrl}/api`,
  api: `${baseUrl}/api`,
  authn: `${baseUrl}/api/authn`,
  csrf: `${baseUrl}/api/security/csrf`,
  query: `${baseUrl}${queryBase}`,
  problem: code => `${baseUrl}/api/problems/${code}`,
  eperson: uuid => `${baseUrl}/api/eperson/epersons/${uuid}`,
  group: uuid => `${baseUrl}/api/eperson/groups/${uuid}`,
})

/**
 * Removes the prefix of a request's address: requests are answered under `/api`, in the same way under
 * `/server/api`, and below the path of the base URL (P1).
 * @param basePath the path of the base URL, without a trailing slash
 * @param target as the client sent it
 * @returns the URL without such a prefix
 */
export function withoutPrefix(basePath: string, target: string): string {
  const url = originForm(target)
  // The base URL without a trailing slash is an address, too: that of the console.
  if (basePath !== '' && pathOf(url) === basePath) return `/${url.slice(basePath.length)}`
  for (const prefix of [basePath, '/server'])
    if (prefix !== '' && url.startsWith(`${prefix}/`)) return url.slice(prefix.length)
  return url
}

/** The path prefix under which the client used the API, for the cookie's Path (C2). */
export function prefixInUse(basePath: string, target: string): string {
  const url = originForm(target)
  return `${url.slice(0, url.length - withoutPrefix(basePath, url).length)}/api`
}

/** The path of a request without its query, which may hold a token. */
export function pathOf(target: string): string {
  const url = originForm(target)
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

export const metricsPath = '/metrics'

/** True if the path is that of the metrics (D5); used alike by routes, the host check and CORS. */
export const isMetrics = (path: string): boolean => path === metricsPath || path === `${metricsPath}/`

/** A request may carry the absolute form of its address (RFC 9112 §3.2.2); scheme and host are ignored. */
const originForm = (target: string): string =>
  target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '') || '/'
