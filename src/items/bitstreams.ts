import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { openRightTo, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, type Routes, routesOf } from '../http/contract.ts'
import { halPage, halPart, readPage, windowOf } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { mayRead, viewerOf } from '../model/caller.ts'
import type { Entities } from '../storage/entities.ts'
import { bundleWith, readableBitstream, readableBundle, readableItem } from './access.ts'
import { accessStatusBody, bitstreamBody, bundleBody, itemBody, type ShownBitstream } from './bodies.ts'
import { allFormats, formatBody, formatOfId } from './formats.ts'
import { listPage } from './list.ts'
import type { Repository } from './statements/repository.ts'

const route = contractsIn(() => import('./contracts.ts'))
const toReaders = reads(openRightTo('read the item'), 'items')
const toAnybody = reads('anybody', 'items')

interface Parts {
  readonly addresses: Addresses
  readonly entities: Entities
  readonly config: Pick<Config, 'hiddenMetadata'>
  readonly repository: Repository
}
type Route = { Params: { uuid: string } }

/**
 * `GET /api/core/bitstreams…`, `/bundles…` and `/bitstreamformats…`: descriptions of files, and what they link to.
 * Their content is in `src/files/download.ts`. A caller who may not read a file may not read its description either.
 */
export function bitstreamRoutes(app: FastifyInstance, parts: Parts): void {
  const routes = routesOf(app)
  const core = `${parts.addresses.api}/core`
  fileRoutes(routes, core, parts)
  bundleRoutes(routes, core, parts)
  formatRoutes(routes, core)
}

function fileRoutes(routes: Routes, core: string, { entities, repository }: Parts): void {
  const url = '/core/bitstreams/:uuid'
  routes.get('/core/bitstreams', route('listBitstreams', toReaders), async request =>
    listPage<ShownBitstream>(
      entities,
      { name: 'bitstreams', self: `${core}/bitstreams`, body: row => bitstreamBody(row, core) },
      request,
    ),
  )
  routes.get<Route>(url, route('showBitstream', toReaders), async ({ caller, params }) =>
    bitstreamBody(await readableBitstream(repository, caller, params.uuid), core),
  )
  routes.get<Route>(
    `${url}/bundle`,
    route('showBundleOfBitstream', toReaders),
    async ({ caller, params }) => {
      const bitstream = await readableBitstream(repository, caller, params.uuid)
      return bundleBody(await bundleWith(repository, bitstream), core)
    },
  )
  routes.get<Route>(
    `${url}/format`,
    route('showFormatOfBitstream', toReaders),
    async ({ caller, params }) => {
      const { mimeType } = await readableBitstream(repository, caller, params.uuid)
      return formatBody(mimeType, core)
    },
  )
  routes.get<Route>(
    `${url}/thumbnail`,
    route('showThumbnail', toReaders),
    async ({ caller, params }, reply) => {
      const bitstream = await readableBitstream(repository, caller, params.uuid)
      const picture = await repository.thumbnailOf(bitstream)
      if (!picture || !mayRead(caller, picture.readers)) return reply.code(204).send()
      return bitstreamBody(picture, core)
    },
  )
  routes.get<Route>(
    `${url}/accessStatus`,
    route('showAccessOfBitstream', toReaders),
    async ({ caller, params }) => {
      const { uuid, readers } = await readableBitstream(repository, caller, params.uuid)
      return accessStatusBody(readers, `${core}/bitstreams/${uuid}/accessStatus`)
    },
  )
}

function bundleRoutes(routes: Routes, core: string, { config, repository }: Parts): void {
  const url = '/core/bundles/:uuid'
  routes.get<Route>(url, route('showBundle', toReaders), async ({ caller, params }) =>
    bundleBody(await readableBundle(repository, caller, params.uuid), core),
  )
  routes.get<Route>(
    `${url}/bitstreams`,
    route('listBitstreamsOfBundle', toReaders),
    async ({ caller, params, query }) => {
      const { uuid, item, name } = await readableBundle(repository, caller, params.uuid)
      const page = readPage(query as Query)
      const { rows, total } = await repository.bitstreamsIn(
        { item, bundle: name },
        viewerOf(caller),
        windowOf(page),
      )
      const bodies = rows.map(one => bitstreamBody(one, core))
      return halPart('bitstreams', bodies, total, page, `${core}/bundles/${uuid}/bitstreams`)
    },
  )
  routes.get<Route>(`${url}/item`, route('showItemOfBundle', toReaders), async ({ caller, params }) => {
    const { item } = await readableBundle(repository, caller, params.uuid)
    return itemBody(await readableItem({ config, repository }, caller, item), core)
  })
  routes.get<Route>(
    `${url}/primaryBitstream`,
    route('showPrimaryBitstream', toReaders),
    async ({ caller, params }, reply) => {
      const { primary } = await readableBundle(repository, caller, params.uuid)
      const file = primary === null ? undefined : await repository.bitstream(primary)
      if (!file || !mayRead(caller, file.readers)) return reply.code(204).send()
      return bitstreamBody(file, core)
    },
  )
}

function formatRoutes(routes: Routes, core: string): void {
  const url = '/core/bitstreamformats'
  routes.get(url, route('listFormats', toAnybody), async request =>
    halPage(
      'bitstreamformats',
      allFormats(core),
      readPage(request.query as Query),
      `${core}/bitstreamformats`,
    ),
  )
  routes.get<{ Params: { id: string } }>(`${url}/:id`, route('showFormat', toAnybody), async ({ params }) => {
    const format = formatOfId(params.id, core)
    if (!format) throw new Problem('not-found', 'There is no format with this id.')
    return format
  })
}
