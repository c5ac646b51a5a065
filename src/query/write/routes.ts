import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { type Body, changes, jsonOf, rightTo } from '../../http/access.ts'
import { type Addresses, pathOf } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { clientOf } from '../../http/connection.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { requireType, sendJson } from '../../http/json-body.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import { requireState } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { Overloaded } from '../../lib/fair-queue.ts'
import { isObject, type Members, parseWritten } from '../../lib/json.ts'
import type { Changes } from '../../model/audit-events.ts'
import { createLoopQueue, type Limits } from '../../model/limits.ts'
import { keyValues } from '../../model/record-changes.ts'
import type { Entities, RecordEntity } from '../../storage/entities.ts'
import { recordTag } from '../entity-tag.ts'
import { keyPlan, notFound, segmentsOf, valuesOfKey } from '../keys.ts'
import { knownTo, writable } from '../readable.ts'
import { checkedJson, maxRecord, readJson } from './check-record.ts'
import { isWrittenSo, patched, setMember } from './json-patch.ts'
import { seenBy } from './other-records.ts'

const contract = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly config: Pick<Config, 'queryBase'>
  readonly entities: Entities
  readonly limits: Pick<Limits, 'loops'>
}

/** Maximum number of records written at the same time, in all event loops together. */
const maxWriting = 128

/** Maximum number of attempts to write a record that others keep changing. */
const maxAttempts = 50

const mergePatch = 'application/merge-patch+json'
const jsonPatch = 'application/json-patch+json'

const noCookie = 'No cookie authenticates requests below the query base.'
const bodies: Readonly<Record<'PUT' | 'PATCH' | 'DELETE', Body>> = {
  PUT: jsonOf(maxRecord),
  PATCH: { types: [mergePatch, jsonPatch], limit: maxRecord, optional: false },
  DELETE: 'unused',
}
const names = { PUT: 'putRecord', PATCH: 'changeRecord', DELETE: 'deleteRecord' } as const

function accessOf(method: keyof typeof names) {
  const access = changes(rightTo('write the entity'), 'query', bodies[method], { csrf: { not: noCookie } })
  return { access, contracts: { ':key': contract(names[method], access).config.contract } }
}

/** A change of a record, as a request asks for it. */
type Change =
  | { readonly event: 'record.put'; readonly body: unknown }
  | { readonly event: 'record.change'; readonly type: string; readonly patch: unknown }
  | { readonly event: 'record.delete' }

/** The address of a record. */
interface Address {
  readonly name: string
  readonly key: string
}

/**
 * `PUT`, `PATCH` and `DELETE {query_base}/<entity>/<key>`: single records are written (R1–R8,
 * docs/decisions/0041).
 */
export function recordRoutes(app: FastifyInstance, { addresses, config, entities, limits }: Parts): void {
  const loops = limits.loops().wanted
  const queue = createLoopQueue(loops, Math.ceil(maxWriting / loops))
  app.addContentTypeParser(mergePatch, { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  for (const method of ['PUT', 'PATCH', 'DELETE'] as const)
    routesOf(app).route({
      method,
      url: '/:entity/*',
      config: accessOf(method),
      handler: async (request, reply) => {
        const address = addressIn(request)
        const { entity } = await knownTo(entities, request, address.name)
        // A caller who may not write isn't told what is wrong with the body.
        writable(entity, request.caller)
        const change = changeIn(request)
        const leave = await queue.enter(clientOf(request))
        try {
          const { json, isNew } = await write(request, address, change)
          if (json === null) return await reply.code(204).send()
          if (isNew) reply.code(201).header('location', locationOf(request))
          reply.header('etag', recordTag(json)).header('vary', 'Origin')
          return await sendJson(reply, json)
        } finally {
          leave()
        }
      },
    })

  function addressIn(request: FastifyRequest): Address {
    singleParameters(request.query as Query, [])
    const [name = '', key = '', ...more] = segmentsOf(request, config)
    if (more.length === 0) return { name, key }
    throw new Problem('not-found', `There is nothing at ${pathOf(request.originalUrl)} to write.`)
  }

  const locationOf = (request: FastifyRequest): string =>
    addresses.query + pathOf(request.url).slice(config.queryBase.length)

  /** Writes the record. If another request has written it meanwhile, the change is made again. */
  async function write(request: FastifyRequest, address: Address, change: Change): Promise<Written> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const written = await attemptToWrite(request, address, change)
      if (written) return written
    }
    throw new Overloaded(
      `The record ${address.key.slice(0, 200)} is being written by others all the time. Retry in a moment.`,
    )
  }

  /** @returns undefined if another request has written the record meanwhile */
  async function attemptToWrite(
    request: FastifyRequest,
    { name, key }: Address,
    change: Change,
  ): Promise<Written | undefined> {
    const known = await knownTo(entities, request, name)
    const entity = writable(known.entity, request.caller)
    const [plan, nameOf] = keyPlan(entity, key)
    const named = nameOf()
    const { json: before, seq } = await entities.record(plan, nameOf, clientOf(request))
    requireState(request.headers, before === undefined ? undefined : recordTag(before), 'record')
    const earlier = before === undefined ? undefined : (parseWritten(before) as Members)
    const made = changed(change, entity, key, before)
    const json = change.event === 'record.delete' ? null : checkedJson(entity, made, named)
    // A patch may move values and move them back. Then nothing is written, and the stored record is the
    // answer.
    const isSame =
      json === before ||
      (change.event === 'record.change' && before !== undefined && isWrittenSo(earlier, made))
    if (isSame) return { json: before ?? null, isNew: false }
    const after = json === null ? null : (made as Members)
    const relies = await seenBy(entities, request, known, { entity, key: named, before: earlier, after })
    const isWritten = await entities.writeRecord(
      {
        ...{ entity, key: named, before: seq, json, relies },
        values: keyValues(entity, after ?? earlier ?? {}),
        added: before === undefined ? 1 : json === null ? -1 : 0,
      },
      {
        ...eventOf(request.caller, request, {
          event: change.event,
          outcome: 'success',
          object: `${entity.name}/${key}`.slice(0, 500),
        }),
        changes: changesBetween(earlier ?? null, after),
      },
    )
    return isWritten ? { json, isNew: before === undefined } : undefined
  }
}

