import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { providersIn } from '../../config/providers.ts'
import { jsonOf } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { bodyChecks } from '../../http/check-body.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { halPage, halPart, readPage, windowOf } from '../../http/hal.ts'
import { jsonObject } from '../../http/json-body.ts'
import { badParameter, type Query, singleParameters } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { OperatorError } from '../../lib/errors.ts'
import { readUuid } from '../../lib/uuids.ts'
import type { Eperson } from '../../model/accounts.ts'
import type { People } from '../../people/statements.ts'
import { WrongProvider, wantedLink } from '../../sso/explain.ts'
import type { Identities, SubjectOf } from '../../storage/statements/identities.ts'
import { byOperators, eventFor, toOperators } from './upkeep-routes.ts'

const route = contractsIn(() => import('./contracts.ts'))
const checked = bodyChecks(() => import('./contracts.ts'), 'change-refused')

interface Parts {
  readonly people: Pick<People, 'eperson'>
  readonly addresses: Addresses
  readonly config: Pick<Config, 'singleSignOn'>
  readonly identities: Pick<Identities, 'link' | 'listIdentities' | 'pageOfIdentities' | 'unlink'>
}

const refused = (why: string) => new Problem('change-refused', why)

/** `{api}/admin/sso/…`: the providers, and the identities that epersons have there (OP5). */
export function identityRoutes(app: FastifyInstance, { people, addresses, config, identities }: Parts): void {
  const routes = routesOf(app)
  type One = { Params: { provider: string; uuid: string } }
  const list = `${addresses.api}/admin/sso/identities`
  const url = '/sso/identities/:provider/:uuid'

  routes.get('/sso/providers', route('listProviders', toOperators), async request => {
    singleParameters(request.query as Query, [])
    return {
      providers: providersIn(config.singleSignOn).map(provider => ({
        id: provider.id,
        name: provider.name,
        kind: provider.kind,
        method: provider.scheme,
        federation: provider.kind === 'saml' && provider.federation !== undefined,
      })),
    }
  })

  routes.get('/sso/identities', route('listIdentities', toOperators), async request => {
    const query = request.query as Query
    const { eperson } = singleParameters(query, ['eperson', 'page', 'size'])
    const uuid = eperson === undefined ? undefined : readUuid(eperson)
    if (eperson !== undefined && uuid === undefined)
      throw badParameter('eperson', eperson, 'The parameter eperson must be the UUID of an eperson.')
    const page = readPage(query)
    if (uuid !== undefined) return halPage('identities', await identities.listIdentities(uuid), page, list)
    const { rows, total } = await identities.pageOfIdentities(windowOf(page))
    return halPart('identities', rows, total, page, list)
  })

  routes.put<One>(url, route('linkIdentity', byOperators(jsonOf())), async (request, reply) => {
    const { provider, uuid } = request.params
    const eperson = await people.eperson(readUuid(uuid) ?? '')
    if (!eperson) throw new Problem('not-found', 'There is no eperson with this UUID.')
    const subject = await subjectIn(jsonObject(request), provider)
    const linked = await identities.link(eperson.email, subject, eventFor(request, 'eperson.link', provider))
    if (linked === 'taken')
      throw refused('This subject of the provider is another eperson. Remove that link first.')
    if (linked === 'other-subject')
      throw refused('The eperson is another subject of this provider. Remove that link first.')
    return reply.code(linked === 'changed' ? 201 : 200).send(await shown(eperson, subject))
  })

  routes.delete<One>(url, route('unlinkIdentity', byOperators('ignored')), async (request, reply) => {
    const { provider, uuid } = request.params
    const eperson = await people.eperson(readUuid(uuid) ?? '')
    const event = eventFor(request, 'eperson.unlink', provider)
    const changed = eperson && (await identities.unlink(eperson.email, provider, event))
    if (changed !== 'changed')
      throw new Problem('not-found', 'No eperson with this UUID has an identity at this provider.')
    return reply.code(204).send()
  })

  async function shown({ uuid }: Eperson, { provider, subject }: SubjectOf) {
    const found = (await identities.listIdentities(uuid)).find(one => one.provider === provider)
    if (found?.subject !== subject)
      throw new Problem('not-found', 'The link has been removed in the meantime.')
    return found
  }

  /** @throws Problem 404 if there is no such provider, 422 */
  async function subjectIn(body: unknown, provider: string): Promise<SubjectOf> {
    const { subject, entityId = null } = await checked('linkIdentity', body)
    const { singleSignOn } = config
    if (singleSignOn === null) throw new Problem('not-found', 'Single sign-on is not configured.')
    try {
      return wantedLink({ provider, subject, entityId }, singleSignOn)
    } catch (error) {
      if (error instanceof WrongProvider && error.parameter === 'provider')
        throw new Problem('not-found', `There is no such provider: it ${error.message}.`)
      if (error instanceof WrongProvider) throw refused(`entityId ${error.message}.`)
      if (error instanceof OperatorError)
        throw refused(`${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`)
      throw error
    }
  }
}
