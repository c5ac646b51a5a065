import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refuseShortLivedToken } from '../../authn/authenticate.ts'
import type { Config } from '../../config/config.ts'
import { type Addresses, pathOf } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { clientOf } from '../../http/client.ts'
import { contractsIn } from '../../http/contract.ts'
import { requireType } from '../../http/json-body.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import { requireState } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { requireEperson } from '../../http/require-eperson.ts'
import { Overloaded } from '../../lib/fair-queue.ts'
import { isObject, type Members, parseWritten } from '../../lib/json.ts'
import type { AuditEvent, Changes } from '../../model/audit-events.ts'
import type { Caller } from '../../model/caller.ts'
import { createLoopQueue, type Limits } from '../../model/limits.ts'
import { keyValues } from '../../model/record-changes.ts'
import type { Entities, RecordEntity } from '../../storage/entities.ts'
import { type Found, keyPlan, segmentsOf } from '../below-entity.ts'
import { recordTag } from '../entity-tag.ts'
import { notFound, valuesOfKey } from '../keys.ts'
import { listedBy } from '../puppetdb/listed-by.ts'
import { knownTo, mayWriteEntity } from '../readable.ts'
import { checkedJson } from './check-record.ts'
import { isWrittenSo, patched } from './json-patch.ts'
import { setMember } from './members.ts'
import { maxRecord, readJson } from './read-body.ts'

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

const names = { PUT: 'putRecord', PATCH: 'changeRecord', DELETE: 'deleteRecord' } as const

/** A change of a record that may or may not exist yet. */
interface Change {
  readonly event: AuditEvent['event']
  /**
   * @param before a copy that may be changed; undefined for a new record
   * @returns the record; null if it is deleted
   */
  make(found: Found, before: Members | undefined): unknown
}

/**
 * `PUT`, `PATCH` and `DELETE {query_base}/<entity>/<key>`: single records are written (R1–R8,
 * docs/decisions/0041).
 */
export function recordRoutes(app: FastifyInstance, { addresses, config, entities, limits }: Parts): void {
  const loops = limits.loops().wanted
  const queue = createLoopQueue(loops, Math.ceil(maxWriting / loops))
  app.addContentTypeParser(mergePatch, { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  const route = (
    method: 'PUT' | 'PATCH' | 'DELETE',
    changeOf: (request: FastifyRequest, key: string) => Change,
  ) =>
    app.route({
      method,
      url: '/:entity/*',
      config: { contracts: { ':key': contract(names[method]).config.contract } },
      bodyLimit: maxRecord,
      preParsing: [refuseShortLivedToken, requireLogin],
      handler: async (request, reply) => {
        singleParameters(request.query as Query, [])
        const [name = '', key = '', ...more] = segmentsOf(request, config)
        if (more.length > 0)
          throw new Problem('not-found', `There is nothing at ${pathOf(request.originalUrl)} to write.`)
        // A caller who may not write isn't told what is wrong with the body.
        requireWritable(await knownTo(entities, request, name), request.caller, key)
        const change = changeOf(request, key)
        return queue.run(clientOf(request), () => write(request, reply, { name, key, change }))
      },
    })

  route('PUT', (request, key) => {
    requireType(request, ['application/json'])
    const body = readJson(request)
    return { event: 'record.put', make: ({ entity }) => withKey(entity, body, key) }
  })

  route('PATCH', (request, key) => {
    const type = requireType(request, [jsonPatch, mergePatch])
    const patch = readJson(request)
    if (type === mergePatch && !isObject(patch))
      throw new Problem('record-refused', 'A merge patch of a record is a JSON object.')
    return {
      event: 'record.change',
      make: ({ entity }, before) => {
        if (!before) throw notFound(entity, key)
        // An operation may put values of the patch into the record, which a second attempt would find
        // changed.
        const own = parseWritten(JSON.stringify(patch))
        return type === mergePatch ? merged(before, own) : patched(before, own)
      },
    }
  })

  route('DELETE', (_request, key) => ({
    event: 'record.delete',
    make: ({ entity }, before) => {
      if (!before) throw notFound(entity, key)
      return null
    },
  }))

  async function write(
    request: FastifyRequest,
    reply: FastifyReply,
    { name, key, change }: { readonly name: string; readonly key: string; readonly change: Change },
  ) {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const found = await knownTo(entities, request, name)
      const entity = requireWritable(found, request.caller, key)
      const [plan, named] = keyPlan(found, key)
      const { json: before, seq } = await entities.record(plan, named, clientOf(request))
      requireState(
        request.headers,
        before === undefined ? undefined : recordTag(Buffer.from(before)),
        'record',
      )
      const earlier = before === undefined ? undefined : (parseWritten(before) as Members)
      const made = change.make(found, earlier && (parseWritten(before ?? '') as Members))
      const json = made === null && change.event === 'record.delete' ? null : checkedJson(entity, made, named)
      // A patch may move values and move them back. Then nothing is written, and the stored record is the
      // answer.
      const isSame =
        json === before ||
        (change.event === 'record.change' && before !== undefined && isWrittenSo(earlier, made))
      if (isSame) return answer(request, reply, before ?? null, false)
      const isWritten = await entities.writeRecord(
        {
          ...{ entity, key: named, before: seq, json },
          values: keyValues(entity, (json === null ? earlier : (made as Members)) ?? {}),
          added: before === undefined ? 1 : json === null ? -1 : 0,
        },
        {
          ...eventOf(request.caller, request, {
            event: change.event,
            outcome: 'success',
            object: `${entity.name}/${key}`.slice(0, 500),
          }),
          changes: changesBetween(earlier ?? null, json === null ? null : (made as Members)),
        },
      )
      if (isWritten) return answer(request, reply, json, before === undefined)
    }
    throw new Overloaded(
      `The record ${key.slice(0, 200)} is being written by others all the time. Retry in a moment.`,
    )
  }

  function answer(request: FastifyRequest, reply: FastifyReply, json: string | null, isNew: boolean) {
    if (json === null) return reply.code(204).send()
    const body = Buffer.from(json)
    if (isNew)
      reply.code(201).header('location', addresses.query + pathOf(request.url).slice(config.queryBase.length))
    return reply.header('etag', recordTag(body)).header('vary', 'Origin').type('application/json').send(body)
  }
}

/** Runs before the body is read: the body of an anonymous request is never parsed. */
async function requireLogin({ caller }: FastifyRequest): Promise<void> {
  requireEperson(caller)
}

/** Adds the key of the address to a record that doesn't have it itself. */
function withKey(entity: Found['entity'], body: unknown, key: string): unknown {
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

/**
 * @returns the entity, whose records the caller may write (R2)
 * @throws Problem 403
 */
function requireWritable({ entity }: Found, caller: Caller, key: string): RecordEntity {
  const { name, source } = entity
  if (source.kind === 'table') throw refused(`${name} is built in; its rows have addresses of their own.`)
  if (source.kind === 'exposed') throw refused(`${name} shows a table of the database; write to it there.`)
  if (entity.write === undefined)
    throw refused(
      `${name} is not open for writing; an administrator opens it with \`carrel entity writers\`.`,
    )
  if (listedBy(entity, [key]) !== undefined)
    throw refused(`An address below ${name} lists records (Q24), so that none is written there.`)
  if (!mayWriteEntity(caller, entity)) throw refused(`You may not write records of ${name}.`)
  return entity as RecordEntity
}

const refused = (detail: string) => new Problem('not-writable', detail)
