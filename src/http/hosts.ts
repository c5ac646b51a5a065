import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { isLoopbackName } from '../lib/addresses.ts'
import { isMetrics, pathOf, withoutPrefix } from './addresses.ts'
import { quote } from './parameters.ts'
import { Problem } from './problems.ts'
import { countHeader } from './refuse-malformed.ts'

/** @throws Problem if the request was meant for another host */
type RequireHost = (request: FastifyRequest) => void

type Settings = Pick<Config, 'allowedHosts' | 'basePath' | 'baseUrl'>

/** Maximum number of spellings of the own name that are remembered; clients send the same few. */
const maxKnown = 100

/**
 * Refuses requests for hosts that are not this service's (E4). In DNS rebinding, a hostile page's name
 * suddenly resolves to this service's address, so that the browser lets the page read what the visitor may
 * read. The host in the request is still the page's name.
 *
 * Only names are compared, since a page can't choose another port of its own host. Probes of health and
 * metrics ask by IP address, and learn nothing that a page could use.
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
    // The address as the client sent it: the router sees a rewritten one.
    const target = request.originalUrl
    const hosts = countHeader(request.raw, 'host')
    // RFC 9112 §3.2: HTTP/1.1 needs exactly one Host. Older clients need none, and browsers always send one.
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1'))
      throw new Problem('bad-request', `The request must have one Host header; it has ${hosts}.`)
    const { host } = request.headers
    // RFC 9112 §3.2.2: the host in an absolute-form target replaces the header.
    const asked = (target.startsWith('/') ? undefined : /^https?:\/\/([^/?#]*)/i.exec(target)?.[1]) ?? host
    const isProbe = () => isProbed(withoutPrefix(basePath, pathOf(target)))
    if (asked !== undefined && !isOwn(asked) && !isProbe()) throw refusal(asked, 'Host')
    // The host that a trusted proxy reports; the framework ignores X-Forwarded-Host from any other client.
    const forwarded = request.host
    if (forwarded !== host && forwarded && !isOwn(forwarded) && !isProbe())
      throw refusal(forwarded, 'X-Forwarded-Host')
  }
}

const isProbed = (path: string) => path.startsWith('/health/') || isMetrics(path)

const refusal = (host: string, header: string) =>
  new Problem(
    'host-not-allowed',
    `This service does not answer for the host ${quote(host)} (${header}). If it should, its operator adds the name to CARREL_ALLOWED_HOSTS, or sets CARREL_BASE_URL to the public address. A reverse proxy should pass on the Host of its clients.`,
  )

/**
 * The canonical name in an authority, without the port and the root's trailing dot (RFC 3986 §3.2.2): IPv6
 * addresses and letter case have several spellings.
 * @returns undefined if it is not a host
 */
function hostnameOf(authority: string): string | undefined {
  if (!/^[\w.[\]:~%-]+$/.test(authority)) return undefined
  return URL.parse(`http://${authority}/`)?.hostname.replace(/\.$/, '')
}
