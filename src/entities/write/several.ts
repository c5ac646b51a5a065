import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Body, changes, rightTo } from '../../http/access.ts'
import { clientOf } from '../../http/connection.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { sendJson } from '../../http/json-body.ts'
import { quote } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import type { Client } from '../../lib/fair-queue.ts'
import { type Members, parseWritten } from '../../lib/json.ts'
import { viewerOf } from '../../model/caller.ts'
import type { Entity } from '../../model/entities.ts'
import { createLoopQueue, type Limits } from '../../model/limits.ts'
import { recordTag } from '../../query/entity-tag.ts'
import { noCookies } from '../../query/given.ts'
import { keyPlan, keyTextOf } from '../../query/keys.ts'
import { parseAsked } from '../../query/parse.ts'
import { type Known, type KnownEntity, planOf } from '../../query/plan.ts'
import { type KnownToWrite, knownTo, writable } from '../../query/readable.ts'
import type { Entities, RecordEntity } from '../../storage/entities.ts'
import { type Change, changeMade, jsonPatch, type Made, mergePatch, type Target } from './change.ts'
import {
  type Asked,
  askedBy,
  badQuery,
  everyRecord,
  maxBytes,
  maxTogether,
  records,
  tooMany,
  type Write,
  wrongBody,
} from './several-asked.ts'
import { type Checking, checkMade, eventOfMade } from './step.ts'
import { createTurns, untilWritten } from './turns.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts extends Checking {
  readonly limits: Pick<Limits, 'loops'>
}

/** Maximum number of such changes made at the same time, in all event loops together. */
const maxAtOnce = 4
/** Maximum number of them in an event loop that wait for a new version; each holds up to 16 MiB. */
const mostLagging = 8
/** Maximum number of attempts to change records that others keep changing. */
const maxAttempts = 10
/** Number of records of the answer that show what becomes of them. */
const shown = 10
/** Number of records that are looked at before others have their turn. */
const atATime = 100

const patches: Body = { types: ['application/json', mergePatch, jsonPatch], limit: maxBytes, optional: false }
const access = {
  PATCH: changes(rightTo('write the entity'), 'query', patches, { csrf: noCookies }),
  DELETE: changes(rightTo('write the entity'), 'query', 'unused', { csrf: noCookies }),
}
const names = { PATCH: 'changeRecords', DELETE: 'deleteRecords' } as const

/**
 * `PATCH` and `DELETE {query_base}/<entity>`: several records are changed in one step, all or none (R10–R13,
 * docs/decisions/0072).
 */
export function severalRoutes(app: FastifyInstance, { entities, limits, trail }: Parts): void {
  const inTurn = createTurns(createLoopQueue(limits.loops().wanted, maxAtOnce), mostLagging)
  for (const method of ['PATCH', 'DELETE'] as const)
    routesOf(app).route({
      method,
      url: '/:entity',
      ...route(names[method], access[method]),
      handler: async (request, reply) => {
        const { entity: name } = request.params as { readonly entity: string }
        const { entity } = await knownTo(entities, request, name)
        // A caller who may not write isn't told what is wrong with the request.
        writable(entity, request.caller)
        const asked = askedBy(request)
        const answer = await inTurn(request, () => changeTogether(request, name, asked))
        return await sendJson(reply.header('vary', 'Origin'), answer)
      },
    })

  const changeTogether = (request: FastifyRequest, name: string, asked: Asked): Promise<string> =>
    untilWritten(entities, request, name, { most: maxAttempts, busy: `Records of ${name} are` }, known =>
      attemptTogether({ entities, trail }, request, known, asked),
    )
}

/** @returns undefined if another request has written one of the records meanwhile */
async function attemptTogether(
  parts: Checking,
  request: FastifyRequest,
  known: KnownToWrite,
  asked: Asked,
): Promise<string | undefined> {
  const { entities } = parts
  const { entity } = known
  if (!asked.isDryRun) entities.requireRoom(entity)
  const targets =
    asked.query === undefined || asked.change === undefined
      ? await named(entities, entity, asked.writes, clientOf(request))
      : await found(entities, known, asked.query, asked.change, request)
  if (asked.expected !== undefined && targets.length !== asked.expected)
    throw new Problem(
      'precondition-failed',
      `The query finds ${records(targets.length)}, and not ${asked.expected.toLocaleString('en')}. Nothing was changed.`,
      { members: { count: targets.length } },
    )
  const all = await madeOf(entity, targets)
  const [first, ...others] = all
  if (!first) return answerOf(targets.length, all, asked)
  const relies = await checkMade(parts, request, known, [first, ...others], asked.isDryRun, aboutRecord)
  if (asked.isDryRun) return answerOf(targets.length, all, asked)
  const isWritten = await entities.writeTogether(
    entity,
    // The step is written whole or not at all, so that one of the writes relies on it for all.
    [{ ...first.write, relies }, ...others.map(({ write }) => write)],
    all.map(made => eventOfMade(request, made)),
  )
  return isWritten ? answerOf(targets.length, all, asked) : undefined
}

