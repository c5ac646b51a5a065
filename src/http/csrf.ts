import { randomFillSync } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { type Mac, sameText } from '../lib/hmac.ts'
import { RecentlyUsed } from '../lib/memo.ts'
import { deriveKey, type Keyring } from '../model/keys.ts'
import { prefixInUse } from './addresses.ts'
import { cookiesOf, setCookie } from './cookies.ts'
import { Problem, type ProblemCode } from './problems.ts'

/**
 * CSRF protection (contract section 4) by a signed double submit (OWASP). The value is 256 random bits and
 * their HMAC, so any node recognizes a value that another has issued, and nothing is stored.
 */
export interface Csrf {
  /** Sets a new cookie and header on the response. */
  issue(request: FastifyRequest, reply: FastifyReply): void
  /** @throws Problem, a different one for each of the four errors; the response then carries a new pair (C4) */
  require(request: FastifyRequest, reply: FastifyReply): void
  hasCookie(request: FastifyRequest): boolean
}

const randomLength = 32
/** Number of values that are known to be valid. Each has 86 characters. */
const maxVerified = 1_000
const nothing = new Uint8Array()

/** Random bytes for many values at once: the system call costs more than the bytes do. */
const pool = Buffer.alloc(128 * randomLength)
let used = pool.length
function nextRandom(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += randomLength
  return pool.subarray(used - randomLength, used)
}

type Settings = Pick<Config, 'csrfCookie' | 'csrfHeader' | 'baseUrl' | 'basePath'>

export function createCsrf(config: Settings, keyring: Keyring): Csrf {
  const { csrfCookie, csrfHeader, basePath } = config
  const attributes = config.baseUrl.startsWith('https:')
    ? 'Secure; HttpOnly; SameSite=None'
    : 'HttpOnly; SameSite=Lax'
  const start = `${csrfCookie}=`
  const later = `; ${start}`

  let derivedFrom: readonly Uint8Array[] = []
  let keys: readonly Mac[] = []
  /** Values of requests that were verified with these keys; clients send the same one with each change. */
  let verified = new RecentlyUsed<string, true>(maxVerified)
  function currentKeys() {
    const secrets = keyring()
    if (secrets !== derivedFrom) {
      keys = secrets.map(secret => deriveKey(secret, 'csrf', nothing))
      derivedFrom = secrets
      verified = new RecentlyUsed(maxVerified)
    }
    return keys
  }

  function isOurs(value: string): boolean {
    const now = currentKeys()
    if (verified.get(value)) return true
    const random = Buffer.from(value, 'base64url').subarray(0, randomLength)
    const isValid = now.some(key =>
      sameText(value, Buffer.concat([random, key(random)]).toString('base64url')),
    )
    if (isValid) verified.add(value, true)
    return isValid
  }

  const cookies = (request: FastifyRequest) => cookiesOf(request, csrfCookie)

  function issue(request: FastifyRequest, reply: FastifyReply): void {
    const key = currentKeys()[0]
    if (!key) throw new Error('there is no secret to sign with')
    const random = nextRandom()
    const value = Buffer.concat([random, key(random)]).toString('base64url')
    setCookie(
      reply,
      csrfCookie,
      `${value}; Path=${prefixInUse(basePath, request.originalUrl)}; ${attributes}`,
    )
    reply.header(csrfHeader, value)
  }

  return {
    issue,
    require: (request, reply) => {
      const given = cookies(request)
      const header = request.headers['x-xsrf-token']
      const refuse = (code: ProblemCode, why: string) => {
        issue(request, reply)
        return new Problem(
          code,
          `Invalid CSRF token: ${why}. Repeat the request with the new pair of this response.`,
        )
      }
      if (given.length === 0)
        throw refuse(
          'csrf-cookie-missing',
          `the cookie ${csrfCookie} is missing${stripped(basePath, request)}`,
        )
      if (typeof header !== 'string' || header === '')
        throw refuse('csrf-header-missing', 'the header X-XSRF-TOKEN is missing')
      if (!given.some(cookie => sameText(cookie, header)))
        throw refuse('csrf-mismatch', `the header X-XSRF-TOKEN and the cookie ${csrfCookie} differ`)
      if (!isOurs(header)) throw refuse('csrf-not-ours', 'it was not issued by this service')
    },
    hasCookie: request => {
      const { cookie } = request.headers
      if (cookie?.includes(start) !== true) return false
      // Browsers write cookies in one form; any other is parsed.
      return cookie.startsWith(start) || cookie.includes(later) || cookies(request).length > 0
    },
  }
}

/**
 * Explains a missing cookie where a proxy has changed the path, so that the browser doesn't send the
 * cookie; '' otherwise.
 */
function stripped(basePath: string, { originalUrl }: FastifyRequest): string {
  const prefix = prefixInUse(basePath, originalUrl)
  if (prefix === `${basePath}/api`) return ''
  return `. The request came to ${prefix}, and CARREL_BASE_URL has the path ${basePath}: if it came through a proxy, that must pass the path on unchanged, because a browser at ${basePath}/api doesn't send a cookie for ${prefix}`
}
