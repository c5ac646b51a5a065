import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { changes, jsonOf, patchOf } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { contractsIn, type Routes, routesOf } from '../../http/contract.ts'
import { jsonObject } from '../../http/json-body.ts'
import { patchBody } from '../../http/json-patch.ts'
import { type Query, single } from '../../http/parameters.ts'
import { requireMatch } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { type Caller, isAdministrator } from '../../model/caller.ts'
import { type Item, withoutHidden } from '../../model/items.ts'
import { itemBody, itemTag } from '../bodies.ts'
import type { Repository } from '../statements/repository.ts'
import { patchItem, readItem } from './item-values.ts'
import { bodyLimit, patchBounds, refuseOutcome, retryStale } from './outcomes.ts'
import { byWriters, writableItem } from './rights.ts'

const route = contractsIn(() => import('./contracts.ts'))

export interface EditingParts {
  readonly addresses: Pick<Addresses, 'api'>
  readonly config: Pick<Config, 'hiddenMetadata'>
  readonly repository: Repository
}
type Route = { Params: { uuid: string } }
type Values = Pick<Item, 'metadata' | 'withdrawn' | 'discoverable'>

const url = '/core/items/:uuid'

/** Functions that the routes of items share. */
function itemsIn({ addresses, config, repository }: EditingParts) {
  const core = `${addresses.api}/core`
  const hiddenFrom = (caller: Caller) => (isAdministrator(caller) ? [] : config.hiddenMetadata)
  const seenBy = (caller: Caller, item: Item) => withoutHidden(item, hiddenFrom(caller))
  const shown = (reply: FastifyReply, caller: Caller, item: Item) => {
    const seen = seenBy(caller, item)
    return reply.header('etag', itemTag(seen)).send(itemBody(seen, core))
  }

  async function stored(uuid: string): Promise<Item> {
    const item = await repository.item(uuid)
    if (!item) throw new Problem('not-found', 'The item was deleted meanwhile.')
    return item
  }

  return { core, hiddenFrom, seenBy, shown, stored }
}

type Items = ReturnType<typeof itemsIn>

/** `POST /api/core/items`, and `PATCH`, `PUT` and `DELETE` of one (docs/decisions/0043). */
export function editItemRoutes(app: FastifyInstance, parts: EditingParts): void {
  const routes = routesOf(app)
  const { repository } = parts
  const items = itemsIn(parts)
  const { core, seenBy, shown, stored } = items

  routes.post(
    '/core/items',
    route('addItem', changes('administrator', 'items', jsonOf(bodyLimit), { to: 'add items' })),
    async (request, reply) => {
      const { caller } = request
      if (single(request.query as Query, 'owningCollection'))
        throw new Problem('change-refused', 'Carrel has no collections: leave out owningCollection.')
      const values = readItem(jsonObject(request))
      // The UUID is the identifier, too: nothing outside knows the item yet.
      const uuid = randomUUID()
      const event = eventOf(caller, request, { event: 'item.add', outcome: 'success' })
      const change = { kind: 'create-item', uuid, identifier: uuid, ...values } as const
      refuseOutcome(await repository.change(change, event), 'item')
      const item = await stored(uuid)
      return shown(reply.code(201).header('location', `${core}/items/${uuid}`), caller, item)
    },
  )

  changeRoutes(routes, parts, items)

  routes.delete<Route>(
    url,
    route('deleteItem', changes('administrator', 'items', 'unused', { to: 'delete items' })),
    async (request, reply) => {
      const { caller } = request
      const item = await writableItem(repository, caller, request.params.uuid)
      requireMatch(request.headers, itemTag(seenBy(caller, item)), 'item')
      const revision = request.headers['if-match'] === undefined ? null : item.revision
      const event = eventOf(caller, request, { event: 'item.delete', outcome: 'success' })
      refuseOutcome(
        await repository.change({ kind: 'delete-item', item: item.uuid, revision }, event),
        'item',
      )
      return reply.code(204).send()
    },
  )
}

function changeRoutes(routes: Routes, { config, repository }: EditingParts, items: Items): void {
  const { hiddenFrom, seenBy, shown, stored } = items

  /** Changes an item, and begins again if another change came first, so that none is lost. */
  async function edit(
    request: FastifyRequest<Route>,
    next: (visible: Values, hidden: readonly string[]) => Partial<Values>,
  ): Promise<Item> {
    const { caller, params } = request
    const event = eventOf(caller, request, { event: 'item.change', outcome: 'success' })
    const outcome = await retryStale(async () => {
      const item = await writableItem(repository, caller, params.uuid)
      const seen = seenBy(caller, item)
      requireMatch(request.headers, itemTag(seen), 'item')
      const hidden = hiddenFrom(caller)
      const values = next(seen, hidden)
      const kept = Object.entries(item.metadata).filter(([field]) => hidden.includes(field))
      const metadata = values.metadata && { ...values.metadata, ...Object.fromEntries(kept) }
      const { uuid, revision } = item
      const edit = { kind: 'edit-item', item: uuid, revision, hidden: config.hiddenMetadata } as const
      return repository.change({ ...edit, ...values, ...(metadata && { metadata }) }, event)
    })
    refuseOutcome(outcome, 'item')
    return stored(params.uuid.toLowerCase())
  }

  routes.patch<Route>(url, route('changeItem', byWriters(patchOf(bodyLimit))), async (request, reply) => {
    await writableItem(repository, request.caller, request.params.uuid)
    const operations = patchBody(request, patchBounds)
    const item = await edit(request, (before, hidden) => patchItem(before, operations, hidden))
    return shown(reply, request.caller, item)
  })

  routes.put<Route>(url, route('putItem', byWriters(jsonOf(bodyLimit))), async (request, reply) => {
    const { uuid } = await writableItem(repository, request.caller, request.params.uuid)
    const body = jsonObject(request)
    for (const name of ['id', 'uuid'])
      if (body[name] !== undefined && body[name] !== null && body[name] !== uuid)
        throw new Problem('change-refused', `The ${name} of an item can’t be changed.`)
    const item = await edit(request, (before, hidden) => {
      const given = readItem(body, before)
      const secret = Object.keys(given.metadata).find(field => hidden.includes(field))
      if (secret !== undefined) throw new Problem('change-refused', `You may not write ${secret}.`)
      return given
    })
    return shown(reply, request.caller, item)
  })
}
