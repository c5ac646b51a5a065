import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { type Body, changes, jsonOf, rightTo } from '../../http/access.ts'
import { type Addresses, pathOf } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { clientOf } from '../../http/connection.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { sendJson } from '../../http/json-body.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import { requireState } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { Overloaded } from '../../lib/fair-queue.ts'
import { type Members, parseWritten } from '../../lib/json.ts'
import { createLoopQueue, type Limits } from '../../model/limits.ts'
import { keyValues } from '../../model/record-changes.ts'
import type { Entities } from '../../storage/entities.ts'
import type { Trail } from '../../storage/trail.ts'
import { recordTag } from '../entity-tag.ts'
import { keyPlan, objectOf, segmentsOf } from '../keys.ts'
import { knownTo, writable } from '../readable.ts'
import { type Change, changed, changeIn, changesBetween, jsonPatch, mergePatch } from './change.ts'
import { checkedJson, maxRecord } from './check-record.ts'
import { type Guess, recordGuesses } from './guesses.ts'
import { isWrittenSo } from './json-patch.ts'
import { checkStep, StepRefused } from './other-records.ts'
import { createTurns } from './turns.ts'

const contract = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly config: Pick<Config, 'queryBase'>
  readonly entities: Entities
  readonly limits: Pick<Limits, 'loops'>
  readonly trail: Pick<Trail, 'record'>
}

/** Maximum number of records written at the same time, in all event loops together. */
const maxWriting = 128

/** Maximum number of writes in an event loop that wait for a new version; each holds up to 1 MiB. */
const mostLagging = 64

/** Maximum number of attempts to write a record that others keep changing. */
const maxAttempts = 50

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

/** The address of a record. */
interface Address {
  readonly name: string
  readonly key: string
}

/**
 * `PUT`, `PATCH` and `DELETE {query_base}/<entity>/<key>`: single records are written (R1–R8,
 * docs/decisions/0041).
 */
export function recordRoutes(
  app: FastifyInstance,
  { addresses, config, entities, limits, trail }: Parts,
): void {
  const loops = limits.loops().wanted
  const inTurn = createTurns(createLoopQueue(loops, Math.ceil(maxWriting / loops)), mostLagging)
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
        const { json, isNew } = await inTurn(request, () => write(request, address, change))
        if (json === null) return await reply.code(204).send()
        if (isNew) reply.code(201).header('location', locationOf(request))
        reply.header('etag', recordTag(json)).header('vary', 'Origin')
        return await sendJson(reply, json)
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
      const written = await attemptToWrite({ entities, trail }, request, address, change)
      if (written) return written
    }
    throw new Overloaded(
      `The record ${address.key.slice(0, 200)} is being written by others all the time. Retry in a moment.`,
    )
  }
}

/** @returns undefined if another request has written the record meanwhile */
async function attemptToWrite(
  { entities, trail }: Pick<Parts, 'entities' | 'trail'>,
  request: FastifyRequest,
  { name, key }: Address,
  change: Change,
): Promise<Written | undefined> {
  const known = await knownTo(entities, request, name)
  const entity = writable(known.entity, request.caller)
  entities.requireRoom(entity)
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
  const object = objectOf(entity, earlier ?? (made as Members))
  const guesses: Guess[] = []
  const step = [{ key: named, before: earlier, after }]
  const relies = await checkStep(entities, request, { ...known, entity }, step, guesses).catch(
    async error => {
      await recordGuesses(trail, request, object, guesses)
      throw error instanceof StepRefused ? error.problem : error
    },
  )
  const isWritten = await entities.writeRecord(
    {
      ...{ entity, key: named, before: seq, json, relies },
      values: keyValues(entity, after ?? earlier ?? {}),
      added: before === undefined ? 1 : json === null ? -1 : 0,
    },
    {
      ...eventOf(request.caller, request, { event: change.event, outcome: 'success', object }),
      changes: changesBetween(earlier ?? null, after),
    },
  )
  return isWritten ? { json, isNew: before === undefined } : undefined
}

/** The JSON of a record that was written; null if it was deleted. */
interface Written {
  readonly json: string | null
  readonly isNew: boolean
}