/** The JSON of a record that was written; null if it was deleted. */
interface Written {
  readonly json: string | null
  readonly isNew: boolean
}

/** Reads the change that a request asks for. @throws Problem for a body that is none */
function changeIn(request: FastifyRequest): Change {
  if (request.method === 'DELETE') return { event: 'record.delete' }
  if (request.method === 'PUT') {
    requireType(request, ['application/json'])
    return { event: 'record.put', body: readJson(request) }
  }
  const type = requireType(request, [jsonPatch, mergePatch])
  const patch = readJson(request)
  if (type === mergePatch && !isObject(patch))
    throw new Problem('record-refused', 'A merge patch of a record is a JSON object.')
  return { event: 'record.change', type, patch }
}

/**
 * Makes the record that a change results in; null if it is deleted.
 * @param before JSON of the record; undefined for a new one
 */
function changed(change: Change, entity: RecordEntity, key: string, before: string | undefined): unknown {
  if (change.event === 'record.put') return withKey(entity, change.body, key)
  if (before === undefined) throw notFound(entity, key)
  if (change.event === 'record.delete') return null
  const record = parseWritten(before) as Members
  // An operation may put values of the patch into the record, which a second attempt would find changed.
  const patch = parseWritten(JSON.stringify(change.patch))
  return change.type === mergePatch ? merged(record, patch) : patched(record, patch)
}

/** Adds the key of the address to a record that doesn't have it itself. */
function withKey(entity: RecordEntity, body: unknown, key: string): unknown {
  if (!isObject(body)) return body
  const record = { ...body }
  const values = valuesOfKey(entity, key)
  for (const [at, name] of [entity.key].flat().entries())
    if (!Object.hasOwn(body, name)) setMember(record, name, values[at])
  return record
}

/** Maximum number of members in the audit event of a change, and of characters of the JSON of each. */
const maxMembers = 30
const maxValue = 300

/** Describes the differences between two records for the audit trail. */
function changesBetween(before: Members | null, after: Members | null): Changes {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const different = names.filter(name => jsonIn(before, name) !== jsonIn(after, name))
  const some = different.slice(0, maxMembers)
  const more = different.length - some.length
  const side = (record: Members | null) =>
    record && {
      ...Object.fromEntries(some.map(name => [name, shortened(jsonIn(record, name))])),
      ...(more > 0 && { '…': `and ${more} more` }),
    }
  return { before: side(before), after: side(after) }
}

const jsonIn = (record: Members | null, name: string): string =>
  (record && Object.hasOwn(record, name) ? JSON.stringify(record[name]) : undefined) ?? 'null'

/** Returns a value for the audit trail: its JSON as text if it is long, or if a double would lose digits. */
function shortened(json: string): unknown {
  if (json.length > maxValue) return `${json.slice(0, maxValue)}…`
  const value: unknown = JSON.parse(json)
  return JSON.stringify(value) === json ? value : json
}

/** Applies a merge patch to a value, which is changed (RFC 7396 §2). */
function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: Members = isObject(target) ? target : {}
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete (result as Record<string, unknown>)[name]
    else setMember(result, name, merged(Object.hasOwn(result, name) ? result[name] : undefined, value))
  return result
}
