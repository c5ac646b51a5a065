import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SpecialGroups } from '../../authn/special-groups.ts'
import type { Config } from '../../config/config.ts'
import { clientOf } from '../../http/connection.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { badParameter, type Query, quote, singleParameters } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import type { Repository } from '../../items/statements/repository.ts'
import type { Client } from '../../lib/fair-queue.ts'
import { readUuid } from '../../lib/uuids.ts'
import { type Caller, isAdministrator, viewerOf } from '../../model/caller.ts'
import type { Entity } from '../../model/entities.ts'
import { listOf } from '../../model/plan.ts'
import {
  admits,
  admitsWriter,
  describeReaders,
  type Readers,
  today,
  type Viewer,
} from '../../model/readers.ts'
import type { People } from '../../people/statements.ts'
import { keyPlan } from '../../query/keys.ts'
import { mayReadEntity, mayWriteEntity } from '../../query/readable.ts'
import type { Entities } from '../../storage/entities.ts'
import type { Sessions } from '../../storage/statements/sessions.ts'
import { callerWith, explainedGroups, wayOf } from './groups.ts'
import { toOperators } from './upkeep-routes.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly people: Pick<People, 'eperson' | 'groupsByUuid' | 'membershipsOf'>
  readonly sessions: Pick<Sessions, 'of'>
  readonly config: Pick<Config, 'ipGroups' | 'loginMethods' | 'methodGroups'>
  readonly entities: Entities
  readonly repository: Pick<Repository, 'bitstream' | 'item'>
  readonly specialGroups: SpecialGroups
}

/** Shows what an eperson may see, and by which rule (OP6). */
export function accessRoutes(app: FastifyInstance, parts: Parts): void {
  const { people, sessions, config, entities } = parts
  routesOf(app).get<{ Params: { uuid: string } }>(
    '/epersons/:uuid/access',
    route('showAccess', toOperators),
    async request => {
      const given = singleParameters(request.query as Query, ['address', 'method', 'object', 'entity', 'key'])
      const eperson = await people.eperson(readUuid(request.params.uuid) ?? '')
      if (!eperson) throw new Problem('not-found', 'There is no eperson with this UUID.')
      const way = wayOf(given, config)
      const session = (await sessions.of(eperson.uuid)) ?? null
      const caller = await callerWith(session, way, parts)
      const { groups, total } = await explainedGroups(caller, way, parts)
      const all = [...(await entities.all()).values()].toSorted((one, other) =>
        one.name < other.name ? -1 : 1,
      )
      return {
        eperson: { uuid: eperson.uuid, email: eperson.email, canLogIn: eperson.enabled },
        administrator: session?.administrator ?? false,
        ...way,
        groups,
        groupsTotal: total,
        entities: all.slice(0, maxEntities).map(entity => mayOfEntity(caller, entity)),
        entitiesTotal: all.length,
        items: await countOf('items', viewerOf(caller), request),
        files: await countOf('bitstreams', viewerOf(caller), request),
        ...(given.object !== undefined && { object: await ofObject(given.object, caller) }),
        ...(given.entity !== undefined && { record: await ofRecord(given, caller, request) }),
      }
    },
  )

  async function countOf(name: string, viewer: Viewer, request: FastifyRequest): Promise<number> {
    const entity = (await entities.all()).get(name)
    if (!entity) throw new Error(`there is no entity ${name}`)
    const plan = listOf(entity, { order: [], offset: 0, limit: 1, total: true })
    return (await entities.list(plan, viewer, 'json', clientOf(request))).total ?? 0
  }

  async function ofObject(text: string, caller: Caller) {
    const uuid = readUuid(text)
    if (uuid === undefined)
      throw badParameter('object', text, 'The parameter object must be the UUID of an item or a file.')
    const item = await parts.repository.item(uuid)
    if (item)
      return {
        uuid,
        type: 'item',
        withdrawn: item.withdrawn,
        discoverable: item.discoverable,
        read: mayReadBy(caller, item.readers),
        write: mayWriteBy(caller, item.readers),
      }
    const file = await parts.repository.bitstream(uuid)
    if (!file)
      throw new Problem('not-found', 'There is no item or file with the UUID in the parameter object.')
    return {
      uuid,
      type: 'bitstream',
      item: file.item,
      read: mayReadBy(caller, file.readers),
      write: mayWriteBy(caller, (await parts.repository.item(file.item))?.readers ?? []),
    }
  }

  async function ofRecord(
    { entity: name = '', key }: { readonly entity?: string; readonly key?: string },
    caller: Caller,
    request: FastifyRequest,
  ) {
    const all = await entities.all()
    const entity = all.get(name)
    if (!entity) throw badParameter('entity', name, `There is no entity ${quote(name)}.`)
    const may = mayOfEntity(caller, entity)
    if (key === undefined) return { entity: name, read: may.read, write: may.write }
    const [plan] = keyPlan(entity, key)
    const isThere = async (viewer: Viewer, client: Client) =>
      ((await entities.list({ ...plan, page: { ...plan.page, total: true } }, viewer, 'json', client))
        .total ?? 0) > 0
    if (!(await isThere({ kind: 'administrator' }, clientOf(request))))
      throw new Problem('not-found', `${name} has no record with the key ${quote(key)}.`)
    const sees = may.read.may && (await isThere(viewerOf(caller), clientOf(request)))
    // The entity's rule lets them read, but this record is not among those that they see.
    const read = sees ? may.read : { may: false, because: null }
    return { entity: name, key, read, write: sees ? may.write : { may: false, because: null } }
  }
}

/** Maximum number of entities listed; the list of entities shows the rest. */
const maxEntities = 1_000

/**
 * A right of an eperson and its reason. The functions that decide requests decide the right; only the reason
 * is determined here.
 */
interface May {
  readonly may: boolean
  /** The rule that grants the right: `administrator`, or a rule as people write it; null if there is none. */
  readonly because: string | null
}

const administrator = 'administrator'

function may(is: boolean, because: () => string | null): May {
  return { may: is, because: is ? because() : null }
}

const mayOfEntity = (caller: Caller, entity: Entity) => ({
  name: entity.name,
  read: may(mayReadEntity(caller, entity), () => reasonOf(caller, entity.read)),
  write: may(mayWriteEntity(caller, entity), () => reasonOf(caller, entity.write ?? null)),
})

const reasonOf = (caller: Caller, rule: string | null) =>
  rule !== 'anonymous' && isAdministrator(caller) ? administrator : rule

function mayReadBy(caller: Caller, readers: Readers): May {
  const viewer = viewerOf(caller)
  const day = today()
  return may(admits(readers, viewer, day), () =>
    viewer.kind === 'administrator' ? administrator : said(readers.find(rule => admits([rule], viewer, day))),
  )
}

function mayWriteBy(caller: Caller, readers: Readers): May {
  const viewer = viewerOf(caller)
  const day = today()
  return may(admitsWriter(readers, viewer, day), () =>
    viewer.kind === 'administrator'
      ? administrator
      : said(readers.find(rule => admitsWriter([rule], viewer, day))),
  )
}

const said = (rule: Readers[number] | undefined) => (rule ? describeReaders([rule]) : null)
