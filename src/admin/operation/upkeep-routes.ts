import type { FastifyInstance, FastifyRequest } from 'fastify'
import { accessTokenBody } from '../../authn/access-token-routes.ts'
import type { Config } from '../../config/config.ts'
import { type Body, changes, reads } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { halPart, readPage, windowOf } from '../../http/hal.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import type { Tally } from '../../lib/tally.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { AccessTokens } from '../../storage/statements/access-tokens.ts'
import type { Secrets, Sessions } from '../../storage/statements/sessions.ts'
import { listBackups } from '../backup/manifest.ts'
import { manifestsAt } from '../backup/open-backups.ts'
import { figures } from '../metrics/figures.ts'
import type { ServiceParts } from '../metrics/service-metrics.ts'
import type { Processes } from '../processes/statements.ts'

const route = contractsIn(() => import('./contracts.ts'))
const to = 'administer the service'
/** Access of the routes of operators. */
export const toOperators = reads('administrator', 'administration', { to })
export const byOperators = (body: Body) => changes('administrator', 'none', body, { to })

interface Parts {
  readonly accessTokens: Pick<AccessTokens, 'page'>
  readonly sessions: Pick<Sessions, 'endAll'>
  readonly addresses: Addresses
  readonly config: Pick<Config, 'tokenSecrets'>
  readonly secrets: Pick<Secrets, 'rotate'>
}

/** The event of an action that concerns no particular eperson. */
export const eventFor = (
  request: FastifyRequest,
  event: AuditEvent['event'],
  object?: string,
): AuditEvent => ({
  ...eventOf(request.caller, request, { event, outcome: 'success', ...(object !== undefined && { object }) }),
  eperson: null,
})

/** Actions of an operator on all logins: access tokens, sessions, the signing secret (OP5). */
export function upkeepRoutes(app: FastifyInstance, parts: Parts): void {
  const routes = routesOf(app)
  const { accessTokens, addresses, config, secrets, sessions } = parts

  routes.get('/tokens', route('listAllAccessTokens', toOperators), async request => {
    const page = readPage(request.query as Query)
    const { rows, total } = await accessTokens.page(windowOf(page))
    const tokens = rows.map(one => ({
      ...accessTokenBody(one, `${addresses.eperson(one.eperson)}/tokens/${one.id}`),
      eperson: one.eperson,
    }))
    return halPart('tokens', tokens, total, page, `${addresses.api}/admin/tokens`)
  })

  routes.delete('/sessions', route('endAllSessions', byOperators('ignored')), async (request, reply) => {
    await sessions.endAll(eventFor(request, 'session.end', 'everybody'))
    return reply.code(204).send()
  })

  routes.post('/secret/rotate', route('rotateSecret', byOperators('ignored')), async request => {
    if (config.tokenSecrets.length > 0)
      throw new Problem(
        'secret-set',
        'CARREL_TOKEN_SECRET sets the secret. The operator writes a new one and a comma before the old one there.',
      )
    return { accepted: await secrets.rotate(eventFor(request, 'secret.rotate')) }
  })
}

interface StateParts extends Omit<ServiceParts, 'config'> {
  readonly config: ServiceParts['config'] & Pick<Config, 'backups'>
  readonly processes: Pick<Processes, 'find'>
  readonly tally: Tally
}

/** The state of the service and of its backups (OP3, OP4). */
export function stateRoutes(app: FastifyInstance, parts: StateParts): void {
  const { config, processes, tally } = parts
  routesOf(app).get('/figures', route('showFigures', toOperators), async ({ query }, reply) => {
    singleParameters(query as Query, [])
    return reply.header('cache-control', 'no-store').send(await figures(tally, parts))
  })

  routesOf(app).get('/backups', route('listBackups', toOperators), async ({ query }) => {
    singleParameters(query as Query, [])
    const { rows } = await processes.find(
      { kind: 'backup', states: ['scheduled', 'running'], order: { by: 'id', falling: true } },
      { offset: 0, limit: 1 },
    )
    return {
      configured: config.backups !== null,
      process: rows[0]?.id ?? null,
      backups: config.backups === null ? [] : await listBackups(await manifestsAt(config.backups)),
    }
  })
}
