import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { type Body, changes, jsonOf, reads } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { bodyChecks } from '../../http/check-body.ts'
import { clientOf } from '../../http/connection.ts'
import { contractsIn, type Routes, routesOf } from '../../http/contract.ts'
import { halPage, readPage } from '../../http/hal.ts'
import { exactBody, requireType } from '../../http/json-body.ts'
import { parseBoolean, type Query, singleParameters } from '../../http/parameters.ts'
import { requireState, stale } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { ImportError } from '../../import/import-error.ts'
import { createFairQueue } from '../../lib/fair-queue.ts'
import { parseExact } from '../../lib/json.ts'
import { pointer } from '../../lib/json-pointer.ts'
import { type AuditEvent, detached } from '../../model/audit-events.ts'
import { declaredOf, entityTag, withDeclared } from '../../model/declared.ts'
import type { Entity } from '../../model/entities.ts'
import type { Process } from '../../model/processes.ts'
import type { Entities, RecordEntity } from '../../storage/entities.ts'
import { type Misfits, misfitsInWords, misfitsOf, reliedOn } from '../misfits.ts'
import { type Reshaping, reshaped } from '../reshape-fields.ts'
import {
  declaredAfter,
  fieldOf,
  known,
  lookAtRelations,
  type NamesInRules,
  requireOwn,
  type Warning,
  withKnownReaders,
} from './declarations.ts'
import { describedEntity, entityAddress, entityBody } from './entity-body.ts'
import type { Imports } from './imports.ts'
import { putEntity } from './put-entity.ts'
import { namingReaders, refused } from './refused.ts'
import { type Wanted, wantedIn } from './wanted.ts'

const route = contractsIn(() => import('./contracts.ts'))
const checked = bodyChecks(() => import('./contracts.ts'), 'entity-refused')
const toAdministrators = reads('administrator', 'administration')
const byAdministrators = (body: Body) => changes('administrator', 'administration', body)

interface Parts {
  readonly people: NamesInRules
  readonly addresses: Addresses
  readonly entities: Entities
  readonly config: Config
  readonly imports: Imports
}

/** Maximum size of an entity's description in bytes: it may have 1,900 fields. */
const bodyLimit = 256 * 1024

/** Number of attempts at a change, if others change the entity at the same time. */
const maxAttempts = 10

/** Maximum number of requests that wait while another table is examined, and the time in ms that they wait. */
const maxExposing = 10
const maxWait = 60_000

const json = 'application/json'
const mergeBody: Body = { types: ['application/merge-patch+json', json], limit: bodyLimit, optional: false }

type Route = { Params: { name: string } }

/**
 * `GET|PUT|PATCH|DELETE {api}/admin/entities…`: descriptions of entities (EA1 to EA4), below a scope for
 * administrators.
 */
export function entityRoutes(app: FastifyInstance, parts: Parts): void {
  // Each handler checks which media types it takes.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body))
  const routes = routesOf(app)
  showRoutes(routes, parts)
  putRoute(routes, parts)
  changeRoute(routes, parts)
  changeFieldsRoute(routes, parts)
  dropRoute(routes, parts)
}

const eventFor = (request: FastifyRequest, event: AuditEvent['event'], name: string) =>
  eventOf(request.caller, request, { event, outcome: 'success', object: name })

function showRoutes(routes: Routes, parts: Parts): void {
  const { addresses, entities } = parts
  routes.get('/', route('listEntities', toAdministrators), async request => {
    const query = request.query as Query
    singleParameters(query, ['page', 'size'])
    const all = await entities.all()
    const sorted = [...all.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))
    // Entities outside the page are not described: each may have 1,900 fields.
    const page = halPage('entities', sorted, readPage(query), `${addresses.api}/admin/entities`)
    const bodies = page._embedded.entities?.map(entity => entityBody(entity, all, addresses)) ?? []
    return { ...page, _embedded: { entities: bodies } }
  })

  routes.get<Route>('/:name', route('showEntity', toAdministrators), async (request, reply) => {
    singleParameters(request.query as Query, [])
    const { tag, body } = await describedEntity(parts, request.params.name)
    return reply.header('etag', tag).send(body)
  })
}

function putRoute(routes: Routes, parts: Parts): void {
  const { people, addresses, entities } = parts
  const exposing = createFairQueue({ max: 1, maxWaiting: maxExposing, maxWait })
  routes.put<Route>(
    '/:name',
    route('putEntity', byAdministrators(jsonOf(bodyLimit))),
    async (request, reply) => {
      const { name } = request.params
      singleParameters(request.query as Query, [])
      requireType(request, [json])
      const { isNew, warnings } = await putEntity(
        { entities, people, examine: work => exposing.run(clientOf(request), work) },
        {
          name,
          body: exactBody(request, parseExact),
          headers: request.headers,
          eventFor: event => eventFor(request, event, name),
        },
      )
      const { tag, body } = await describedEntity(parts, name)
      if (isNew) reply.code(201).header('location', entityAddress(addresses, name))
      return reply.header('etag', tag).send({ ...body, ...(warnings.length > 0 && { warnings }) })
    },
  )
}

