import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn } from '../http/contract.ts'
import { halPage, readPage, withParameters } from '../http/hal.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'

const route = contractsIn(() => import('./metadata-field-contracts.ts'))

/**
 * `/api/core/metadataschemas` and `/api/core/metadatafields`: the fields that DSpace's editor of metadata offers (S6). Items may
 * have any field of the form `schema.element` or `schema.element.qualifier`, so a name that is asked for exactly is one,
 * whether it is in this list of Dublin Core's or not.
 */
const offered = [
  ...['title', 'title.alternative', 'contributor', 'contributor.author', 'contributor.advisor'],
  ...['contributor.editor', 'creator', 'coverage', 'coverage.spatial', 'coverage.temporal', 'date'],
  ...['date.issued', 'date.created', 'date.accessioned', 'date.available', 'description'],
  ...['description.abstract', 'description.provenance', 'description.sponsorship', 'format', 'format.extent'],
  ...['identifier', 'identifier.citation', 'identifier.doi', 'identifier.isbn', 'identifier.issn'],
  ...['identifier.other', 'identifier.uri', 'language', 'language.iso', 'publisher', 'relation'],
  ...['relation.ispartof', 'relation.ispartofseries', 'rights', 'rights.license', 'rights.uri', 'source'],
  ...['subject', 'subject.ddc', 'subject.lcsh', 'type'],
].map(name => `dc.${name}`)

const isField = (name: string) => name.length <= 200 && /^[\w-]+(\.[\w-]+){1,2}$/.test(name)

export function metadataFieldRoutes(app: FastifyInstance, { api }: Pick<Addresses, 'api'>): void {
  type Route = { Params: { name: string } }
  const [fields, schemas] = ['/core/metadatafields', '/core/metadataschemas']
  const schemaBody = (prefix: string) => ({
    id: prefix,
    prefix,
    namespace: prefix === 'dc' ? 'http://purl.org/dc/elements/1.1/' : prefix,
    type: 'metadataschema',
    _links: { self: { href: `${api}${schemas}/${prefix}` } },
  })
  const fieldBody = (name: string) => {
    const [prefix = '', element = '', qualifier = null] = name.split('.')
    return {
      id: name,
      element,
      qualifier,
      scopeNote: null,
      type: 'metadatafield',
      _links: {
        schema: { href: `${api}${schemas}/${prefix}` },
        self: { href: `${api}${fields}/${name}` },
      },
      _embedded: { schema: schemaBody(prefix) },
    }
  }
  const page = (request: FastifyRequest, names: readonly string[], self: string) =>
    halPage('metadatafields', names.map(fieldBody), readPage(request.query as Query), self)

  app.get(schemas, route('listMetadataSchemas'), async request =>
    halPage('metadataschemas', [schemaBody('dc')], readPage(request.query as Query), `${api}${schemas}`),
  )
  app.get<Route>(`${schemas}/:name`, route('showMetadataSchema'), async ({ params }) => {
    if (!/^[\w-]{1,100}$/.test(params.name)) throw new Problem('not-found', 'No schema has such a name.')
    return schemaBody(params.name)
  })
  app.get(fields, route('listMetadataFields'), async request => page(request, offered, `${api}${fields}`))
  app.get<Route>(`${fields}/:name`, route('showMetadataField'), async ({ params }) => {
    if (!isField(params.name)) throw new Problem('not-found', 'No field has such a name.')
    return fieldBody(params.name)
  })
  // The page of a schema in the interface's registry.
  app.get(`${fields}/search/bySchema`, route('listMetadataFieldsOfSchema'), async request => {
    const query = request.query as Query
    const schema = single(query, 'schema') ?? ''
    const names = offered.filter(name => name.startsWith(`${schema}.`))
    return page(request, names, withParameters(`${api}${fields}/search/bySchema`, query, ['schema']))
  })
  app.get(`${fields}/search/byFieldName`, route('searchMetadataFields'), async request => {
    const query = request.query as Query
    const names = ['schema', 'element', 'qualifier', 'query', 'exactName']
    const self = withParameters(`${api}${fields}/search/byFieldName`, query, names)
    return page(request, found(query), self)
  })
}

function found(query: Query): readonly string[] {
  // The interface sends all five, and those that it doesn't mean are empty.
  const given = (name: string) => single(query, name) || undefined
  const exact = given('exactName')
  if (exact !== undefined) return isField(exact) ? [exact] : []
  const text = (given('query') ?? '').toLowerCase()
  const parts = ['schema', 'element', 'qualifier'].map(given)
  const names = offered.filter(name => {
    const own = name.split('.')
    return name.includes(text) && parts.every((part, at) => part === undefined || own[at] === part)
  })
  // What somebody has typed in full is offered, too.
  return isField(text) && !names.includes(text) && parts.every(part => part === undefined)
    ? [...names, text]
    : names
}
