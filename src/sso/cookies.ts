import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieNames, cookiesOf, setCookie } from '../http/cookies.ts'

/** The cookies of single sign-on, with the protection that the public address allows. */
export function signOnCookies(baseUrl: string) {
  const secure = baseUrl.startsWith('https:')
  const attributes = `Path=/; HttpOnly; ${secure ? 'Secure; SameSite=None' : 'SameSite=Lax'}`
  // `__Host-` keeps neighboring hosts from planting one (RFC 6265bis §4.1.3.2).
  const nameOf = (name: string) => (secure ? `__Host-${name}` : name)
  const read = (request: FastifyRequest, name: string) => cookiesOf(request, nameOf(name))
  const set = (reply: FastifyReply, name: string, value: string, seconds: number) =>
    setCookie(reply, nameOf(name), `${value}; Max-Age=${seconds}; ${attributes}`)
  /** The request's cookies of a family, oldest first, as browsers send them (RFC 6265 §5.4). */
  const names = (request: FastifyRequest, { pattern }: Pick<CookieFamily, 'pattern'>) =>
    cookieNames(request)
      .filter(name => name.startsWith(nameOf('')))
      .map(name => name.slice(nameOf('').length))
      .filter(name => pattern.test(name))

  return {
    read,
    names,
    /** @param seconds 0 clears the cookie */
    set,
    /**
     * Sets another cookie of a family. The oldest ones are cleared, or the browser's headers would grow too
     * long for any server.
     */
    add: (request: FastifyRequest, reply: FastifyReply, family: CookieFamily, added: Cookie) => {
      const bytes = (name: string) =>
        read(request, name).reduce((sum, value) => sum + name.length + value.length, 0)
      const older = names(request, family)
      let total = older.reduce((sum, name) => sum + bytes(name), added.name.length + added.value.length)
      for (let count = older.length + 1; count > family.max || total > family.maxBytes; count--) {
        const oldest = older.shift()
        if (oldest === undefined) break
        total -= bytes(oldest)
        set(reply, oldest, '', 0)
      }
      set(reply, added.name, added.value, added.seconds)
    },
  }
}

/**
 * Cookies of the same purpose, one for each tab: under one name, two that are set at once would replace each
 * other.
 */
export interface CookieFamily {
  readonly pattern: RegExp
  /** Maximum number of these cookies in one browser. */
  readonly max: number
  /** Maximum length of all their names and values together. */
  readonly maxBytes: number
}

interface Cookie {
  readonly name: string
  readonly value: string
  readonly seconds: number
}

export type SignOnCookies = ReturnType<typeof signOnCookies>

/**
 * Remembers the provider at which this browser's session began: it is asked silently when single sign-on
 * begins again (X6, docs/decisions/0032). The cookie is no proof of anything, and anyone may read and change
 * it.
 */
export interface LastProvider {
  remember(reply: FastifyReply, provider: string): void
  /**
   * Forgets the provider, so that there is only one silent attempt. @returns its id, which may not belong to
   * any provider
   */
  take(request: FastifyRequest, reply: FastifyReply): string | undefined
}

const cookie = 'CARREL-PROVIDER'
/** Seconds for which the provider is remembered after a login: 30 days. */
const lifetime = 30 * 86_400

export const createLastProvider = (cookies: SignOnCookies): LastProvider => ({
  remember: (reply, provider) => cookies.set(reply, cookie, provider, lifetime),
  take: (request, reply) => {
    const [provider] = cookies.read(request, cookie)
    if (provider !== undefined) cookies.set(reply, cookie, '', 0)
    return provider
  },
})
