import { isIP } from 'node:net'
import type { Config } from '../../config/config.ts'
import { isLoopback } from '../../config/providers.ts'
import type { Check } from './facts.ts'
import { type Finding, findingsAbout } from './finding.ts'

const https = findingsAbout('https')
const browsers = findingsAbout('browsers')

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
