import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { type Addresses, pathOf } from '../http/addresses.ts'
import { clientOf } from '../http/client.ts'
import { contractsIn } from '../http/contract.ts'
import { parseBoolean, type Query, quote, singleParameters, suggestion } from '../http/parameters.ts'
import { precondition } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import { parseWritten } from '../lib/json.ts'
import type { Entity } from '../model/entities.ts'
import type { Plan } from '../model/plan.ts'
import { recordKey } from '../model/record-changes.ts'
import { relationsBetween } from '../model/relations.ts'
import { viewerOf } from '../model/viewer.ts'
import type { Entities } from '../storage/entities.ts'
import type { Answers } from './answer.ts'
import { bytesOf } from './bodies.ts'
import { recordTag } from './entity-tag.ts'
import { givenBy, isAllInAddress } from './given.ts'
import { keyCondition, notFound, valuesOfKey } from './keys.ts'
import { type Json, nodeOf } from './language/node.ts'
import type { LongTexts } from './long-texts.ts'
import { parseAsked } from './parse.ts'
import { type Known, planOf } from './plan.ts'
import { listedBy } from './puppetdb/listed-by.ts'
import { knownTo } from './readable.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly config: Pick<Config, 'queryBase'>
  readonly entities: Entities
  readonly answers: Answers
  readonly texts: LongTexts
}

/**
 * Registers the addresses below an entity: `…/<entity>/<key>` is one record,
 * `…/<entity>/<key>/<related entity>` lists the records that belong to it (Q16), and PuppetDB's `facts` and
 * `resources` have addresses for their values (Q24).
 */
export function belowEntityRoutes(
  app: FastifyInstance,
  { addresses, config, entities, answers, texts }: Parts,
): void {
  const contracts = {
    ':key': route('showRecord').config.contract,
    ':key/:related': route('listRelated').config.contract,
    ':key/:related/:value': route('listRelatedBelow').config.contract,
  }
  app.get('/:entity/*', { config: { contracts } }, async (request, reply) => {
    const [name = '', ...below] = segmentsOf(request, config)
    const known = await knownTo(entities, request, name)
    const direct = listedBy(known.entity, below)
    if (direct !== undefined) return list(request, reply, name, known.entity.name, () => direct)
    const [key = '', related, ...more] = below
    if (related === undefined) return sendRecord(request, reply, known, key)
    const { entity } = await knownTo(entities, request, related)
    belongingTo(known, { ...known, entity }, key)
    if ((await recordWith(request, known, key)).length === 0) throw notFound(known.entity, key)
    return list(request, reply, name, entity.name, (from, to) => {
      const narrower = more.length === 0 ? [] : [listedBy(to.entity, more) ?? nothingAt(request)]
      return ['and', belongingTo(from, to, key), ...narrower]
    })
  })

  /** @param condition called again after the request has waited, because entities may have changed */
  async function list(
    request: FastifyRequest,
    reply: FastifyReply,
    from: string,
    to: string,
    condition: (from: Found, to: Found) => Json,
  ) {
    const asked = parseAsked(
      isAllInAddress(request) ? (request.query as Query) : await givenBy(request, texts),
    )
    const address = addresses.query + pathOf(request.url).slice(config.queryBase.length)
    return answers.answer(request, reply, address, async () => {
      const known = await knownTo(entities, request, to)
      const also = nodeOf(condition(await knownTo(entities, request, from), known))
      return { asked, plan: await texts.plan(asked, known, clientOf(request), { also }) }
    })
  }

  /** @returns the JSON of the record with this key; empty if there is none */
  async function recordWith(request: FastifyRequest, known: Found, key: string): Promise<Buffer> {
    const [plan, name] = keyPlan(known, key)
    if (known.entity.source.kind === 'records') {
      const { json } = await entities.record(plan, name, clientOf(request))
      return Buffer.from(json ?? '')
    }
    const { body } = await entities.list(plan, viewerOf(request.caller), 'json', clientOf(request))
    return bytesOf(body)
  }

  async function sendRecord(request: FastifyRequest, reply: FastifyReply, known: Found, key: string) {
    const { pretty } = singleParameters(request.query as Query, ['pretty'])
    const record = await recordWith(request, known, key)
    if (record.length === 0) throw notFound(known.entity, key)
    const tag = recordTag(record)
    reply.header('etag', tag).header('vary', 'Origin').type('application/json')
    if (precondition(request.headers, tag) === 304) return reply.code(304).send()
    return reply.send(pretty !== undefined && parseBoolean('pretty', pretty) ? indented(record) : record)
  }
}

export type Found = Known & { readonly entity: Entity }

/**
 * Makes the arguments of `Entities.record`: a plan for the record with this key, and its name. The default
 * condition doesn't apply to a record that is named by its address (Q25): in PuppetDB, an inactive node keeps
 * its address, too.
 */
export function keyPlan(known: Found, key: string): readonly [plan: Plan, name: string] {
  const { defaultCondition: _, ...entity } = known.entity
  return [
    planOf(oneRecord, { ...known, entity }, { also: nodeOf(keyCondition(entity, key)) }),
    recordKey(entity, valuesOfKey(entity, key)),
  ]
}

const oneRecord = parseAsked({ values: new Map([['limit', ['1']]]), sent: [], malformed: null })

/** Splits the path below the query base. The router decodes a slash in a key, so the path is read again. */
export function segmentsOf(
  request: FastifyRequest,
  { queryBase }: Pick<Config, 'queryBase'>,
): readonly string[] {
  try {
    return pathOf(request.url)
      .slice(queryBase.length)
      .replace(/^\/|\/$/g, '')
      .split('/')
      .map(decodeURIComponent)
  } catch {
    throw new Problem('bad-request', 'The address has bad percent-encoding.')
  }
}

function nothingAt({ originalUrl }: FastifyRequest): never {
  throw new Problem('not-found', `There is nothing at ${pathOf(originalUrl)}.`)
}

/**
 * Makes the condition that a record belongs to the one with this key.
 * @throws Problem 404 if the two entities have no relation
 */
function belongingTo(from: Found, to: Found, key: string): Json {
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

function unrelated({ entity: from, entities, mayRead }: Found, to: Entity): Problem {
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

const indented = (record: Uint8Array) =>
  Buffer.from(`${JSON.stringify(parseWritten(Buffer.from(record).toString()), null, 2)}\n`)
