import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  keyIn,
  type Pending,
  type Trade,
  underWay,
  type Vouched as VouchedLogin,
} from '../authn/logins-under-way.ts'
import type { NewSessions } from '../authn/new-sessions.ts'
import type { SpecialGroups } from '../authn/special-groups.ts'
import type { Tickets } from '../authn/tickets.ts'
import { loginEvent } from '../http/audit.ts'
import { Problem } from '../http/problems.ts'
import type { ProviderSession } from '../model/identities.ts'
import type { Identities } from '../storage/statements/identities.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { SignOnAddresses } from './addresses.ts'
import type { CookieFamily, LastProvider, SignOnCookies } from './cookies.ts'
import type { Vouched } from './protocol.ts'
import { hasLogout, mayBeAskedSilently, type Provider } from './providers.ts'
import { isClean, matchingOf, readIdentity } from './read-identity.ts'
import { noteRefusal, refusals } from './refusals.ts'

/** The shared part of all protocols, after a provider has vouched for a user (X2, X3; docs/decisions/0010). */
export interface ProviderLogins {
  readonly trade: Trade
  /**
   * Finds the eperson, makes a session ready for this browser, and redirects it.
   * @param redirectUrl known to be allowed
   * @throws Problem 403 if there is no eperson for this identity
   */
  admit(
    vouched: Vouched,
    redirectUrl: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply>
  /** Sets a cookie and a link for the provider's own logout, after the logout of a session that began by `method`. */
  offerLogout(session: ProviderSession, method: string, reply: FastifyReply): Promise<void>
  /** @returns the session whose logout was offered to this browser, once */
  takeLogout(request: FastifyRequest, reply: FastifyReply): Promise<ProviderSession | undefined>
}

interface Parts {
  readonly sessions: Pick<Sessions, 'of'>
  readonly newSessions: NewSessions
  readonly addresses: SignOnAddresses
  readonly clock: Clock
  readonly cookies: SignOnCookies
  readonly lastProvider: LastProvider
  readonly providers: readonly Provider[]
  readonly identities: Identities
  readonly specialGroups: SpecialGroups
  readonly tickets: Tickets
}

/** A login that waits to be picked up, as its ticket holds it. If its key is no longer current, a logout has ended it. */
type Waiting = Pending<VouchedLogin>

/** Seconds for which a finished login, or an offered logout, waits for the browser. */
const patience = 60
const logoutCookie = 'CARREL-SSO-LOGOUT'

/** Finds who was vouched for. @throws Problem if they may not log in here */
async function recognized(
  { addresses, identities, newSessions, sessions }: Parts,
  vouched: Vouched,
  redirectUrl: string,
  request: FastifyRequest,
) {
  const { provider } = vouched
  const providerName = vouched.idp?.displayName ?? provider.name
  // Trying again forces a login: the provider knows this browser, and would send the same person.
  const ways = addresses.waysOn(provider.scheme, redirectUrl)
  const members = { ...ways, begin: addresses.force(provider.scheme, redirectUrl, provider.id) }
  const event = loginEvent(request, null, provider.scheme, provider.id)
  const { name, sid } = vouched.session
  const read =
    isClean(name) && isClean(sid ?? '')
      ? readIdentity(provider, vouched.attributes, vouched.idp)
      : 'the name of the session has control characters or invalid Unicode'
  if (typeof read === 'string') {
    noteRefusal(request.log, provider.id, read, vouched.names)
    await newSessions.fail(event)
    throw new Problem('account-refused', `Your account at ${providerName} may not log in here.`, { members })
  }
  const { identity, groups, emailIgnored } = read
  const found = await identities.recognize(identity, matchingOf(provider), event)
  const session = found.eperson && (await sessions.of(found.eperson.uuid))
  if (found.kind === 'refused' || !session) {
    const why = found.kind === 'refused' ? refusals[found.why] : refusals.disabled
    const noEmail = identity.email === null ? '; no e-mail address came' : ''
    noteRefusal(
      request.log,
      provider.id,
      `${why}${emailIgnored === null ? noEmail : `; the one that came is ignored: ${emailIgnored}`}`,
      vouched.names,
    )
    await newSessions.fail({ ...event, eperson: found.eperson?.uuid ?? null })
    throw new Problem(
      'account-refused',
      `${providerName} knows you, but you have no account here that this login can use.`,
      { members },
    )
  }
  return { session, groups }
}

/** Trades the tickets of finished logins for sessions. */
function createTrade(parts: Parts, tradeCookies: TradeCookies, providerOf: ProviderOf): Trade {
  const { sessions, clock, lastProvider, tickets } = parts
  const isOffered = ({ method, session }: Waiting) => providerOf(session)?.config.scheme === method

  return {
    waiting: async request => {
      for (const ticket of tradeCookies.tickets(request)) {
        const waiting = await tickets.read<Waiting>('trade', ticket)
        const session = waiting && (await sessions.of(waiting.uuid))
        if (session && isOffered(waiting) && Buffer.compare(session.sessionKey, keyIn(waiting)) === 0)
          return { session, method: waiting.method, sg: waiting.sg, begun: clock.now() }
      }
      return undefined
    },
    pickUp: async function* (request, reply) {
      for (const ticket of tradeCookies.tickets(request)) {
        const waiting = await tickets.take<Waiting>('trade', ticket)
        tradeCookies.clear(reply, ticket)
        if (waiting && isOffered(waiting)) yield waiting
      }
    },
    remember: (session, reply) => {
      const provider = providerOf(session)
      if (provider && mayBeAskedSilently(provider)) lastProvider.remember(reply, provider.config.id)
    },
    drop: async (request, reply) => {
      for (const ticket of tradeCookies.tickets(request)) {
        await tickets.take('trade', ticket)
        tradeCookies.clear(reply, ticket)
      }
      lastProvider.take(request, reply)
    },
  }
}

type ProviderOf = (session: Pick<ProviderSession, 'provider'>) => Provider | undefined

export function createProviderLogins(parts: Parts): ProviderLogins {
  const { addresses, cookies, specialGroups, tickets } = parts
  const tradeCookies = createTradeCookies(cookies)
  const providerOf: ProviderOf = ({ provider }) => parts.providers.find(one => one.config.id === provider)

  async function admit(
    vouched: Vouched,
    redirectUrl: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { provider } = vouched
    const { session, groups } = await recognized(parts, vouched, redirectUrl, request)
    const login: VouchedLogin = {
      uuid: session.eperson.uuid,
      method: provider.scheme,
      sg: specialGroups.ofLogin(provider.scheme, groups),
      session: { provider: provider.id, ...vouched.session },
    }
    const waiting = underWay(login, session.sessionKey)
    tradeCookies.add(request, reply, await tickets.issue('trade', waiting, patience), patience)
    return reply.redirect(redirectUrl, 303)
  }

  return {
    admit,
    trade: createTrade(parts, tradeCookies, providerOf),
    offerLogout: async (session, method, reply) => {
      const provider = providerOf(session)
      // The last session at a provider may be that of another device.
      if (provider?.config.scheme !== method || !(await hasLogout(provider, session))) return
      cookies.set(reply, logoutCookie, await tickets.issue('logout', session, patience), patience)
      reply.header('link', `<${addresses.logoutPage}>; rel="logout"`)
    },
    takeLogout: async (request, reply) => {
      const [name = ''] = cookies.read(request, logoutCookie)
      if (!isTicket(name)) return undefined
      const session = await tickets.take<ProviderSession>('logout', name)
      cookies.set(reply, logoutCookie, '', 0)
      return session
    },
  }
}

/**
 * The tickets of finished logins that this browser may trade for tokens (X2): a cookie for each, because
 * several tabs may return from a provider at once.
 */
interface TradeCookies {
  /** Sets the ticket's cookie, and clears the oldest if there are too many. */
  add(request: FastifyRequest, reply: FastifyReply, ticket: string, seconds: number): void
  /** Lists the tickets, newest first, so that an abandoned login isn't used before the latest one. */
  tickets(request: FastifyRequest): readonly string[]
  clear(reply: FastifyReply, ticket: string): void
}

const family: CookieFamily = { pattern: /^CARREL-SSO-TRADE-.{8}$/, max: 5, maxBytes: 1_000 }

function createTradeCookies(cookies: SignOnCookies): TradeCookies {
  const nameOf = (ticket: string) => `CARREL-SSO-TRADE-${ticket.slice(0, 8)}`
  return {
    add: (request, reply, ticket, seconds) =>
      cookies.add(request, reply, family, { name: nameOf(ticket), value: ticket, seconds }),
    // Limited, because a client that is no browser may send any number.
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

/** True if the text has the form of a name that `Tickets` makes. */
const isTicket = (text: string): boolean => /^[\w-]{43}$/.test(text)
