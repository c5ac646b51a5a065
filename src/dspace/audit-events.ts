import type { FastifyInstance, FastifyRequest } from 'fastify'
import { reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPart, readPage, windowOf } from '../http/hal.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { epersonBody } from '../http/resources/people.ts'
import type { Repository } from '../items/statements/repository.ts'
import type { Repeats } from '../model/audit-events.ts'
import { viewerOf } from '../model/caller.ts'
import { type Condition, listOf } from '../model/plan.ts'
import { rowsIn } from '../model/record-format.ts'
import type { People } from '../people/statements.ts'
import type { Entities } from '../storage/entities.ts'
import { createSubjects, type Subject } from './audit-subjects.ts'

const route = contractsIn(() => import('./system-contracts.ts'))
const toAdministrators = reads('administrator', 'administration')

interface Parts {
  readonly people: Pick<People, 'eperson' | 'group'>
  readonly addresses: Addresses
  readonly asksAgreement: boolean
  readonly entities: Entities
  readonly repository: Repository
}

/** The fields that are read of an event in the trail. */
interface Row {
  readonly id: number
  readonly time: string
  readonly event: string
  readonly outcome: string
  readonly eperson: string | null
  readonly actor: string | null
  readonly object: string | null
  readonly reason: string | null
  readonly changes: unknown
  readonly count: number
  readonly repeats: Repeats | null
}

const maxRecords = 100

/**
 * `/api/system/auditevents`, for the page of that name in DSpace's interface: the audit trail, newest first.
 * The events are those of the entity `audit-events` in DSpace's words: who acted, and on whom or what.
 */
export function auditEventRoutes(app: FastifyInstance, parts: Parts): void {
  const routes = routesOf(app)
  type Route = { Params: { id: string } }
  const { people, addresses, asksAgreement, entities } = parts
  const subjects = createSubjects(parts)
  const path = '/system/auditevents'
  const all = `${addresses.api}${path}`

  async function find(request: FastifyRequest, where: Condition | null, window: Window) {
    const entity = (await entities.all()).get('audit-events')
    if (!entity) throw new Error('there is no entity audit-events')
    const descending = single(request.query as Query, 'sort')?.toLowerCase() !== 'timestamp,asc'
    const plan = listOf(entity, { order: [{ field: 'id', descending }], ...window, total: true })
    const listing = await entities.list(
      { ...plan, where },
      viewerOf(request.caller),
      'json',
      clientOf(request),
    )
    const rows = await rowsIn<Row>(listing.body)
    return { rows, total: listing.total ?? rows.length }
  }

  async function page(request: FastifyRequest, where: Condition | null, self: string) {
    const asked = readPage(request.query as Query, maxRecords)
    const { rows, total } = await find(request, where, windowOf(asked))
    const about = await subjects.of(rows, request)
    const bodies = rows.map((row, at) => bodyOf(all, row, about[at]))
    return halPart('auditevents', bodies, total, asked, self)
  }

  /** @throws Problem 401, 403 or 404 */
  async function one(request: FastifyRequest): Promise<Row> {
    const { id } = request.params as Route['Params']
    const where = /^\d{1,15}$/.test(id) ? numbered(Number(id)) : none
    const [row] = (await find(request, where, { offset: 0, limit: 1 })).rows
    if (!row) throw new Problem('not-found', 'There is no event with this id.')
    return row
  }

  routes.get(path, route('listAuditEvents', toAdministrators), async request => {
    return page(request, null, all)
  })
  routes.get(`${path}/search/findByObject`, route('searchAuditEvents', toAdministrators), async request => {
    const query = request.query as Query
    const where = await subjects.about(single(query, 'object') ?? '')
    return page(request, where, `${all}/search/findByObject`)
  })
  routes.get<Route>(`${path}/:id`, route('showAuditEvent', toAdministrators), async request =>
    bodyOf(all, await one(request)),
  )
  routes.get<Route>(
    `${path}/:id/eperson`,
    route('showEpersonOfAuditEvent', toAdministrators),
    async (request, reply) => {
      const { actor } = await one(request)
      const eperson = actor === null ? undefined : await people.eperson(actor)
      return eperson ? epersonBody(eperson, addresses, asksAgreement) : reply.code(204).send()
    },
  )
  // The object of an event may be gone, or unknown to DSpace; the event still names it.
  for (const part of ['object', 'subject'])
    routes.get<Route>(
      `${path}/:id/${part}`,
      route('showPartOfAuditEvent', toAdministrators, part),
      async (request, reply) => {
        await one(request)
        return reply.code(204).send()
      },
    )
}

/** @param all the address of the list */
const bodyOf = (all: string, row: Row, subject?: Subject) => {
  const { id, time, event, outcome, actor, object, reason, changes, count, repeats } = row
  const self = `${all}/${id}`
  const times = repeats === null ? '' : `, from ${repeats.first} to ${repeats.last}`
  const why = [
    ...(outcome === 'success' ? [] : [outcome]),
    ...(reason === null ? [] : [reason]),
    ...(count === 1 ? [] : [`${count} times${times}`]),
  ]
  const what = [
    ...(object === null ? [] : [object]),
    ...(changes === null ? [] : [JSON.stringify(changes)]),
    ...(repeats?.objects ? [JSON.stringify(repeats.objects)] : []),
  ]
  const text = (parts: readonly string[]) => (parts.length === 0 ? null : parts.join('; '))
  return {
    id: String(id),
    epersonUUID: actor,
    subjectUUID: subject?.uuid ?? null,
    subjectType: subject?.type ?? null,
    objectUUID: null,
    objectType: null,
    eventType: event,
    timeStamp: time,
    detail: text([...why, ...what]),
    metadataField: null,
    // The interface also shows these two of an event.
    value: text(what),
    action: text(why),
    authority: null,
    confidence: null,
    place: null,
    checksum: null,
    type: 'auditevent',
    _links: {
      eperson: { href: `${self}/eperson` },
      object: { href: `${self}/object` },
      subject: { href: `${self}/subject` },
      self: { href: self },
    },
  }
}

type Window = ReturnType<typeof windowOf>

const numbered = (id: number): Condition => ({
  kind: 'compare',
  field: { name: 'id', path: [], type: 'integer' },
  operator: '=',
  value: { kind: 'number', text: String(id) },
  negated: false,
})

const none: Condition = { kind: 'none' }
