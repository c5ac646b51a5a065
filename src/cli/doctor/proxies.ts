import { isIPv6 } from 'node:net'
import { isLoopback } from '../../config/providers.ts'
import type { Check } from './facts.ts'
import { findingsAbout } from './finding.ts'

const { ok, note, warning, error } = findingsAbout('proxy')

/** Checks who may tell a client's address (G1): special groups, throttling and the audit trail rely on it. */
export const checkProxies: Check = function* ({ config }) {
  const { basePath, baseUrl, host, port, trustedProxies } = config
  for (const range of trustedProxies) {
    const { address, prefix } = readRange(range)
    if (prefix === 0)
      yield error(
        `CARREL_TRUSTED_PROXIES contains ${range}, which is everyone: any client can claim any address in X-Forwarded-For`,
        'name the address of the proxy alone, such as 127.0.0.1',
      )
    else if (prefix < (isIPv6(address) ? 32 : 8))
      yield warning(
        `CARREL_TRUSTED_PROXIES contains ${range}: any client in that network can claim any address`,
        'name the addresses of the proxies alone',
      )
  }
  const url = new URL(baseUrl)
  const publicPort = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const isDirect = url.protocol === 'http:' && (port === 0 || publicPort === port)
  if (isDirect && trustedProxies.length === 0) {
    yield ok(`clients reach Carrel directly at ${baseUrl}`)
    return
  }
  if (trustedProxies.length === 0)
    yield warning(
      `CARREL_BASE_URL is ${baseUrl}, so there is a proxy in front, and CARREL_TRUSTED_PROXIES is empty: every client seems to have the address of the proxy`,
      'set CARREL_TRUSTED_PROXIES to the address of the proxy',
    )
  else yield ok(`client addresses are taken from ${trustedProxies.join(', ')}`)
  if (basePath !== '')
    yield ok(
      `the proxy must pass the path ${basePath} on unchanged, or every login is 403: \`curl -si ${baseUrl}/api/security/csrf\` then shows Path=${basePath}/api`,
    )
  if (url.protocol === 'https:' && !isLoopback(`http://${isIPv6(host) ? `[${host}]` : host}`))
    yield note(
      `Carrel listens on ${host}, where clients may get past the proxy and send passwords over plain http`,
      'set CARREL_HOST=127.0.0.1 if the proxy is on this machine; otherwise let only the proxy through the firewall',
    )
}

function readRange(range: string): { address: string; prefix: number } {
  const [address = '', prefix] = range.split('/')
  return { address, prefix: prefix === undefined ? 128 : Number(prefix) }
}