/** Finds the records of a query, with the default condition of the entity (Q25) as in a list. */
async function found(
  entities: Entities,
  known: KnownEntity,
  query: string,
  change: Change,
  request: FastifyRequest,
): Promise<readonly Target[]> {
  const { entity } = known
  const isAst = /^\s*\[/.test(query)
  const asked = parseAsked({ values: new Map([['query', [query]]]), text: '', malformed: null })
  const plan = planOf(asked, isAst ? known : { ...known, entity: null })
  if (plan.entity.name !== entity.name)
    throw badQuery(query, `The query is about ${plan.entity.name}, and the address about ${entity.name}.`)
  if (plan.shape.kind !== 'records' || plan.page.limit !== null || plan.page.offset !== 0)
    throw badQuery(
      query,
      'Records are changed whole and all together: give a condition, and no columns, groups or limits.',
    )
  if (planOf(asked, withoutDefault(isAst ? known : { ...known, entity: null }, entity)).where === null)
    throw badQuery(query, `The query has no condition, and would mean all records. ${everyRecord}`)
  const page = { order: [], offset: 0, limit: maxTogether + 1, total: false }
  const client = clientOf(request)
  const { body } = await entities.list({ ...plan, page }, viewerOf(request.caller), 'ndjson', client)
  const lines = await linesOf(body)
  if (lines.length > maxTogether) throw tooMany(`The query finds more than ${records(maxTogether)}`)
  return lines.map(before => ({ key: undefined, before, change }))
}

/** Finds records by their keys. @throws Problem 412 with the keys of those that are not as they must be */
async function named(
  entities: Entities,
  entity: RecordEntity,
  writes: readonly Write[],
  client: Client,
): Promise<readonly Target[]> {
  const targets: Target[] = []
  const others: string[] = []
  const seen = new Set<string>()
  for (const [at, { key, change, tag }] of writes.entries()) {
    if (at % atATime === 0) await turn()
    const [plan, nameOf] = keyPlan(entity, key)
    if (seen.has(nameOf())) throw wrongBody(`The record ${quote(key)} is there twice.`)
    seen.add(nameOf())
    const { json: before } = await entities.record(plan, nameOf, client)
    const now = before === undefined ? null : recordTag(before)
    if (tag !== undefined && tag !== now) others.push(key)
    // What is to be deleted and is gone needs nothing.
    else if (before !== undefined || change.event !== 'record.delete') targets.push({ key, before, change })
  }
  if (others.length === 0) return targets
  throw new Problem(
    'precondition-failed',
    `${others.length === 1 ? 'A record has' : `${records(others.length)} have`} changed: ${others.slice(0, 5).map(quote).join(', ')}. Nothing was written.`,
    { members: { keys: others } },
  )
}

/** Makes the changes. @returns the records that differ afterwards. @throws Problem with the key of a record */
async function madeOf(entity: RecordEntity, targets: readonly Target[]): Promise<readonly Made[]> {
  const all: Made[] = []
  let bytes = 0
  for (const [at, target] of targets.entries()) {
    if (at % atATime === 0) await turn()
    try {
      const made = changeMade(entity, target)
      if (made === undefined) continue
      bytes += (made.after ?? '').length + (made.before ?? '').length
      if (bytes > 2 * maxBytes) throw tooMany('The records are larger than 16 MiB')
      all.push(made)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      throw aboutRecord(keyTextOfTarget(entity, target), error)
    }
  }
  return all
}

/** Makes a problem with the key of the record that it is about. */
const aboutRecord = (key: string, { code, message, headers, members }: Problem): Problem =>
  new Problem(code, `The record ${quote(key.slice(0, 200))}: ${message} Nothing was changed.`, {
    headers,
    members: { ...members, key: key.slice(0, 500) },
  })

/** The entities without the default condition of one, which is no condition of a query's own. */
function withoutDefault<K extends Known>(known: K, { defaultCondition: _, ...entity }: Entity): K {
  const entities = new Map([...known.entities, [entity.name, entity]])
  return { ...known, entities, entity: known.entity && entity }
}

const keyTextOfTarget = (entity: RecordEntity, { key, before }: Target): string =>
  key ?? keyTextOf(entity, before === undefined ? {} : (parseWritten(before) as Members))

/** Writes the answer as text, so that records keep every digit. */
function answerOf(count: number, all: readonly Made[], { isDryRun, isUndoable }: Asked): string {
  const text = JSON.stringify
  const first = all
    .slice(0, shown)
    .map(
      ({ key, before, after }) =>
        `{"key":${text(key)},"before":${before ?? 'null'},"after":${after ?? 'null'}}`,
    )
  const undo = all.map(({ key, before, after }) => {
    const tag = after === null ? 'null' : text(recordTag(after))
    // A deleted record comes back as it was, without the defaults of a new one.
    const defaults = after === null ? ',"defaults":false' : ''
    return `{"key":${text(key)},"etag":${tag},"record":${before ?? 'null'}${defaults}}`
  })
  return `{"count":${count},"changed":${all.length},"dry_run":${isDryRun},"records":[${first}]${
    isUndoable && !isDryRun ? `,"undo":{"records":[${undo}]}` : ''
  }}`
}

/** Lets others have their turn. */
const turn = () => new Promise(resolve => setImmediate(resolve))

/** Collects the records of a listing, whose pieces are of whole records. @throws Problem 422 if they are too large */
async function linesOf(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<readonly string[]> {
  const lines: string[] = []
  let bytes = 0
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    bytes += piece.length
    if (bytes > maxBytes) throw tooMany('The records are larger than 16 MiB')
    if (piece.length > 0) lines.push(...Buffer.from(piece).toString().split('\n'))
  }
  return lines
}
