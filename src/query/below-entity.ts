import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { openRightTo, reads } from '../http/access.ts'
import { type Addresses, pathOf } from '../http/addresses.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { sendJson } from '../http/json-body.ts'
import {
  badParameter,
  parseBoolean,
  type Query,
  quote,
  singleParameters,
  suggestion,
  wholeNumber,
} from '../http/parameters.ts'
import { precondition } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import { type Members, parseWritten } from '../lib/json.ts'
import { viewerOf } from '../model/caller.ts'
import type { Entity } from '../model/entities.ts'
import { bytesOf } from '../model/record-format.ts'
import { relationsBetween } from '../model/relations.ts'
import type { Entities } from '../storage/entities.ts'
import type { Answers } from './answer.ts'
import { asksForChanges, type ChangeParts, sendChanges } from './changes.ts'
import { recordTag } from './entity-tag.ts'
import { givenBy, isAllInAddress } from './given.ts'
import { fieldsInAddress, keyCondition, keyPlan, notFound, objectOf, segmentsOf } from './keys.ts'
import { type Json, nodeOf } from './language/node.ts'
import type { LongTexts } from './long-texts.ts'
import { parseAsked } from './parse.ts'
import type { Known, KnownEntity } from './plan.ts'
import { knownTo, readable, writable } from './readable.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts extends ChangeParts {
  readonly addresses: Addresses
  readonly config: Pick<Config, 'queryBase' | 'listingPatience' | 'listingTimeLimit'>
  readonly entities: Entities
  readonly answers: Answers
  readonly texts: LongTexts
}

/**
 * Registers the addresses below an entity: `…/<entity>/<key>` is one record,
 * `…/<entity>/<key>/<related entity>` lists the records that belong to it (Q16), and PuppetDB's `facts` and
 * `resources` have addresses for their values (Q24).
 */
export function belowEntityRoutes(app: FastifyInstance, parts: Parts): void {
  const { addresses, config, entities, answers, snapshots, texts } = parts
  const access = reads(openRightTo('read the entity'), 'query')
  const contracts = {
    changes: route('followChanges', access).config.contract,
    ':key': route('showRecord', access).config.contract,
    ':key/:related': route('listRelated', access).config.contract,
    ':key/:related/:value': route('listRelatedBelow', access).config.contract,
  }
  routesOf(app).get('/:entity/*', { config: { access, contracts } }, async (request, reply) => {
    const [name = '', ...below] = segmentsOf(request, config)
    const known = await knownTo(entities, request, name)
    const direct = listedBy(known.entity, below)
    if (asksForChanges(request, below)) return sendChanges(request, reply, known.entity, parts)
    if (direct !== undefined) return list(request, reply, known.entity.name, () => direct)
    const [key = '', related, ...more] = below
    if (related === undefined && asksForHistory(request)) {
      const record = await recordWith(request, known, key)
      return historyOf(request, entities, known.entity, key, record === '' ? undefined : record)
    }
    if (related === undefined) return sendRecord(request, reply, known, key)
    const { entity } = await knownTo(entities, request, related)
    belongingTo(known, { ...known, entity }, key)
    // With a snapshot, the record was there when it was taken.
    const isThere = isPinned(request) || (await recordWith(request, known, key)).length > 0
    if (!isThere) throw notFound(known.entity, key)
    return list(request, reply, entity.name, to => {
      const from = { ...to, entity: readable(to.entities, name, request.caller) }
      const narrower = more.length === 0 ? [] : [listedBy(to.entity, more) ?? nothingAt(request)]
      return ['and', belongingTo(from, to, key), ...narrower]
    })
  })

  /** @param condition makes the condition of the address, which depends on the entities that there are */
  async function list(
    request: FastifyRequest,
    reply: FastifyReply,
    entity: string,
    condition: (known: KnownEntity) => Json,
  ) {
    const given = isAllInAddress(request) ? (request.query as Query) : await givenBy(request, texts)
    const asked = parseAsked(given)
    const known = await snapshots.at(await knownTo(entities, request, entity), asked.snapshot)
    const change = (now: Known) => ({ also: nodeOf(condition(now as KnownEntity)) })
    const plan = await texts.plan(asked, known, clientOf(request), change(known))
    const address = addresses.query + pathOf(request.url).slice(config.queryBase.length)
    return answers.send(request, reply, { asked, address, entity, change, as: 'rows' }, plan)
  }

  /** @returns the JSON of the record with this key; empty if there is none */
  async function recordWith(request: FastifyRequest, known: KnownEntity, key: string): Promise<string> {
    const [plan, name] = keyPlan(known.entity, key)
    return known.entity.source.kind === 'records'
      ? ((await entities.record(plan, name, clientOf(request))).json ?? '')
      : listedWith(request, known, key)
  }

  /** @returns the record as a list shows it, in the state that the entity is in */
  async function listedWith(request: FastifyRequest, known: KnownEntity, key: string): Promise<string> {
    const [plan] = keyPlan(known.entity, key)
    const { body } = await entities.list(plan, viewerOf(request.caller), 'json', clientOf(request))
    return (await bytesOf(body)).toString()
  }

  async function sendRecord(request: FastifyRequest, reply: FastifyReply, known: KnownEntity, key: string) {
    const { pretty, snapshot } = singleParameters(request.query as Query, ['pretty', 'snapshot'])
    const record =
      snapshot === undefined
        ? await recordWith(request, known, key)
        : await listedWith(request, await snapshots.at(known, snapshot), key)
    if (record.length === 0) throw notFound(known.entity, key)
    const tag = recordTag(record)
    reply.header('etag', tag).header('vary', 'Origin')
    if (precondition(request.headers, tag) === 304) return reply.code(304).type('application/json').send()
    return sendJson(reply, pretty !== undefined && parseBoolean('pretty', pretty) ? indented(record) : record)
  }
}

