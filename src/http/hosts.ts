import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { isLoopbackName } from '../lib/addresses.ts'
import { isMetrics, pathOf, withoutPrefix } from './addresses.ts'
import { quote } from './parameters.ts'
import { Problem } from './problems.ts'
import { countHeader } from './refuse-malformed.ts'

/** @throws Problem if the request was meant for another host */
export type RequireHost = (request: FastifyRequest) => void

type Settings = Pick<Config, 'allowedHosts' | 'basePath' | 'baseUrl'>

/** Spellings that were found right before; clients send the same few. */
const maxKnown = 100

/**
 * Requests for hosts that are not this service's are refused (E4). In DNS rebinding, the name of a hostile page suddenly
 * has this service's address, so that a browser lets the page read what the visitor may read. The name stays the page's.
 *
 * Only names are compared, since a page can't choose another port of its own host. Probes of health and metrics ask by
 * address, and learn nothing that a page could use.
 */
export function createHostCheck({ allowedHosts, basePath, baseUrl }: Settings): RequireHost {
  const own = new Set([new URL(baseUrl).hostname, ...allowedHosts].map(hostnameOf))
  const known = new Set<string>()

  function isOwn(authority: string): boolean {
    if (known.has(authority)) return true
    const name = hostnameOf(authority)
    if (name === undefined || !(own.has(name) || isLoopbackName(name))) return false
    if (known.size < maxKnown) known.add(authority)
    return true
  }

  return request => {
    // As the client sent it: the router sees another address.
    const target = request.originalUrl
    const hosts = countHeader(request.raw, 'host')
    // RFC 9112 §3.2: one Host, always. Clients older than that need none, and browsers always send it.
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1'))
      throw new Problem('bad-request', `The request must have one Host header; it has ${hosts}.`)
    if (isProbe(withoutPrefix(basePath, pathOf(target)))) return
    const { host } = request.headers
    // RFC 9112 §3.2.2: the host of a target in absolute form takes the place of the header.
    const asked = /^https?:\/\/([^/?#]*)/i.exec(target)?.[1] ?? host
    if (asked !== undefined && !isOwn(asked)) throw refusal(asked, 'Host')
    // What a trusted proxy says that its client asked for; the framework gives the header of any other client no weight.
    const forwarded = request.host
    if (forwarded !== host && forwarded && !isOwn(forwarded)) throw refusal(forwarded, 'X-Forwarded-Host')
  }
}

const isProbe = (path: string) => path.startsWith('/health/') || isMetrics(path)

const refusal = (host: string, header: string) =>
  new Problem(
    'host-not-allowed',
    `This service does not answer for the host ${quote(host)} (${header}). If it should, its operator adds the name to CARREL_ALLOWED_HOSTS, or sets CARREL_BASE_URL to the public address. A reverse proxy should pass on the Host of its clients.`,
  )

/**
 * The canonical name in an authority, without its port and the dot of the root (RFC 3986 §3.2.2): IPv6 addresses and case
 * have several spellings.
 * @returns undefined if it is not a host
 */
export function hostnameOf(authority: string): string | undefined {
  if (!/^[\w.[\]:~%-]+$/.test(authority)) return undefined
  return URL.parse(`http://${authority}/`)?.hostname.replace(/\.$/, '')
}
