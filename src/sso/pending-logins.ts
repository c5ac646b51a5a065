import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Mac, sameText } from '../lib/hmac.ts'
import { deriveKey, type Keyring } from '../model/keys.ts'
import type { Clock } from '../storage/storage.ts'
import type { CookieFamily, SignOnCookies } from './cookies.ts'
import type { Asking, PendingLogin } from './protocol.ts'

/**
 * Pending logins are kept in the browser that began them, in a cookie that only the nodes can sign. A start
 * costs the store nothing, and a response counts only in the same browser (RFC 6819 §4.4.1.8, OpenID Connect
 * Core §15.5.2).
 */
export interface PendingLogins {
  /** @param entityId of the identity provider if the provider is a federation; null otherwise */
  create(provider: string, entityId: string | null, redirectUrl: string, asking: Asking): PendingLogin
  /** Sets the attempt's cookie, and clears the oldest if there are too many. */
  keep(request: FastifyRequest, reply: FastifyReply, pendingLogin: PendingLogin): void
  /**
   * Clears the attempt's cookie. @returns undefined if this browser has no such attempt, or the attempt is
   * too old
   */
  resume(request: FastifyRequest, reply: FastifyReply, state: string): Promise<PendingLogin | undefined>
}

/** Seconds that a user may take at the provider. */
const lifetime = 15 * 60
const prefix = 'CARREL-SSO-'
/**
 * Bounds of the cookies: another page could begin any number of logins, and a proxy such as nginx accepts 8
 * kB of cookies by default.
 */
const family: CookieFamily = { pattern: /^CARREL-SSO-.{8}$/, max: 5, maxBytes: 6_000 }
const nothing = new Uint8Array()

type Content = readonly [
  state: string,
  provider: string,
  redirectUrl: string,
  begun: number,
  asking?: Asking,
  entityId?: string | null,
]

export function createPendingLogins(cookies: SignOnCookies, keyring: Keyring, clock: Clock): PendingLogins {
  const keys = () => keyring().map(secret => deriveKey(secret, 'sign-on', nothing))
  function signingKey(): Mac {
    const [key] = keys()
    if (!key) throw new Error('there is no secret to sign with')
    return key
  }
  const signature = (key: Mac, content: string) => key(`cookie/${content}`).toString('base64url')
  const cookieName = (state: string) => `${prefix}${state.slice(0, 8)}`
  const toAttempt = (key: Mac, content: Omit<PendingLogin, 'secret'>): PendingLogin => ({
    ...content,
    secret: purpose => key(`${purpose}/${content.state}`).toString('base64url'),
  })

  async function read(value: string): Promise<PendingLogin | undefined> {
    const [content = '', mac = ''] = value.split('.')
    const key = keys().find(one => sameText(signature(one, content), mac))
    if (!key) return undefined
    const json = Buffer.from(content, 'base64url').toString()
    // Cookies of an older node lack the last members.
    const [state, provider, redirectUrl, begun, asking = 'usual', entityId = null] = JSON.parse(
      json,
    ) as Content
    const ends = begun + lifetime * 1000
    if (clock.now() < ends) return toAttempt(key, { state, provider, entityId, redirectUrl, asking })
    // Otherwise it would be valid again if a clock that was ahead is set back (T11).
    await clock.keep(ends)
    return undefined
  }

  return {
    create: (provider, entityId, redirectUrl, asking) =>
      toAttempt(signingKey(), {
        state: randomBytes(32).toString('base64url'),
        provider,
        entityId,
        redirectUrl,
        asking,
      }),
    keep: (request, reply, { state, provider, entityId, redirectUrl, asking }) => {
      const content: Content = [state, provider, redirectUrl, clock.now(), asking, entityId]
      const text = Buffer.from(JSON.stringify(content)).toString('base64url')
      const value = `${text}.${signature(signingKey(), text)}`
      cookies.add(request, reply, family, { name: cookieName(state), value, seconds: lifetime })
    },
    resume: async (request, reply, state) => {
      if (!/^[\w-]{43}$/.test(state)) return undefined
      const given = cookies.read(request, cookieName(state))
      if (given.length > 0) cookies.set(reply, cookieName(state), '', 0)
      const attempts = await Promise.all(given.map(read))
      return attempts.find(attempt => attempt !== undefined && sameText(attempt.state, state))
    },
  }
}
