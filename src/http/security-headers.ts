import type { Config } from '../config/config.ts'

/**
 * On every response, errors included (W2). Nothing may be cached: responses depend on the caller, and most carry a
 * token, a cookie or personal data. `no-referrer` also keeps `?authentication-token=` out of other servers' logs (T10).
 */
export const securityHeaders = ({ baseUrl }: Pick<Config, 'baseUrl'>): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'private, no-store',
  ...(baseUrl.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
})
