import { isIP, isIPv6 } from 'node:net'
import type { Config } from '../../config/config.ts'
import { isLoopback } from '../../config/providers.ts'
import type { Finding } from '../../lib/findings.ts'
import { type Check, findingsAbout } from './finding.ts'

const proxy = findingsAbout('proxy')
const https = findingsAbout('https')
const browsers = findingsAbout('browsers')

/** Checks who may tell a client's address (G1): special groups, throttling and the audit trail rely on it. */
export const checkProxies: Check = function* ({ config }) {
  const { basePath, baseUrl, host, port, trustedProxies } = config
  for (const range of trustedProxies) {
    const { address, prefix } = readRange(range)
    if (prefix === 0) yield proxy.error('proxies-everyone', { range })
    else if (prefix < (isIPv6(address) ? 32 : 8)) yield proxy.warning('proxies-network', { range })
  }
  const url = new URL(baseUrl)
  const publicPort = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const isDirect = url.protocol === 'http:' && (port === 0 || publicPort === port)
  if (isDirect && trustedProxies.length === 0) {
    yield proxy.ok('proxy-none', { baseUrl })
    return
  }
  if (trustedProxies.length === 0) yield proxy.warning('proxy-not-trusted', { baseUrl })
  else yield proxy.ok('proxies-trusted', { ranges: trustedProxies })
  if (basePath !== '') yield proxy.ok('proxy-path', { path: basePath, baseUrl })
  if (url.protocol === 'https:' && !isLoopback(`http://${isIPv6(host) ? `[${host}]` : host}`))
    yield proxy.note('proxy-avoidable', { host })
}

function readRange(range: string): { address: string; prefix: number } {
  const [address = '', prefix] = range.split('/')
  return { address, prefix: prefix === undefined ? 128 : Number(prefix) }
}

/** Checks whether passwords and tokens can be read on the network. */
export const checkHttps: Check = function* ({ config: { baseUrl } }) {
  if (baseUrl.startsWith('https:')) yield https.ok('cookies-secure', { baseUrl })
  else if (isLoopback(baseUrl)) yield https.note('base-url-loopback', { baseUrl })
  else yield https.warning('base-url-plain', { baseUrl })
}

/**
 * Finds origins whose pages could never work: their requests aren't sent, or go without the CSRF cookie (C2,
 * W1).
 */
export const checkOrigins: Check = function* ({ config }) {
  const { allowedOrigins, baseUrl } = config
  const found = allowedOrigins.flatMap(origin => originTrouble(origin, config))
  yield* found
  if (allowedOrigins.length === 0) yield browsers.note('origins-none', { origin: new URL(baseUrl).origin })
  else if (found.length === 0) yield browsers.ok('origins-allowed', { origins: allowedOrigins })
}

function originTrouble(origin: string, { baseUrl }: Pick<Config, 'baseUrl'>): Finding[] {
  const { note, warning, error } = browsers
  const isPlain = baseUrl.startsWith('http:')
  const isPageSecure = origin.startsWith('https:')
  const isOtherSite = siteOf(origin) !== siteOf(baseUrl)
  if (isPlain && isPageSecure && !isLoopback(baseUrl))
    return [error('origin-mixed-content', { origin, baseUrl })]
  if (isPlain && isOtherSite) return [error('origin-cross-site-plain', { origin, baseUrl })]
  if (!isPlain && !isPageSecure)
    return [isLoopback(origin) ? note('origin-loopback', { origin }) : warning('origin-plain', { origin })]
  if (!isPlain && isOtherSite) return [note('origin-cross-site', { origin, baseUrl })]
  return []
}

/**
 * Returns roughly what browsers take for one site: the last two labels of the name. Only a list of all public
 * suffixes would tell two sites under co.uk apart (https://html.spec.whatwg.org/#same-site).
 */
function siteOf(url: string): string {
  const { hostname } = new URL(url)
  return isIP(hostname) || hostname.startsWith('[') ? hostname : hostname.split('.').slice(-2).join('.')
}
