import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieNames, cookiesOf, setCookie } from '../../http/cookies.ts'
import { type Mac, sameText } from '../../lib/hmac.ts'
import { deriveKey, type Keyring } from '../../model/keys.ts'
import type { Clock } from '../../storage/clock.ts'
import type { Asking, PendingLogin } from './protocol.ts'

/**
 * Pending logins live in the browser that began them, in a cookie that only the nodes can sign. A start costs the store
 * nothing, and a response counts only in the same browser (RFC 6819 §4.4.1.8, OpenID Connect Core §15.5.2).
 */
export interface PendingLogins {
  create(provider: string, redirectUrl: string, asking: Asking): PendingLogin
  /** Sets the attempt's cookie, and clears the oldest if there are too many. */
  keep(request: FastifyRequest, reply: FastifyReply, pendingLogin: PendingLogin): void
  /** Clears the attempt's cookie. @returns undefined when this browser has no such attempt, or it is too old */
  resume(request: FastifyRequest, reply: FastifyReply, state: string): PendingLogin | undefined
}

/** Seconds that a user may take at the provider. */
const lifetime = 15 * 60
/** Pending logins that a browser may have, for example in several tabs. */
const maxAttempts = 5
const prefix = 'CARREL-SSO-'
const nothing = new Uint8Array()

/** The cookies of single sign-on, by the protection that the public address allows. */
export function signOnCookies(baseUrl: string) {
  const secure = baseUrl.startsWith('https:')
  const attributes = `Path=/; HttpOnly; ${secure ? 'Secure; SameSite=None' : 'SameSite=Lax'}`
  // __Host-: no neighbouring host can plant one (RFC 6265bis §4.1.3.2).
  const nameOf = (name: string) => (secure ? `__Host-${name}` : name)
  return {
    read: (request: FastifyRequest, name: string) => cookiesOf(request, nameOf(name)),
    /** Of those that came, oldest first, as browsers send them (RFC 6265 §5.4). */
    names: (request: FastifyRequest) =>
      cookieNames(request)
        .filter(name => name.startsWith(nameOf('')))
        .map(name => name.slice(nameOf('').length)),
    /** @param seconds 0: clears it */
    set: (reply: FastifyReply, name: string, value: string, seconds: number) =>
      setCookie(reply, nameOf(name), `${value}; Max-Age=${seconds}; ${attributes}`),
  }
}
export type SignOnCookies = ReturnType<typeof signOnCookies>

type Content = readonly [state: string, provider: string, redirectUrl: string, begun: number, asking?: Asking]

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

  function read(value: string): PendingLogin | undefined {
    const [content = '', mac = ''] = value.split('.')
    const key = keys().find(one => sameText(signature(one, content), mac))
    if (!key) return undefined
    const json = Buffer.from(content, 'base64url').toString()
    // An older node doesn't say how.
    const [state, provider, redirectUrl, begun, asking = 'usual'] = JSON.parse(json) as Content
    const isAlive = clock.now() < begun + lifetime * 1000
    return isAlive ? toAttempt(key, { state, provider, redirectUrl, asking }) : undefined
  }

  return {
    create: (provider, redirectUrl, asking) =>
      toAttempt(signingKey(), {
        state: randomBytes(32).toString('base64url'),
        provider,
        redirectUrl,
        asking,
      }),
    keep: (request, reply, { state, provider, redirectUrl, asking }) => {
      // Another page could begin any number of logins, until the browser's headers are too long for any server.
      const older = cookies
        .names(request)
        .filter(name => name.startsWith(prefix) && name.length === prefix.length + 8)
      for (const name of older.slice(0, Math.max(0, older.length + 1 - maxAttempts)))
        cookies.set(reply, name, '', 0)
      const content: Content = [state, provider, redirectUrl, clock.now(), asking]
      const text = Buffer.from(JSON.stringify(content)).toString('base64url')
      cookies.set(reply, cookieName(state), `${text}.${signature(signingKey(), text)}`, lifetime)
    },
    resume: (request, reply, state) => {
      if (!/^[\w-]{43}$/.test(state)) return undefined
      const given = cookies.read(request, cookieName(state))
      if (given.length > 0) cookies.set(reply, cookieName(state), '', 0)
      return given
        .map(read)
        .find(pendingLogin => pendingLogin !== undefined && sameText(pendingLogin.state, state))
    },
  }
}
