import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { jsonOf, patchOf, urisOf } from '../../http/access.ts'
import { eventOf } from '../../http/audit.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { jsonObject } from '../../http/json-body.ts'
import { type Operation, patchBody, patchRefused } from '../../http/json-patch.ts'
import { Problem } from '../../http/problems.ts'
import { readAddressedUuid, takeUriLists } from '../../http/uri-list.ts'
import type { ItemChange } from '../../model/item-changes.ts'
import type { Bundle } from '../../model/items.ts'
import { bundleBody } from '../bodies.ts'
import type { EditingParts } from './items.ts'
import { bodyLimit, patchBounds, refuseOutcome } from './outcomes.ts'
import { byWriters, writableBundle, writableItem } from './rights.ts'
import { lineFault } from './texts.ts'

const route = contractsIn(() => import('./contracts.ts'))

type Route = { Params: { uuid: string } }

/**
 * `POST /api/core/items/{uuid}/bundles`, and changes of a bundle: the order of its files, its primary one,
 * its deletion.
 */
export function editBundleRoutes(app: FastifyInstance, { addresses, repository }: EditingParts): void {
  const routes = routesOf(app)
  takeUriLists(app)
  const core = `${addresses.api}/core`
  const url = '/core/bundles/:uuid'

  const change = async (request: FastifyRequest, one: ItemChange, what: string) =>
    refuseOutcome(
      await repository.change(
        one,
        eventOf(request.caller, request, { event: 'bundle.change', outcome: 'success' }),
      ),
      what,
    )

  routes.post<Route>(
    '/core/items/:uuid/bundles',
    route('addBundle', byWriters(jsonOf(bodyLimit))),
    async (request, reply) => {
      const { uuid: item } = await writableItem(repository, request.caller, request.params.uuid)
      const { name, metadata } = jsonObject(request)
      if (typeof name !== 'string')
        throw new Problem('change-refused', 'A bundle must have a name, a string.')
      const fault = lineFault(name)
      if (fault !== undefined) throw new Problem('change-refused', `The name of the bundle ${fault}.`)
      refuseMetadata(metadata)
      const uuid = randomUUID()
      await change(request, { kind: 'add-bundle', item, uuid, name }, 'bundle')
      return reply
        .code(201)
        .header('location', `${core}/bundles/${uuid}`)
        .send(bundleBody({ uuid, name }, core))
    },
  )

  routes.delete<Route>(url, route('deleteBundle', byWriters('unused')), async (request, reply) => {
    const { uuid } = await writableBundle(repository, request.caller, request.params.uuid)
    await change(request, { kind: 'delete-bundle', bundle: uuid }, 'bundle')
    return reply.code(204).send()
  })

  routes.patch<Route>(url, route('changeBundle', byWriters(patchOf(bodyLimit))), async (request, reply) => {
    const bundle = await writableBundle(repository, request.caller, request.params.uuid)
    const moves = patchBody(request, patchBounds).map(readMove)
    const outcome = await repository.change(
      { kind: 'order-bitstreams', bundle: bundle.uuid, moves },
      eventOf(request.caller, request, { event: 'bundle.change', outcome: 'success' }),
    )
    if (outcome === 'gone') throw new Problem('patch-refused', 'The bundle has no file at one of the places.')
    return reply.send(bundleBody(bundle, core))
  })

  const primary = `${url}/primaryBitstream`
  async function setPrimary(request: FastifyRequest<Route>): Promise<Bundle> {
    const bundle = await writableBundle(repository, request.caller, request.params.uuid)
    const bitstream = readAddressedUuid(request, '/core/bitstreams/')
    const file = await repository.bitstream(bitstream)
    if (file?.item !== bundle.item || file.bundle !== bundle.name)
      throw new Problem('change-refused', 'The primary file must be a file of the bundle.')
    await change(request, { kind: 'set-primary', bundle: bundle.uuid, bitstream }, 'file')
    return bundle
  }
  routes.post<Route>(
    primary,
    route('addPrimaryBitstream', byWriters(urisOf(bodyLimit))),
    async (request, reply) => reply.code(201).send(bundleBody(await setPrimary(request), core)),
  )
  routes.put<Route>(primary, route('setPrimaryBitstream', byWriters(urisOf(bodyLimit))), async request =>
    bundleBody(await setPrimary(request), core),
  )
  routes.delete<Route>(
    primary,
    route('removePrimaryBitstream', byWriters('unused')),
    async (request, reply) => {
      const { uuid } = await writableBundle(repository, request.caller, request.params.uuid)
      await change(request, { kind: 'set-primary', bundle: uuid, bitstream: null }, 'bundle')
      return reply.code(204).send()
    },
  )
}

/** A bundle has a name, and no other metadata. Clients send an empty object. */
function refuseMetadata(metadata: unknown): void {
  if (metadata === undefined || metadata === null) return
  if (typeof metadata === 'object' && Object.keys(metadata).every(field => field === 'dc.title')) return
  throw new Problem('change-refused', 'A bundle has a name, and no other metadata.')
}

/** Reads how DSpace's interface moves a file: from `/_links/bitstreams/3/href` to `/_links/bitstreams/0/href`. */
function readMove({ index, op, from, path }: Operation): readonly [from: number, to: number] {
  const place = (tokens: readonly string[] | null) => {
    const [links, bitstreams, at = '', href] = tokens ?? []
    const isPlace =
      links === '_links' && bitstreams === 'bitstreams' && href === 'href' && tokens?.length === 4
    return isPlace && /^(0|[1-9]\d{0,5})$/.test(at) ? Number(at) : undefined
  }
  const [first, second] = [place(from), place(path)]
  if (op !== 'move' || first === undefined || second === undefined)
    throw patchRefused(
      index,
      'only files can be moved, such as from /_links/bitstreams/3/href to /_links/bitstreams/0/href.',
    )
  return [first, second]
}
