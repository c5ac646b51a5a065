import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import type { Addresses } from '../http/addresses.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn } from '../http/contract.ts'
import { badParameter, parseBoolean, type Query, tokenParameter } from '../http/parameters.ts'
import type { Threads } from '../lib/threads/thread.ts'
import type { Caller } from '../model/caller.ts'
import { describedFields } from '../model/declared-fields.ts'
import type { Entity } from '../model/entities.ts'
import type { Keyring } from '../model/keys.ts'
import type { Limits } from '../model/limits.ts'
import type { Measures } from '../model/measures.ts'
import { relationsOf } from '../model/relations.ts'
import type { Entities } from '../storage/entities.ts'
import { createAnswers } from './answer.ts'
import { belowEntityRoutes } from './below-entity.ts'
import { createChangeFeed } from './change-feed.ts'
import type { ChangeParts } from './changes.ts'
import { accessOf, givenBy, isAllInAddress, limitLargeBodies, queryRoute, readForm } from './given.ts'
import { createLongTexts } from './long-texts.ts'
import { parseAsked } from './parse.ts'
import { puppetDbRoutes } from './puppetdb-routes.ts'
import { knownTo, mayReadEntity, mayWriteEntity } from './readable.ts'
import { createSnapshots } from './snapshots.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly entities: Entities
  readonly config: Config
  readonly keyring: Keyring
  readonly limits: Limits
  /** Brings `request.caller` up to date when the request has waited (T12). */
  readonly lookAgain: {
    afterWaiting(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
    readonly isStill: ChangeParts['isStill']
  }
  readonly measures: Pick<Measures, 'queue'>
  readonly threads: Threads
}

/** Registers the addresses below the query base (contract section 9). */
export function queryRoutes(app: FastifyInstance, parts: Parts): void {
  const { addresses, config, entities, keyring, limits, measures, threads } = parts
  const texts = createLongTexts({ threads, loops: limits.loops, measures: measures.queue('long texts') })
  app.addHook('onClose', () => texts.close())
  app.addHook('preParsing', readForm)
  limitLargeBodies(app, { loops: limits.loops, measures: measures.queue('large bodies') })
  const snapshots = createSnapshots({ entities, keyring, time: config.keptVersions.held.time })
  const { afterWaiting, isStill } = parts.lookAgain
  const answers = createAnswers({ ...parts, lookAgain: afterWaiting, snapshots, texts })

  queryRoute(
    app,
    '/',
    method => route('query', accessOf(method), method),
    async (request, reply) => {
      const given = await givenBy(request, texts)
      const onlyAst = given.values.get('ast_only')
      const asked = parseAsked(given, ['ast_only'])
      const { query } = asked
      if (query === undefined) {
        refuseOthers(given)
        return describeEntities(await entities.all(), request.caller, addresses)
      }
      if (onlyAst !== undefined && parseBoolean('ast_only', onlyAst[0] ?? ''))
        return reply.type('application/json').send(Buffer.from(await texts.ast(query, clientOf(request))))
      const known = await snapshots.at(await knownTo(entities, request, null), asked.snapshot)
      const plan = await texts.plan(asked, known, clientOf(request))
      const wanted = { asked, address: addresses.query, entity: null, change: undefined, as: 'rows' } as const
      return answers.send(request, reply, wanted, plan)
    },
  )

  queryRoute(
    app,
    '/:entity',
    method => route('listRecords', accessOf(method), method),
    async (request, reply) => {
      const given = isAllInAddress(request) ? (request.query as Query) : await givenBy(request, texts)
      const { entity: name } = request.params as { readonly entity: string }
      // A caller who may not read the entity isn't told what is wrong with the parameters.
      const now = await knownTo(entities, request, name)
      const asked = parseAsked(given)
      const known = await snapshots.at(now, asked.snapshot)
      const plan = await texts.plan(asked, known, clientOf(request))
      const address = `${addresses.query}/${name}`
      const wanted = { asked, address, entity: name, change: undefined, as: 'rows' } as const
      return answers.send(request, reply, wanted, plan)
    },
  )

  puppetDbRoutes(app, { addresses, entities, answers, snapshots, texts })
  const feed = createChangeFeed(entities, limits.loops().wanted)
  app.addHook('preClose', async () => feed.close())
  belowEntityRoutes(app, { ...parts, answers, feed, isStill, snapshots, texts })
}

/** @throws Problem 400 for a parameter that means nothing without a query */
function refuseOthers({ values }: Query): void {
  for (const [name, [value = '']] of values)
    if (name !== 'query' && name !== tokenParameter)
      throw badParameter(
        name,
        value,
        `The parameter ${name} means nothing here without the parameter query.`,
        { legal: ['query'] },
      )
}

/** The fields with their declarations. A reference to an entity that the caller may not read is left out. */
const fieldsFor = (entity: Entity, readable: ReadonlyMap<string, Entity>) =>
  describedFields(entity).map(({ references, ...field }) =>
    references === undefined || !readable.has(references) ? field : { ...field, references },
  )

/** Describes the entities that the caller may read, and what can be asked of them (Q12). */
function describeEntities(
  all: ReadonlyMap<string, Entity>,
  caller: Caller,
  { query }: Pick<Addresses, 'query'>,
) {
  const readable = new Map([...all].filter(([, entity]) => mayReadEntity(caller, entity)))
  return [...readable.values()].map(entity => {
    const { name, description, key } = entity
    // A relation to an entity that the caller may not read is as unknown as the entity.
    const relations = relationsOf(entity, readable)
    return {
      name,
      ...(description !== undefined && { description }),
      key,
      fields: fieldsFor(entity, readable),
      ...(relations.length > 0 && { relations }),
      ...(mayWriteEntity(caller, entity) && { writable: true }),
      href: `${query}/${name}`,
    }
  })
}