function changeRoute(routes: Routes, parts: Parts): void {
  const { people, entities } = parts
  routes.patch<Route>(
    '/:name',
    route('changeEntity', byAdministrators(mergeBody)),
    async (request, reply) => {
      const { name } = request.params
      const isPreview = readPreview(request)
      requireType(request, ['application/merge-patch+json', json])
      const given = wantedIn(await checked('changeEntity', exactBody(request, parseExact)), name)
      const wanted = await withKnownReaders(given, people)
      const { collations } = wanted
      if (collations && isPreview)
        throw refused('/collations', 'Other collations fit all records; only declarations have a preview.')
      if (collations) {
        const entity = own(request, await entities.all(), name)
        const process = await collate(parts, request, entity, { ...wanted, collations })
        if (process) return parts.imports.send(reply, process)
      }
      let misfits: readonly Misfits[] = []
      let warnings: readonly Warning[] = []
      await again(request, async () => {
        const all = await entities.all()
        const entity = own(request, all, name)
        const declared = declaredAfter(wanted, entity, all)
        if (JSON.stringify(declared) === JSON.stringify(declaredOf(entity))) return 'declared'
        const after = withDeclared(entity, declared)
        const before = entity.declaredFields ?? []
        misfits = await misfitsOf(after, before, all, entities)
        warnings = await lookAtRelations(entities, entity, declared.relations, entity.relations, all)
        if (isPreview) return 'declared'
        requireFits(misfits, after)
        const event = eventFor(request, 'entity.change', name)
        const relies = reliedOn(after, before, all)
        return namingReaders(() => entities.declare(name, declared, entityTag(entity), event, relies))
      })
      const { tag, body } = await describedEntity(parts, name)
      const more = warnings.length > 0 ? { warnings } : {}
      if (isPreview) return reply.header('etag', tag).send({ misfits, ...more })
      return reply.header('etag', tag).send({ ...body, ...more })
    },
  )
}

function changeFieldsRoute(routes: Routes, { config, entities, imports }: Parts): void {
  routes.post<Route>(
    '/:name/fields',
    route('changeFields', byAdministrators(jsonOf(bodyLimit))),
    async (request, reply) => {
      const { name } = request.params
      const isPreview = readPreview(request)
      requireType(request, [json])
      const change = (await checked('changeFields', exactBody(request, parseExact))) as Reshaping
      const all = await entities.all()
      const entity = own(request, all, name)
      if (entity.source.kind !== 'records')
        throw new Problem('entity-conflict', `${name} shows a table; its fields are the columns of that.`)
      try {
        reshaped(entity as RecordEntity, change, all)
      } catch (error) {
        if (error instanceof ImportError) throw refused('', `${error.message}.`)
        throw error
      }
      const work = { kind: 'reshape', name, change, preview: isPreview } as const
      const process = await imports.begin(
        request,
        {
          config,
          file: '',
          format: null,
          work,
          event: detached(eventFor(request, 'entity.change', name)),
        },
        null,
        { mode: 'fields', ...(isPreview && { preview: 'true' }) },
      )
      return imports.send(reply, process)
    },
  )
}

function dropRoute(routes: Routes, { entities }: Parts): void {
  routes.delete<Route>('/:name', route('dropEntity', byAdministrators('unused')), async (request, reply) => {
    const { name } = request.params
    singleParameters(request.query as Query, [])
    await again(request, async () => {
      const entity = own(request, await entities.all(), name)
      const done = await entities.drop(name, eventFor(request, 'entity.drop', name), entityTag(entity))
      return done === false ? 'missing' : done
    })
    return reply.code(204).send()
  })
}

/** Repeats a change until no other one interferes. @throws Problem 412 if the client sent If-Match */
async function again(request: FastifyRequest, change: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const done = await change()
    // If the entity is missing, the next attempt reports that.
    if (done !== 'changed' && done !== 'missing') return
    if (request.headers['if-match'] !== undefined) throw stale('entity')
  }
  throw new Problem('busy', 'Other requests keep changing the entity. Try again.', {
    headers: { 'retry-after': '1' },
  })
}

function readPreview(request: FastifyRequest): boolean {
  const { preview } = singleParameters(request.query as Query, ['preview'])
  return preview !== undefined && parseBoolean('preview', preview)
}

/** @throws Problem 422 at the first declaration that records don't fit, with all of them */
function requireFits(misfits: readonly Misfits[], { name }: Entity): void {
  const [first] = misfits
  if (!first) return
  throw refused(
    pointer('fields', first.field, first.constraint),
    `The records of ${name} don’t fit: ${misfits.slice(0, 5).map(misfitsInWords).join('; ')}. Change them first.`,
    { misfits },
  )
}

/**
 * Finds an entity to change. @throws Problem 404; 409 for a built-in one; 412 if it isn't in the state that
 * the client expects
 */
function own(request: FastifyRequest, all: ReadonlyMap<string, Entity>, name: string): Entity {
  const entity = known(all, name)
  requireOwn(name)
  requireState(request.headers, entityTag(entity), 'entity')
  return entity
}

/**
 * Sorts texts of an imported entity by other languages. All records are written again, which takes a while.
 * @returns undefined if the texts are already sorted that way
 * @throws Problem 422 for a field that can't have a collation
 */
async function collate(
  { config, imports }: Pick<Parts, 'config' | 'imports'>,
  request: FastifyRequest,
  entity: Entity,
  wanted: Wanted & { readonly collations: ReadonlyMap<string, string | null> },
): Promise<Process | undefined> {
  const { collations, ...others } = wanted
  const { name } = entity
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw refused('/collations', `Other collations take a while: change ${other} by a request of its own.`)
  if (entity.source.kind !== 'records')
    throw refused('/collations', `${name} shows a table; its text sorts by code point.`)
  for (const [field, tag] of collations) {
    const member = pointer('collations', field)
    const { type } = fieldOf(entity, field, member)
    if (tag !== null && type !== 'text')
      throw refused(member, `${name}.${field} is ${type}, and only text has a collation.`)
  }
  const isSame = [...collations].every(
    ([field, tag]) => (entity.fields.find(one => one.name === field)?.collation ?? null) === tag,
  )
  if (isSame) return undefined
  const work = { kind: 'collate', name, collations } as const
  const event = detached(eventFor(request, 'entity.change', name))
  return imports.begin(request, { config, file: '', format: null, work, event }, null, { mode: 'collate' })
}
