import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { changes, jsonOf, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { bodyChecks } from '../http/check-body.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, readPage } from '../http/hal.ts'
import { jsonObject } from '../http/json-body.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { isAdministrator } from '../model/caller.ts'
import type { Alert, Alerts } from './alert-statements.ts'

const route = contractsIn(() => import('./system-contracts.ts'))
const checked = bodyChecks(() => import('./system-contracts.ts'), 'change-refused')
const toAnybody = reads('anybody', 'administration')
const byAdministrators = changes('administrator', 'administration', jsonOf(), { to: 'change the alert' })

interface Parts {
  readonly addresses: Addresses
  readonly alerts: Alerts
}

/**
 * `/api/system/systemwidealerts` (S5): a message that DSpace's interface shows on every page. There is one at most,
 * because the interface can edit one. Authentication reads whose sessions it allows (docs/decisions/0053).
 */
export function alertRoutes(app: FastifyInstance, { addresses, alerts }: Parts): void {
  const routes = routesOf(app)
  type Route = { Params: { id: string } }
  const path = '/system/systemwidealerts'
  const all = `${addresses.api}${path}`

  const bodyOf = ({ id, ...alert }: Alert) => ({
    alertId: id,
    ...alert,
    type: 'systemwidealert',
    _links: { self: { href: `${all}/${id}` } },
  })
  const page = (request: FastifyRequest, found: readonly Alert[], self: string) =>
    halPage('systemwidealerts', found.map(bodyOf), readPage(request.query as Query), self)

  routes.get(path, route('listAlerts', reads('administrator', 'administration')), async request => {
    return page(request, await alerts.all(), all)
  })
  routes.get(`${path}/search/active`, route('listActiveAlerts', toAnybody), async request =>
    page(
      request,
      (await alerts.all()).filter(({ active }) => active),
      `${all}/search/active`,
    ),
  )
  routes.get<Route>(`${path}/:id`, route('showAlert', toAnybody), async ({ caller, params }) => {
    const found = (await alerts.all()).find(({ id }) => String(id) === params.id)
    if (!found || (!found.active && !isAdministrator(caller))) throw none()
    return bodyOf(found)
  })
  const same = async (wanted: Omit<Alert, 'id'>) =>
    (await alerts.all()).find(({ id: _, ...there }) => isDeepStrictEqual(there, wanted))
  routes.post(path, route('addAlert', byAdministrators), async (request, reply) => {
    const event = eventOf(request.caller, request, { event: 'alert.change', outcome: 'success' })
    const wanted = await alertIn(request)
    // The interface's form saves when its switch is used, and adds the same alert again when its button is.
    const added = (await alerts.add(wanted, event)) ?? (await same(wanted))
    if (!added)
      throw new Problem(
        'change-refused',
        'There is an alert already; change that one, by PUT to its address.',
      )
    return reply.code(201).header('location', `${all}/${added.id}`).send(bodyOf(added))
  })
  routes.put<Route>(`${path}/:id`, route('changeAlert', byAdministrators), async request => {
    const event = eventOf(request.caller, request, { event: 'alert.change', outcome: 'success' })
    const id = /^\d{1,15}$/.test(request.params.id) ? Number(request.params.id) : -1
    const changed = await alerts.change({ id, ...(await alertIn(request)) }, event)
    if (!changed) throw none()
    return bodyOf(changed)
  })
}

const none = () => new Problem('not-found', 'There is no alert with this id.')

/** @throws Problem 422 */
async function alertIn(request: FastifyRequest): Promise<Omit<Alert, 'id'>> {
  const { message, allowSessions, active, countdownTo } = await checked('addAlert', jsonObject(request))
  // The interface's form sends null for fields that were never touched.
  return {
    message,
    allowSessions: allowSessions ?? 'all',
    active: active ?? false,
    countdownTo: countdown(countdownTo),
  }
}

/** @returns the time in RFC 3339 and UTC; null for none */
function countdown(given: string | null | undefined): string | null {
  if (!given) return null
  const time = given.length <= 40 ? Date.parse(given) : Number.NaN
  if (Number.isNaN(time) || Math.abs(time) > 253_402_300_799_999)
    throw new Problem('change-refused', 'countdownTo must be a time, such as 2026-12-24T18:00:00Z.')
  return new Date(time).toISOString()
}
