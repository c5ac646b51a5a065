import { isIP, isIPv6 } from 'node:net'
import type { Config } from '../../config/config.ts'
import { isLoopback } from '../../config/providers.ts'
import { type Check, type Finding, findingsAbout } from './finding.ts'

const proxy = findingsAbout('proxy')
const https = findingsAbout('https')
const browsers = findingsAbout('browsers')

/** Checks who may tell a client's address (G1): special groups, throttling and the audit trail rely on it. */
export const checkProxies: Check = function* ({ config }) {
  const { basePath, baseUrl, host, port, trustedProxies } = config
  for (const range of trustedProxies) {
    const { address, prefix } = readRange(range)
    if (prefix === 0)
      yield proxy.error(
        `CARREL_TRUSTED_PROXIES contains ${range}, which is everyone: any client can claim any address in X-Forwarded-For`,
        'name the address of the proxy alone, such as 127.0.0.1',
      )
    else if (prefix < (isIPv6(address) ? 32 : 8))
      yield proxy.warning(
        `CARREL_TRUSTED_PROXIES contains ${range}: any client in that network can claim any address`,
        'name the addresses of the proxies alone',
      )
  }
  const url = new URL(baseUrl)
  const publicPort = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const isDirect = url.protocol === 'http:' && (port === 0 || publicPort === port)
  if (isDirect && trustedProxies.length === 0) {
    yield proxy.ok(`clients reach Carrel directly at ${baseUrl}`)
    return
  }
  if (trustedProxies.length === 0)
    yield proxy.warning(
      `CARREL_BASE_URL is ${baseUrl}, so there is a proxy in front, and CARREL_TRUSTED_PROXIES is empty: every client seems to have the address of the proxy`,
      'set CARREL_TRUSTED_PROXIES to the address of the proxy',
    )
  else yield proxy.ok(`client addresses are taken from ${trustedProxies.join(', ')}`)
  if (basePath !== '')
    yield proxy.ok(
      `the proxy must pass the path ${basePath} on unchanged, or every login is 403: \`curl -si ${baseUrl}/api/security/csrf\` then shows Path=${basePath}/api`,
    )
  if (url.protocol === 'https:' && !isLoopback(`http://${isIPv6(host) ? `[${host}]` : host}`))
    yield proxy.note(
      `Carrel listens on ${host}, where clients may get past the proxy and send passwords over plain http`,
      'set CARREL_HOST=127.0.0.1 if the proxy is on this machine; otherwise let only the proxy through the firewall',
    )
}

function readRange(range: string): { address: string; prefix: number } {
  const [address = '', prefix] = range.split('/')
  return { address, prefix: prefix === undefined ? 128 : Number(prefix) }
}

/** Checks whether passwords and tokens can be read on the network. */
export const checkHttps: Check = function* ({ config: { baseUrl } }) {
  if (baseUrl.startsWith('https:')) yield https.ok(`CARREL_BASE_URL is ${baseUrl}: cookies are Secure`)
  else if (isLoopback(baseUrl))
    yield https.note(
      `CARREL_BASE_URL is ${baseUrl}: only this machine can use it`,
      'set it to the public address before others use the service',
    )
  else
    yield https.warning(
      `CARREL_BASE_URL is ${baseUrl}: passwords and tokens that are sent over http can be read on the network`,
      'let a proxy terminate TLS, and set CARREL_BASE_URL to https://… (deploy/)',
    )
}

/**
 * Finds origins whose pages could never work: their requests aren't sent, or go without the CSRF cookie (C2,
 * W1).
 */
export const checkOrigins: Check = function* ({ config }) {
  const { allowedOrigins, baseUrl } = config
  const found = allowedOrigins.flatMap(origin => originTrouble(origin, config))
  yield* found
  if (allowedOrigins.length === 0)
    yield browsers.note(
      `CARREL_ALLOWED_ORIGINS is empty: browsers may call the API only from pages of ${new URL(baseUrl).origin}`,
      'set it to the origin of the user interface if it differs',
    )
  else if (found.length === 0) yield browsers.ok(`pages of ${allowedOrigins.join(', ')} can use the API`)
}

function originTrouble(origin: string, { baseUrl }: Pick<Config, 'baseUrl'>): Finding[] {
  const { note, warning, error } = browsers
  const isPlain = baseUrl.startsWith('http:')
  const isPageSecure = origin.startsWith('https:')
  if (isPlain && isPageSecure && !isLoopback(baseUrl))
    return [
      error(
        `pages of ${origin} can't call ${baseUrl}: browsers block http on an https page`,
        'set CARREL_BASE_URL to https://…, with a proxy that terminates TLS',
      ),
    ]
  if (isPlain && siteOf(origin) !== siteOf(baseUrl))
    return [
      error(
        `${origin} is on a different site from ${baseUrl}: over http cookies are SameSite=Lax, so the CSRF cookie is not sent and every POST is 403`,
        'use https, or the same host name for both',
      ),
    ]
  if (!isPlain && !isPageSecure)
    return [
      isLoopback(origin)
        ? note(
            `CARREL_ALLOWED_ORIGINS contains ${origin}: any program that listens there on a user's machine may act in that user's name`,
            'remove it if it is left from development',
          )
        : warning(
            `${origin} in CARREL_ALLOWED_ORIGINS is http: tokens that its pages hold can be read on the network`,
            'serve the user interface over https',
          ),
    ]
  if (!isPlain && siteOf(origin) !== siteOf(baseUrl))
    return [
      note(
        `${origin} is on a different site from ${baseUrl}: browsers that block third-party cookies (Safari; others by choice) don't send the CSRF cookie`,
        'give both host names under one domain, such as ui.example.edu and repo.example.edu',
      ),
    ]
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
