import type { FastifyInstance } from 'fastify'
import type { Addresses } from '../http/addresses.ts'
import { halPage, readPage, single } from '../http/hal.ts'
import { ignoreBody } from '../http/ignore-body.ts'
import type { Query } from '../http/parameters.ts'

/**
 * What DSpace's user interface asks for before it shows its first page, and Carrel has none of: lists that are empty, a
 * search that finds nothing, views that nobody counts. Without these answers it doesn't start.
 */
const emptyLists: Readonly<Record<string, string>> = {
  '/core/communities': 'communities',
  '/core/communities/search/top': 'communities',
  '/core/collections': 'collections',
  '/discover/browses': 'browses',
  '/config/properties': 'properties',
  '/system/systemwidealerts': 'systemwidealerts',
  '/system/systemwidealerts/search/active': 'systemwidealerts',
  '/system/scripts': 'scripts',
  '/eperson/profiles': 'profiles',
}

export function emptyAnswerRoutes(app: FastifyInstance, { api }: Pick<Addresses, 'api'>): void {
  const link = (path: string) => ({ href: `${api}${path}` })

  for (const [url, name] of Object.entries(emptyLists)) {
    app.get(url, async request => halPage(name, [], readPage(request.query as Query), `${api}${url}`))
  }

  app.get('/discover', async () => ({
    type: 'discover',
    _links: { browses: link('/discover/browses'), search: link('/discover/search'), self: link('/discover') },
  }))
  app.get('/discover/search', async () => ({
    type: 'discover',
    filters: [],
    sortOptions: [{ name: 'score', actualName: 'score', sortOrder: 'DESC' }],
    _links: { objects: link('/discover/search/objects'), self: link('/discover/search') },
  }))
  app.get('/discover/search/objects', async request => {
    const query = request.query as Query
    const self = `${api}/discover/search/objects`
    const page = readPage(query)
    return {
      id: null,
      query: single(query, 'query') ?? null,
      scope: single(query, 'scope') ?? null,
      configuration: single(query, 'configuration') ?? 'default',
      appliedFilters: null,
      sort: null,
      type: 'discover',
      _links: { self: { href: self } },
      _embedded: { searchResult: halPage('objects', [], page, self), facets: [] },
    }
  })

  app.get('/statistics', async () => ({
    type: 'statistics',
    _links: {
      searchevents: link('/statistics/searchevents'),
      viewevents: link('/statistics/viewevents'),
      self: link('/statistics'),
    },
  }))
  for (const url of ['/statistics/searchevents', '/statistics/viewevents']) {
    app.post(url, { preParsing: ignoreBody }, async (_request, reply) => reply.code(201).send())
  }
}

/** Links of the root (P4) by the names that the interface knows. */
export const emptyAnswerLinks = ({
  api,
}: Pick<Addresses, 'api'>): Readonly<Record<string, { href: string }>> =>
  Object.fromEntries(
    Object.entries({
      browses: '/discover/browses',
      collections: '/core/collections',
      communities: '/core/communities',
      discover: '/discover',
      profiles: '/eperson/profiles',
      properties: '/config/properties',
      scripts: '/system/scripts',
      statistics: '/statistics',
      systemwidealerts: '/system/systemwidealerts',
    }).map(([name, path]) => [name, { href: `${api}${path}` }]),
  )
