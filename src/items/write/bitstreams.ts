import type { FastifyInstance, FastifyRequest } from 'fastify'
import { patchOf, urisOf } from '../../http/access.ts'
import { eventOf } from '../../http/audit.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { type Operation, patchBody, patchRefused } from '../../http/json-patch.ts'
import { Problem } from '../../http/problems.ts'
import { readAddress, takeUriLists } from '../../http/uri-list.ts'
import { readUuid } from '../../lib/uuids.ts'
import type { EditBitstream } from '../../model/item-changes.ts'
import { bitstreamBody } from '../bodies.ts'
import { formatOfId } from '../formats.ts'
import { describedBy, metadataOf, nameChanged, withSafeNames } from './file-metadata.ts'
import type { EditingParts } from './items.ts'
import { patchMetadata } from './metadata-patch.ts'
import { bodyLimit, patchBounds, refuseOutcome } from './outcomes.ts'
import { byWriters, writableBitstream } from './rights.ts'

const route = contractsIn(() => import('./contracts.ts'))

type Route = { Params: { uuid: string } }

/** Changes of files: name, description, format, and deletion, one by one or many at once. */
export function editBitstreamRoutes(app: FastifyInstance, { addresses, repository }: EditingParts): void {
  const routes = routesOf(app)
  takeUriLists(app)
  const core = `${addresses.api}/core`
  const url = '/core/bitstreams/:uuid'

  async function edit(request: FastifyRequest<Route>, change: EditBitstream) {
    const event = eventOf(request.caller, request, { event: 'bitstream.change', outcome: 'success' })
    refuseOutcome(await repository.change(change, event), 'file')
    const bitstream = await repository.bitstream(change.bitstream)
    if (!bitstream) throw new Problem('not-found', 'The file was deleted meanwhile.')
    return bitstreamBody(bitstream, core)
  }

  routes.patch<Route>(
    url,
    route('changeBitstream', byWriters(patchOf(bodyLimit))),
    async (request, reply) => {
      const file = await writableBitstream(repository, request.caller, request.params.uuid)
      const { operations, isRenamed } = withSafeNames(patchBody(request, patchBounds))
      const other = operations.find(({ path }) => path[0] !== 'metadata')
      if (other) throw patchRefused(other.index, 'the path must be below /metadata.')
      const described = describedBy(patchMetadata(metadataOf(file), operations), file.name)
      const changed = {
        ...(described.name === file.name ? {} : { name: described.name }),
        ...(described.description === file.description ? {} : { description: described.description }),
      }
      const body = await edit(request, { kind: 'edit-bitstream', bitstream: file.uuid, ...changed })
      if (described.isChanged || isRenamed) reply.header(nameChanged, 'true')
      return body
    },
  )

  routes.put<Route>(`${url}/format`, route('setFormat', byWriters(urisOf(bodyLimit))), async request => {
    const { uuid } = await writableBitstream(repository, request.caller, request.params.uuid)
    const id = readAddress(request, '/core/bitstreamformats/')
    const format = formatOfId(decoded(id), core)
    if (!format) throw new Problem('change-refused', 'There is no format with this address.')
    return edit(request, { kind: 'edit-bitstream', bitstream: uuid, mimeType: format.mimetype })
  })

  async function remove(request: FastifyRequest, bitstreams: readonly string[]) {
    const event = eventOf(request.caller, request, { event: 'bitstream.delete', outcome: 'success' })
    refuseOutcome(await repository.change({ kind: 'delete-bitstreams', bitstreams }, event), 'file')
  }
  routes.delete<Route>(url, route('deleteBitstream', byWriters('unused')), async (request, reply) => {
    const { uuid } = await writableBitstream(repository, request.caller, request.params.uuid)
    await remove(request, [uuid])
    return reply.code(204).send()
  })
  routes.patch(
    '/core/bitstreams',
    route('deleteBitstreams', byWriters(patchOf(bodyLimit))),
    async (request, reply) => {
      const uuids = patchBody(request, patchBounds).map(readRemoval)
      for (const uuid of uuids) await writableBitstream(repository, request.caller, uuid)
      await remove(request, uuids)
      return reply.code(204).send()
    },
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/**
 * Reads an operation by which DSpace's interface deletes many files: `{"op": "remove", "path": "/bitstreams/<uuid>"}`.
 */
function readRemoval({ index, op, path }: Operation): string {
  const uuid = path.length === 2 && path[0] === 'bitstreams' ? readUuid(path[1] ?? '') : undefined
  if (op !== 'remove' || uuid === undefined)
    throw patchRefused(index, 'files can only be removed, as /bitstreams/<uuid>.')
  return uuid
}
