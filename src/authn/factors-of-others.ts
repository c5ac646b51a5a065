import type { FastifyInstance, FastifyRequest } from 'fastify'
import { changes, jsonOf, reads, refusesShortLived } from '../http/access.ts'
import { eventOf } from '../http/audit.ts'
import { bodyChecks } from '../http/check-body.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { jsonBody } from '../http/json-body.ts'
import { Problem } from '../http/problems.ts'
import type { Eperson } from '../model/accounts.ts'
import { type FactorParts, pageOf } from './factor-page.ts'

const contracts = () => import('./factor-contracts.ts')
const route = contractsIn(contracts)
const checked = bodyChecks(contracts, 'factor-refused')

/** `/api/eperson/epersons/{uuid}/factors`: administrators see and reset the factors of others (L17). */
export function factorRoutesOfOthers(app: FastifyInstance, parts: FactorParts): void {
  type Route = { Params: { uuid: string } }
  const { addresses, factors, people, secondFactor, sessions, tellOwner } = parts
  const to = 'see or reset the factors of others'

  async function wanted({ params }: FastifyRequest<Route>): Promise<Eperson> {
    const eperson = await people.eperson(params.uuid.toLowerCase())
    if (!eperson) throw new Problem('not-found', 'There is no eperson with this UUID.')
    return eperson
  }

  routesOf(app).get(
    '/eperson/epersons/:uuid/factors',
    route('listFactorsOf', refusesShortLived(reads('administrator', 'people', { to }))),
    async request => {
      const eperson = await wanted(request)
      const session = await sessions.of(eperson.uuid)
      const isRequired = secondFactor.isRequired({ administrator: session?.administrator === true })
      const self = `${addresses.eperson(eperson.uuid)}/factors`
      return pageOf(parts, await factors.of(eperson.uuid), eperson, isRequired, request, self)
    },
  )
  routesOf(app).post(
    '/eperson/epersons/:uuid/factors/reset',
    route('resetFactorsOf', changes('administrator', 'none', jsonOf(), { to, onBehalf: 'refused' })),
    async (request, reply) => {
      const { proof } = await checked('resetFactorsOf', jsonBody(request))
      const { caller } = request
      const { uuid } = await wanted(request)
      // Otherwise a stolen session could get rid of the factors that protect it.
      if (uuid === caller.session.eperson.uuid)
        throw new Problem('access-denied', 'Administrators remove their own factors one by one.')
      await secondFactor.prove(caller, proof, 'factor.reset', request)
      const event = eventOf(caller, request, { event: 'factor.reset', outcome: 'success' })
      await factors.reset(uuid, { ...event, eperson: uuid })
      tellOwner(uuid, 'reset')
      return reply.code(204).send()
    },
  )
}
