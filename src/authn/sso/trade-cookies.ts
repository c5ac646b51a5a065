import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CookieFamily, SignOnCookies } from './cookies.ts'

/**
 * The tickets of finished logins that this browser may trade for tokens (X2): a cookie for each, because several tabs may
 * return from a provider at once.
 */
export interface TradeCookies {
  /** Sets the ticket's cookie, and clears the oldest if there are too many. */
  add(request: FastifyRequest, reply: FastifyReply, ticket: string, seconds: number): void
  /** The newest first: one that was left behind doesn't come before what the browser did last. */
  tickets(request: FastifyRequest): readonly string[]
  clear(reply: FastifyReply, ticket: string): void
}

const family: CookieFamily = { pattern: /^CARREL-SSO-TRADE-.{8}$/, max: 5, maxBytes: 1_000 }

export function createTradeCookies(cookies: SignOnCookies): TradeCookies {
  const nameOf = (ticket: string) => `CARREL-SSO-TRADE-${ticket.slice(0, 8)}`
  return {
    add: (request, reply, ticket, seconds) =>
      cookies.add(request, reply, family, { name: nameOf(ticket), value: ticket, seconds }),
    // A client that is no browser may send any number.
    tickets: request =>
      cookies
        .names(request, family)
        .slice(-family.max)
        .flatMap(name => cookies.read(request, name).slice(0, 1))
        .filter(isTicket)
        .toReversed(),
    clear: (reply, ticket) => cookies.set(reply, nameOf(ticket), '', 0),
  }
}

/** As `Tickets` makes them. */
export const isTicket = (text: string): boolean => /^[\w-]{43}$/.test(text)
