import type { FastifyInstance } from 'fastify'
import { type Access, acceptsShortLived, changes, outside, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, type Routes, routesOf } from '../http/contract.ts'
import { halPage, readPage, selfOf } from '../http/hal.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { readUuid } from '../lib/uuids.ts'

const route = contractsIn(() => import('./empty-contracts.ts'))
const linkRoute = contractsIn(() => import('../items/contracts.ts'))
const toAnybody = reads('anybody', 'none')

/**
 * Answers for features that DSpace's user interface asks for and Carrel doesn't have: lists that are empty, a
 * search that finds nothing, views that are not counted. Without these answers the interface doesn't start,
 * its pages load forever, or the browser's console fills with errors.
 */
export function emptyAnswerRoutes(app: FastifyInstance, { api }: Pick<Addresses, 'api'>): void {
  const routes = routesOf(app)
  absentFeatureRoutes(app)
  const link = linksBelow(api)

  const empty = (url: string, name: string) =>
    routes.get(
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
  routes.get<{ Params: { type: string } }>(
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
  routes.get(
    '/config/bulkaccessconditionoptions/default',
    route('showBulkAccessConditions', toAnybody),
    async () => ({
      id: 'default',
      itemAccessConditionOptions: [],
      bitstreamAccessConditionOptions: [],
      type: 'bulkaccessconditionoption',
      _links: { self: link('/config/bulkaccessconditionoptions/default') },
    }),
  )

  discoverRoutes(routes, api)

  routes.get<{ Params: { uuid: string } }>(
    '/ldn/notifyrequests/:uuid',
    route('showNotifyRequests', toAnybody),
    async ({ params }) => {
      const uuid = itemIn(params.uuid)
      return {
        itemuuid: uuid,
        notifyStatus: [],
        type: 'notifyrequests',
        _links: { self: link(`/ldn/notifyrequests/${uuid}`) },
      }
    },
  )

  routes.get('/statistics', route('showStatistics', toAnybody), async () => ({
    type: 'statistics',
    _links: {
      searchevents: link('/statistics/searchevents'),
      usagereports: link('/statistics/usagereports'),
      viewevents: link('/statistics/viewevents'),
      self: link('/statistics'),
    },
  }))
  for (const url of ['/statistics/searchevents', '/statistics/viewevents']) {
    routes.post(
      url,
      route('countView', acceptsShortLived(changes('anybody', 'none', 'ignored')), url),
      async (_request, reply) => reply.code(201).send(),
    )
  }
}

const linksBelow = (api: string) => (path: string) => ({ href: `${api}${path}` })

/** A search that finds nothing. */
function discoverRoutes(routes: Routes, api: string): void {
  const link = linksBelow(api)
  routes.get('/discover', route('showDiscover', toAnybody), async () => ({
    type: 'discover',
    _links: {
      browses: link('/discover/browses'),
      facets: link('/discover/facets'),
      search: link('/discover/search'),
      self: link('/discover'),
    },
  }))
  // facet-config-response-parsing.service.ts reads exactly this; the sidebar of the search page waits for it.
  routes.get('/discover/facets', route('listFacets', toAnybody), async request => ({
    type: 'discover',
    _embedded: { facets: [] },
    _links: { self: selfOf(`${api}/discover/facets`, request.query as Query) },
  }))
  // Requested for fields on the page of an item: no field has a list to browse.
  routes.get(
    '/discover/browses/search/byFields',
    route('listBrowsesOfFields', toAnybody),
    async (_request, reply) => reply.code(204).send(),
  )
  routes.get('/discover/search', route('showSearch', toAnybody), async request => ({
    type: 'discover',
    filters: [],
    sortOptions: [{ name: 'score', actualName: 'score', sortOrder: 'DESC' }],
    _links: {
      objects: link('/discover/search/objects'),
      self: selfOf(`${api}/discover/search`, request.query as Query),
    },
  }))
  routes.get('/discover/search/objects', route('searchObjects', toAnybody), async request => {
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
  })
}

/**
 * `GET /signposting/links/{uuid}`, which DSpace's interface requests outside of `/api`
 * (signposting-data.service.ts): an array, and always an empty one.
 */
export function signpostingRoutes(app: FastifyInstance): void {
  routesOf(app).get<{ Params: { uuid: string } }>(
    '/signposting/links/:uuid',
    linkRoute('listLinks', outside()),
    async ({ params }) => {
      itemIn(params.uuid)
      return []
    },
  )
}

/** @throws Problem 404 for a text that is no UUID */
function itemIn(text: string): string {
  const uuid = readUuid(text)
  if (uuid === undefined) throw new Problem('not-found', 'There is no item with this UUID.')
  return uuid
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

/**
 * A list that DSpace's interface looks for in the root and Carrel doesn't have: submissions and their
 * workflow, versions, relations, vocabularies, notifications, ORCID, statistics. A page that misses a link
 * shows a spinner forever; a page that finds an empty list says that there is nothing.
 */
interface EmptyList {
  readonly path: string
  /** Names of searches, below `search/`. */
  readonly searches?: readonly string[]
}

/** Lists by the name of their link, which is also the key in `_embedded`. */
export const emptyLists: Readonly<Record<string, EmptyList>> = {
  browses: { path: '/discover/browses' },
  bulkaccessconditionoptions: { path: '/config/bulkaccessconditionoptions' },
  claimedtasks: { path: '/workflow/claimedtasks', searches: ['findByUser'] },
  // Collections where a user may put an item, or that they administer: collection- and community-data.service.ts.
  collections: {
    path: '/core/collections',
    searches: [
      'findAdminAuthorized',
      'findEditAuthorized',
      'findSubmitAuthorized',
      'findSubmitAuthorizedByCommunity',
      'findSubmitAuthorizedByCommunityAndEntityType',
      'findSubmitAuthorizedByEntityType',
    ],
  },
  communities: {
    path: '/core/communities',
    searches: ['top', 'findAdminAuthorized', 'findAddAuthorized', 'findEditAuthorized'],
  },
  // The page of an item looks for these: edititem-data, correctiontype-data, quality-assurance-source-data
  // and notify-services-status-data.service.ts.
  correctiontypes: { path: '/config/correctiontypes', searches: ['findByItem', 'findByTopic'] },
  duplicates: { path: '/submission/duplicates', searches: ['findByItem'] },
  edititems: { path: '/core/edititems' },
  // The pages that begin an import from elsewhere look for these (entity-type-data and
  // external-source-data.service.ts).
  entitytypes: {
    path: '/core/entitytypes',
    searches: ['findAllByAuthorizedCollection', 'findAllByAuthorizedExternalSource'],
  },
  externalsources: { path: '/integration/externalsources', searches: ['findByEntityType'] },
  itemfilters: { path: '/config/itemfilters' },
  // The page that a mail links to, for requests for a copy of a file (item-request-data.service.ts).
  itemrequests: { path: '/tools/itemrequests' },
  ldnservices: { path: '/ldn/ldnservices' },
  messages: { path: '/ldn/messages' },
  notifyrequests: { path: '/ldn/notifyrequests' },
  orcidhistories: { path: '/eperson/orcidhistories' },
  orcidqueues: { path: '/eperson/orcidqueues', searches: ['findByProfileItem'] },
  pooltasks: { path: '/workflow/pooltasks', searches: ['findByUser'] },
  profiles: { path: '/eperson/profiles' },
  properties: { path: '/config/properties' },
  qualityassuranceevents: { path: '/integration/qualityassuranceevents', searches: ['findByTopic'] },
  qualityassurancesources: { path: '/integration/qualityassurancesources', searches: ['byTarget'] },
  qualityassurancetopics: {
    path: '/integration/qualityassurancetopics',
    searches: ['byTarget', 'bySource'],
  },
  relationships: { path: '/core/relationships', searches: ['byLabel'] },
  relationshiptypes: { path: '/core/relationshiptypes' },
  securitysettings: { path: '/core/securitysettings' },
  submissionaccessoptions: { path: '/config/submissionaccessoptions' },
  submissioncclicenses: { path: '/config/submissioncclicenses' },
  submissioncoarnotifyconfigs: { path: '/config/submissioncoarnotifyconfigs' },
  submissiondefinitions: { path: '/config/submissiondefinitions' },
  submissionforms: { path: '/config/submissionforms' },
  submissionuploads: { path: '/config/submissionuploads' },
  // The page of subscriptions searches these (subscriptions-data.service.ts).
  subscriptions: { path: '/core/subscriptions', searches: ['findByEPerson', 'findByEPersonAndDso'] },
  suggestions: { path: '/integration/suggestions' },
  suggestionsources: { path: '/integration/suggestionsources' },
  suggestiontargets: { path: '/integration/suggestiontargets' },
  supervisionorders: { path: '/core/supervisionorders', searches: ['group', 'byItem'] },
  usagereports: { path: '/statistics/usagereports', searches: ['object'] },
  versionhistories: { path: '/versioning/versionhistories' },
  versions: { path: '/versioning/versions' },
  vocabularies: { path: '/submission/vocabularies', searches: ['byMetadataAndCollection'] },
  vocabularyEntryDetails: { path: '/submission/vocabularyEntryDetails' },
  workflowactions: { path: '/config/workflowactions' },
  workflowitems: { path: '/workflow/workflowitems' },
  workspaceitems: { path: '/submission/workspaceitems' },
}

/** Requests that DSpace's clients may try, for things that Carrel doesn't have: the answer says so. */
const absent: readonly (readonly [method: 'GET' | 'POST' | 'PUT', url: string, what: string])[] = [
  ['POST', '/core/communities', 'communities'],
  ['POST', '/core/collections', 'collections'],
  ['POST', '/core/items/:uuid/mappedCollections', 'collections'],
  ['PUT', '/core/items/:uuid/owningCollection', 'collections'],
  ['POST', '/workflow/workflowitems', 'workflows: an item is there as soon as it is added'],
  ['GET', '/submission/workspaceitems/:id', 'drafts: an item is there as soon as it is added'],
  ['GET', '/submission/workspaceitems/search/item', 'drafts: an item is there as soon as it is added'],
  ['POST', '/submission/workspaceitems', 'drafts: add an item with POST /api/core/items'],
  ['POST', '/versioning/versions', 'versions of items'],
]

/** Absent features have no CSRF exception and no rights: the answer is 404 for everyone. */
function accessOf(method: 'GET' | 'POST' | 'PUT', url: string): Access {
  const part = url.startsWith('/core/') ? 'items' : 'none'
  return method === 'GET' ? reads('anybody', part) : acceptsShortLived(changes('anybody', part, 'ignored'))
}

function absentFeatureRoutes(app: FastifyInstance): void {
  for (const [method, url, what] of absent) {
    routesOf(app).route({
      method,
      url,
      ...route('refuseAbsent', accessOf(method, url), method, url, what),
      handler: async () => {
        throw new Problem('not-found', `Carrel has no ${what}.`)
      },
    })
  }
}
