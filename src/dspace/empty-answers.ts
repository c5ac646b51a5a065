import type { FastifyInstance } from 'fastify'
import { acceptsShortLived, changes, outside, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, readPage, selfOf } from '../http/hal.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { readUuid } from '../lib/uuids.ts'
import { emptyLists } from './empty-lists.ts'

const route = contractsIn(() => import('./empty-contracts.ts'))
const linkRoute = contractsIn(() => import('../items/contracts.ts'))

/**
 * Answers for features that DSpace's user interface asks for and Carrel doesn't have: lists that are empty, a
 * search that finds nothing, views that are not counted. Without these answers the interface doesn't start,
 * its pages load forever, or the browser's console fills with errors.
 */
export function emptyAnswerRoutes(app: FastifyInstance, { api }: Pick<Addresses, 'api'>): void {
  const link = (path: string) => ({ href: `${api}${path}` })

  const empty = (url: string, name: string) =>
    routesOf(app).get(
      url,
      route('listNothing', reads('anybody', url.startsWith('/core/') ? 'items' : 'none'), url, name),
      async request => halPage(name, [], readPage(request.query as Query), `${api}${url}`),
    )
  for (const [name, { path, searches = [] }] of Object.entries(emptyLists)) {
    empty(path, name)
    for (const search of searches) empty(`${path}/search/${search}`, name)
  }
  empty('/core/edititems/search/findModesById', 'edititemmodes')
  // Fields have no security levels to choose from.
  routesOf(app).get<{ Params: { type: string } }>(
    '/core/securitysettings/:type',
    route('showSecuritySetting', reads('anybody', 'items')),
    async ({ params }) => ({
      id: params.type.slice(0, 100),
      metadataSecurityDefault: [],
      metadataCustomSecurity: {},
      type: 'securitysetting',
      _links: { self: link(`/core/securitysettings/${encodeURIComponent(params.type.slice(0, 100))}`) },
    }),
  )

  // The page for bulk access reads its choices here.
  routesOf(app).get(
    '/config/bulkaccessconditionoptions/default',
    route('showBulkAccessConditions', reads('anybody', 'none')),
    async () => ({
      id: 'default',
      itemAccessConditionOptions: [],
      bitstreamAccessConditionOptions: [],
      type: 'bulkaccessconditionoption',
      _links: { self: link('/config/bulkaccessconditionoptions/default') },
    }),
  )

  routesOf(app).get('/discover', route('showDiscover', reads('anybody', 'none')), async () => ({
    type: 'discover',
    _links: {
      browses: link('/discover/browses'),
      facets: link('/discover/facets'),
      search: link('/discover/search'),
      self: link('/discover'),
    },
  }))
  // facet-config-response-parsing.service.ts reads exactly this; the sidebar of the search page waits for it.
  routesOf(app).get('/discover/facets', route('listFacets', reads('anybody', 'none')), async request => ({
    type: 'discover',
    _embedded: { facets: [] },
    _links: { self: selfOf(`${api}/discover/facets`, request.query as Query) },
  }))
  // Requested for fields on the page of an item: no field has a list to browse.
  routesOf(app).get(
    '/discover/browses/search/byFields',
    route('listBrowsesOfFields', reads('anybody', 'none')),
    async (_request, reply) => reply.code(204).send(),
  )
  routesOf(app).get('/discover/search', route('showSearch', reads('anybody', 'none')), async request => ({
    type: 'discover',
    filters: [],
    sortOptions: [{ name: 'score', actualName: 'score', sortOrder: 'DESC' }],
    _links: {
      objects: link('/discover/search/objects'),
      self: selfOf(`${api}/discover/search`, request.query as Query),
    },
  }))
  routesOf(app).get(
    '/discover/search/objects',
    route('searchObjects', reads('anybody', 'none')),
    async request => {
      const query = request.query as Query
      const self = `${api}/discover/search/objects`
      const found = halPage('objects', [], readPage(query), self)
      return {
        id: null,
        query: single(query, 'query') ?? null,
        scope: single(query, 'scope') ?? null,
        configuration: single(query, 'configuration') ?? 'default',
        appliedFilters: null,
        sort: null,
        type: 'discover',
        _links: { self: found._links.self },
        _embedded: { searchResult: found, facets: [] },
      }
    },
  )

  routesOf(app).get<{ Params: { uuid: string } }>(
    '/ldn/notifyrequests/:uuid',
    route('showNotifyRequests', reads('anybody', 'none')),
    async ({ params }) => {
      const uuid = readUuid(params.uuid)
      if (uuid === undefined) throw new Problem('not-found', 'There is no item with this UUID.')
      return {
        itemuuid: uuid,
        notifyStatus: [],
        type: 'notifyrequests',
        _links: { self: link(`/ldn/notifyrequests/${uuid}`) },
      }
    },
  )

  routesOf(app).get('/statistics', route('showStatistics', reads('anybody', 'none')), async () => ({
    type: 'statistics',
    _links: {
      searchevents: link('/statistics/searchevents'),
      usagereports: link('/statistics/usagereports'),
      viewevents: link('/statistics/viewevents'),
      self: link('/statistics'),
    },
  }))
  for (const url of ['/statistics/searchevents', '/statistics/viewevents']) {
    routesOf(app).post(
      url,
      route('countView', acceptsShortLived(changes('anybody', 'none', 'ignored')), url),
      async (_request, reply) => reply.code(201).send(),
    )
  }
}

/**
 * `GET /signposting/links/{uuid}`, which DSpace's interface requests outside of `/api`
 * (signposting-data.service.ts): an array, and always an empty one.
 */
export function signpostingRoutes(app: FastifyInstance): void {
  routesOf(app).get('/signposting/links/:uuid', linkRoute('listLinks', outside()), async () => [])
}

/** Links of the root (P4) by the names that the interface knows. */
export const emptyAnswerLinks = ({
  api,
}: Pick<Addresses, 'api'>): Readonly<Record<string, { href: string }>> =>
  Object.fromEntries([
    ...Object.entries(emptyLists).map(([name, { path }]) => [name, { href: `${api}${path}` }]),
    ['discover', { href: `${api}/discover` }],
    ['statistics', { href: `${api}/statistics` }],
  ])
