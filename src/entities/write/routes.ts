import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { type Body, changes, jsonOf, rightTo } from '../../http/access.ts'
import { type Addresses, pathOf } from '../../http/addresses.ts'
import { clientOf } from '../../http/connection.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { sendJson } from '../../http/json-body.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import { requireState } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { createLoopQueue, type Limits } from '../../model/limits.ts'
import { recordTag } from '../../query/entity-tag.ts'
import { noCookies } from '../../query/given.ts'
import { keyPlan, segmentsOf } from '../../query/keys.ts'
import { type KnownToWrite, knownTo, writable } from '../../query/readable.ts'
import { type Change, changeIn, changeMade, jsonPatch, mergePatch } from './change.ts'
import { checkedJson, maxRecord } from './check-record.ts'
import { type Checking, checkMade, eventOfMade } from './step.ts'
import { createTurns, untilWritten } from './turns.ts'

const contract = contractsIn(() => import('./contracts.ts'))

interface Parts extends Checking {
  readonly addresses: Addresses
  readonly config: Pick<Config, 'queryBase'>
  readonly limits: Pick<Limits, 'loops'>
}

/** Maximum number of records written at the same time, in all event loops together. */
const maxWriting = 128

/** Maximum number of writes in an event loop that wait for a new version; each holds up to 1 MiB. */
const mostLagging = 64

/** Maximum number of attempts to write a record that others keep changing. */
const maxAttempts = 50

const bodies: Readonly<Record<'PUT' | 'PATCH' | 'DELETE', Body>> = {
  PUT: jsonOf(maxRecord),
  PATCH: { types: [mergePatch, jsonPatch], limit: maxRecord, optional: false },
  DELETE: 'unused',
}
const names = { PUT: 'putRecord', PATCH: 'changeRecord', DELETE: 'deleteRecord' } as const

function accessOf(method: keyof typeof names) {
  const access = changes(rightTo('write the entity'), 'query', bodies[method], { csrf: noCookies })
  return { access, contracts: { ':key': contract(names[method], access).config.contract } }
}

/** The address of a record. */
interface Address {
  readonly name: string
  readonly key: string
}

/** `PUT`, `PATCH` and `DELETE {query_base}/<entity>/<key>`: single records are written (R1–R8, docs/decisions/0041). */
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

  const write = (request: FastifyRequest, address: Address, change: Change): Promise<Written> =>
    untilWritten(
      entities,
      request,
      address.name,
      { most: maxAttempts, busy: `The record ${address.key.slice(0, 200)} is` },
      known => attemptToWrite({ entities, trail }, request, known, address.key, change),
    )
}

/** @returns undefined if another request has written the record meanwhile */
async function attemptToWrite(
  parts: Checking,
  request: FastifyRequest,
  known: KnownToWrite,
  key: string,
  change: Change,
): Promise<Written | undefined> {
  const { entities } = parts
  const { entity } = known
  entities.requireRoom(entity)
  const [plan, nameOf] = keyPlan(entity, key)
  const name = nameOf()
  const { json: before, seq } = await entities.record(plan, nameOf, clientOf(request))
  requireState(request.headers, before === undefined ? undefined : recordTag(before), 'record')
  const made = changeMade(entity, { key, name, before, change })
  // A patch may move values and move them back. Then nothing is written, and the stored record is the
  // answer.
  if (!made) return { json: before ?? null, isNew: false }
  // Only a patch of several records deletes those that it makes null.
  if (made.after === null && change.event !== 'record.delete') checkedJson(entity, null, name)
  const relies = await checkMade(parts, request, known, [made], false, (_, problem) => problem)
  const isWritten = await entities.writeRecord(
    { ...made.write, entity, before: seq, relies },
    eventOfMade(request, made),
  )
  return isWritten ? { json: made.after, isNew: before === undefined } : undefined
}

/** The JSON of a record that was written; null if it was deleted. */
interface Written {
  readonly json: string | null
  readonly isNew: boolean
}
