import type { FastifyInstance, FastifyRequest } from 'fastify'
import { changes, reads, refusesShortLived } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, readPage } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import type { Authenticated } from '../model/caller.ts'
import { keyOfSession } from '../model/sessions.ts'
import type { ListedSession, Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import { createSessionAge, type SessionLifetimes } from './session-age.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly clock: Clock
  readonly config: SessionLifetimes
  readonly sessions: Sessions
}

/** `/api/authn/sessions`: the caller's sessions (N1–N4, docs/decisions/0040). */
export function sessionRoutes(app: FastifyInstance, { addresses, clock, config, sessions }: Parts): void {
  const all = `${addresses.authn}/sessions`
  const age = createSessionAge(clock, config)

  async function ownOf(caller: Authenticated) {
    const listed = await sessions.list(caller.session)
    return listed
      .map(one => ({ ...one, expires: Math.min(one.expires, age.endOf(one.begun)) }))
      .filter(one => one.expires > clock.now())
      .map(one => bodyOf(one, caller))
  }
  const bodyOf = (one: ListedSession, caller: Authenticated) => ({
    // Unique for the eperson, and no secret: only the caller's own sessions are ever looked up by it.
    id: String(one.begun),
    current: one.begun === caller.begun,
    method: one.method,
    browser: one.browser,
    begun: inWords(one.begun),
    network: one.network,
    lastUsed: inWords(one.used),
    lastNetwork: one.used_network,
    expires: inWords(one.expires),
    type: 'session',
    _links: { self: { href: `${all}/${one.begun}` } },
  })

  routesOf(app).get(
    '/sessions',
    route('listSessions', refusesShortLived(reads('eperson', 'none', { onBehalf: 'refused' }))),
    async request => halPage('sessions', await ownOf(request.caller), readPage(request.query as Query), all),
  )
  routesOf(app).get(
    '/sessions/:id',
    route('showSession', refusesShortLived(reads('eperson', 'none', { onBehalf: 'refused' }))),
    async request => {
      const found = (await ownOf(request.caller)).find(({ id }) => id === request.params.id)
      if (!found) throw noSession()
      return found
    },
  )

  // The responses wait until the change is on disk. From then on, no node accepts a token of an ended
  // session.
  routesOf(app).delete(
    '/sessions',
    route('endOtherSessions', changes('eperson', 'none', 'ignored', { onBehalf: 'refused' })),
    async (request, reply) => {
      const { caller } = request
      await sessions.endOthers(caller.session.eperson.uuid, ownSession(caller), ended(request, 'others'))
      return reply.code(204).send()
    },
  )
  routesOf(app).delete(
    '/sessions/:id',
    route('endSession', changes('eperson', 'none', 'ignored', { onBehalf: 'refused' })),
    async (request, reply) => {
      const { caller } = request
      const { id } = request.params
      if (!/^[1-9]\d{0,14}$/.test(id)) throw noSession()
      const { uuid } = caller.session.eperson
      const event = ended(request, id)
      if (!(await sessions.end(uuid, Number(id), ownSession(caller), clock.certain(), event)))
        throw noSession()
      return reply.code(204).send()
    },
  )
}

/** The caller's own session, in the form by which the store recognizes it while it is alive. */
export const ownSession = ({ session, begun }: Pick<Authenticated, 'session' | 'begun'>) => ({
  begun,
  key: keyOfSession(session, begun),
})

const ended = (request: FastifyRequest, object: string) =>
  eventOf(request.caller, request, { event: 'session.end', outcome: 'success', object })

const inWords = (time: number) => new Date(time).toISOString()

const noSession = () => new Problem('not-found', 'You have no session with this id, or it has ended.')
