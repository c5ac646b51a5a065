import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignOnCookies } from './cookies.ts'

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
