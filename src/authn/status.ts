import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SpecialGroupConfig } from '../config/config.ts'
import { reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { firstPage, halPage, type PageRequest, readPage } from '../http/hal.ts'
import { sendJson } from '../http/json-body.ts'
import { type Query, singleParameters } from '../http/parameters.ts'
import { epersonBody, groupBody } from '../http/resources/people.ts'
import { type Awaitable, andThen } from '../lib/awaitable.ts'
import { memo } from '../lib/memo.ts'
import { type Group, type LoginMethod, passwordMethod, twoFactorMethod } from '../model/accounts.ts'
import type { Caller } from '../model/caller.ts'
import type { Accounts } from '../model/people.ts'
import { authenticated } from './authenticate.ts'
import type { Trade } from './logins-under-way.ts'
import type { Offer } from './passkey-offer.ts'

/** DSpace's clients know a password with a second factor as a password. */
const methodShown = (method: LoginMethod): LoginMethod =>
  method === twoFactorMethod ? passwordMethod : method

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly people: Accounts
  readonly addresses: Addresses
  readonly offer: Pick<Offer, 'challengeNow'>
  readonly config: SpecialGroupConfig
  readonly trade: Trade | undefined
  readonly asksAgreement: boolean
}

/** `GET /api/authn/status` and its page of special groups (S1–S4). */
export function statusRoutes(app: FastifyInstance, parts: Parts): void {
  const { people, addresses, config, offer, trade } = parts
  const self = `${addresses.authn}/status`

  /**
   * The body of one of the most frequent answers. A caller is the same object until something about them
   * changes (`authenticate`), so the body is serialized once.
   */
  const statusOf = memo((caller: Caller) => JSON.stringify(statusBody(caller)))

  function statusBody(caller: Caller) {
    const eperson = caller.kind === 'anonymous' ? null : caller.session.eperson
    return {
      okay: true,
      authenticated: eperson !== null,
      authenticationMethod: caller.kind === 'anonymous' ? null : methodShown(caller.method),
      type: 'status',
      _links: {
        ...(eperson ? { eperson: { href: addresses.eperson(eperson.uuid) } } : {}),
        specialGroups: { href: `${self}/specialGroups` },
        self: { href: self },
      },
      _embedded: {
        ...(eperson ? { eperson: epersonBody(eperson, addresses, parts.asksAgreement) } : {}),
        specialGroups: groupPage(caller.specialGroups, firstPage),
      },
    }
  }

  const groupPage = (groups: readonly Group[], page: PageRequest) =>
    halPage(
      'specialGroups',
      groups.map(group => groupBody(group, { addresses, config })),
      page,
      `${self}/specialGroups`,
    )

  /**
   * The caller, or the eperson of a finished single sign-on: clients ask here whether it worked before they
   * exchange the cookie for a token (X2).
   */
  function callerOf(request: FastifyRequest): Awaitable<Caller> {
    const { caller } = request
    if (caller.kind !== 'anonymous' || trade === undefined) return caller
    return trade
      .waiting(request)
      .then(waiting =>
        waiting
          ? authenticated(people, { ...waiting, ends: Number.POSITIVE_INFINITY }, caller.specialGroups)
          : caller,
      )
  }

  routesOf(app).get('/status', route('showStatus', reads('anybody', 'any')), (request, reply) => {
    const send = (caller: Caller): Awaitable<FastifyReply> =>
      caller.kind === 'anonymous'
        ? Promise.resolve(offer.challengeNow()).then(ways =>
            sendJson(reply.header('www-authenticate', ways), statusOf(caller)),
          )
        : sendJson(reply, statusOf(caller))
    return andThen(callerOf(request), send)
  })
  routesOf(app).get(
    '/status/specialGroups',
    route('listSpecialGroups', reads('anybody', 'any')),
    async request => {
      const query = request.query as Query
      singleParameters(query, ['page', 'size'])
      return groupPage((await callerOf(request)).specialGroups, readPage(query))
    },
  )
}