const isPinned = (request: FastifyRequest): boolean => (request.query as Query).values.has('snapshot')

function nothingAt({ originalUrl }: FastifyRequest): never {
  throw new Problem('not-found', `There is nothing at ${pathOf(originalUrl)}.`)
}

/**
 * Makes the condition that a record belongs to the one with this key.
 * @throws Problem 404 if the two entities have no relation
 */
function belongingTo(from: KnownEntity, to: KnownEntity, key: string): Json {
  const pairs = relationsBetween(from.entities, from.entity.name, to.entity.name)
  if (!pairs) throw unrelated(from, to.entity)
  const condition = keyCondition(from.entity, key)
  const fields = [from.entity.key].flat()
  // The value of a relation by the key itself is in the address, so no subquery is needed.
  if (fields.length === 1 && pairs.length === 1 && pairs[0]?.[0] === fields[0]) {
    const [, , value = null] = condition
    return ['=', pairs[0]?.[1] ?? '', value]
  }
  return [
    'in',
    pairs.map(([, other]) => other),
    ['from', from.entity.name, ['extract', pairs.map(([one]) => one), condition]],
  ]
}

function unrelated({ entity: from, entities, mayRead }: KnownEntity, to: Entity): Problem {
  const legal = [...entities.values()]
    .filter(one => mayRead(one) && relationsBetween(entities, from.name, one.name) !== undefined)
    .map(one => one.name)
  const { members } = suggestion(to.name, legal)
  const known =
    legal.length === 0 ? `${from.name} has no relations.` : `It has relations to ${legal.join(', ')}.`
  return new Problem('not-found', `${quote(from.name)} has no relation to ${quote(to.name)}. ${known}`, {
    members,
  })
}

const indented = (record: string) => `${JSON.stringify(parseWritten(record), null, 2)}\n`

/**
 * Makes the condition of an address with values in place of a key (Q24).
 * @param values segments after the entity in the address
 * @returns undefined if the entity has no such addresses
 */
function listedBy(entity: Entity, values: readonly string[]): Json | undefined {
  const names = fieldsInAddress(entity)
  if (!names || values.length === 0) return undefined
  // The last value may have slashes, as the titles of files do, which clients don't encode.
  const last = names.length - 1
  const given = values.length > last ? [...values.slice(0, last), values.slice(last).join('/')] : values
  const conditions = given.map((value, at): Json => {
    const name = names[at] ?? ''
    const text: Json = ['=', name, value]
    const isJson = entity.fields.some(field => field.name === name && field.type === 'json')
    const other = isJson ? literalOf(value) : undefined
    return other === undefined ? text : ['or', text, ['=', name, other]]
  })
  return ['and', ...conditions]
}

/** Reads a JSON value that isn't text, as an address writes it; undefined for any other text. */
function literalOf(text: string): Json | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? { number: text } : undefined
}

/** Number of events in an answer, unless the request wants fewer or more, and the most. */
const [usual, most] = [20, 100]

const asksForHistory = (request: FastifyRequest): boolean => (request.query as Query).values.has('history')

/**
 * Lists the events of a record, newest first, for callers who may write it (R13). A record that was deleted
 * still has them.
 * @param record its JSON; undefined if it is not there
 */
async function historyOf(
  request: FastifyRequest,
  entities: Pick<Entities, 'history'>,
  entity: Entity,
  key: string,
  record: string | undefined,
) {
  const {
    history = '',
    limit,
    before,
  } = singleParameters(request.query as Query, ['history', 'limit', 'before'])
  if (!parseBoolean('history', history === '' ? 'true' : history))
    throw badParameter('history', history, 'Leave out the parameter history to get the record.')
  if (request.caller.kind === 'anonymous')
    throw new Problem('authentication-required', 'Log in to see what was changed.')
  writable(entity, request.caller)
  const wanted = limit === undefined ? usual : Math.min(most, wholeNumber('limit', limit, 1))
  const object = objectOf(entity, record === undefined ? key : (parseWritten(record) as Members))
  const earlierThan = before === undefined ? null : wholeNumber('before', before, 1)
  const events = await entities.history(object, earlierThan, wanted)
  if (events.length === 0 && record === undefined) throw notFound(entity, key)
  return events.map(({ id, time, event, actor_email, changes }) => ({
    id,
    time,
    event,
    by: actor_email,
    changes: changes === null ? null : (JSON.parse(changes) as unknown),
  }))
}
