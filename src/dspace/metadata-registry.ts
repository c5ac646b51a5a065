import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Body, changes, jsonOf, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { contractsIn, type Routes, routesOf } from '../http/contract.ts'
import { halPart, readPage, windowOf } from '../http/hal.ts'
import { jsonObject } from '../http/json-body.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { type MetadataField, type MetadataSchema, maxFields, maxSchemas } from '../model/items.ts'
import type { FieldSearch, MetadataRegistry, WantedField, WantedSchema } from './registry-statements.ts'

const route = contractsIn(() => import('./metadata-registry-contracts.ts'))
const toAnybody = reads('anybody', 'items')
const byAdministrators = (body: Body) =>
  changes('administrator', 'items', body, { to: 'change the metadata registry' })

interface Parts {
  readonly addresses: Pick<Addresses, 'api'>
  readonly registry: MetadataRegistry
}

type One = { Params: { id: string } }

const [schemas, fields] = ['/core/metadataschemas', '/core/metadatafields']
const refused = (why: string) => new Problem('change-refused', why)
const noSchema = () => new Problem('not-found', 'There is no metadata schema with this id.')
const noField = () => new Problem('not-found', 'There is no metadata field with this id.')
const idIn = (text: string | undefined) =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/**
 * `/api/core/metadataschemas` and `/api/core/metadatafields` (S6, docs/decisions/0052): the registry of
 * metadata, which editors offer and administrators change. Anyone may read it.
 */
export function metadataRegistryRoutes(app: FastifyInstance, { addresses, registry }: Parts): void {
  const routes = routesOf(app)
  const bodies = bodiesAt(addresses.api)
  schemaRoutes(routes, registry, bodies)
  fieldRoutes(routes, registry, bodies)
  changeFieldRoutes(routes, registry, bodies)
}

const eventIn = (request: FastifyRequest, event: AuditEvent['event']) =>
  eventOf(request.caller, request, { event, outcome: 'success' })

function schemaRoutes(routes: Routes, registry: MetadataRegistry, bodies: Bodies): void {
  async function schemaOf({ params }: { params: One['Params'] }): Promise<MetadataSchema> {
    const id = idIn(params.id)
    const schema = id === undefined ? undefined : await registry.schema(id)
    if (!schema) throw noSchema()
    return schema
  }

  routes.get(schemas, route('listMetadataSchemas', toAnybody), async request => {
    const page = readPage(request.query as Query)
    const { rows, total } = await registry.schemas(windowOf(page))
    return halPart('metadataschemas', rows.map(bodies.schema), total, page, bodies.schemas)
  })
  routes.get<One>(`${schemas}/:id`, route('showMetadataSchema', toAnybody), async request =>
    bodies.schema(await schemaOf(request)),
  )
  routes.post(schemas, route('addMetadataSchema', byAdministrators(jsonOf())), async (request, reply) => {
    const event = eventIn(request, 'metadata-schema.add')
    const added = await registry.addSchema(schemaIn(jsonObject(request)), event)
    if (added === 'exists') throw refused('There is a metadata schema with this prefix or namespace already.')
    if (added === 'full') throw refused(`There can be ${maxSchemas} metadata schemas, and there are.`)
    return reply.code(201).header('location', bodies.schemaAt(added.id)).send(bodies.schema(added))
  })
  routes.put<One>(
    `${schemas}/:id`,
    route('changeMetadataSchema', byAdministrators(jsonOf())),
    async request => {
      const event = eventIn(request, 'metadata-schema.change')
      const { id, prefix } = await schemaOf(request)
      const given = jsonObject(request)
      refuseOther(given, { id, prefix })
      const changed = await registry.changeSchema(id, schemaIn({ ...given, prefix }).namespace, event)
      if (changed === 'exists') throw refused('There is a metadata schema with this namespace already.')
      if (!changed) throw noSchema()
      return bodies.schema(changed)
    },
  )
  routes.delete<One>(
    `${schemas}/:id`,
    route('deleteMetadataSchema', byAdministrators('unused')),
    async (request, reply) => {
      const event = eventIn(request, 'metadata-schema.delete')
      if (!(await registry.removeSchema((await schemaOf(request)).id, event))) throw noSchema()
      return reply.code(204).send()
    },
  )
}

async function fieldOf(
  registry: MetadataRegistry,
  { params }: { params: One['Params'] },
): Promise<MetadataField> {
  const id = idIn(params.id)
  const field = id === undefined ? undefined : await registry.field(id)
  if (!field) throw noField()
  return field
}

function fieldRoutes(routes: Routes, registry: MetadataRegistry, bodies: Bodies): void {
  async function fieldPage(request: FastifyRequest, search: FieldSearch, self: string) {
    const page = readPage(request.query as Query)
    const { rows, total } = await registry.fields(search, windowOf(page))
    return halPart('metadatafields', rows.map(bodies.field), total, page, self)
  }

  routes.get(fields, route('listMetadataFields', toAnybody), request => fieldPage(request, {}, bodies.fields))
  routes.get<One>(`${fields}/:id`, route('showMetadataField', toAnybody), async request =>
    bodies.field(await fieldOf(registry, request)),
  )
  routes.get<One>(`${fields}/:id/schema`, route('showSchemaOfMetadataField', toAnybody), async request =>
    bodies.schema((await fieldOf(registry, request)).schema),
  )
  // The page of a schema in the interface's registry lists its fields.
  routes.get(`${fields}/search/bySchema`, route('listMetadataFieldsOfSchema', toAnybody), request => {
    const query = request.query as Query
    return fieldPage(request, { schema: single(query, 'schema') ?? '-' }, `${bodies.fields}/search/bySchema`)
  })
  routes.get(`${fields}/search/byFieldName`, route('searchMetadataFields', toAnybody), request => {
    const query = request.query as Query
    const names = ['schema', 'element', 'qualifier', 'query', 'exactName']
    // The interface sends all five parameters, and leaves those empty that it doesn't mean.
    const [schema, element, qualifier, begins, name] = names.map(one => single(query, one) || undefined)
    return fieldPage(
      request,
      { schema, element, qualifier, name, begins: begins?.toLowerCase() },
      `${bodies.fields}/search/byFieldName`,
    )
  })
}

function changeFieldRoutes(routes: Routes, registry: MetadataRegistry, bodies: Bodies): void {
  routes.post(fields, route('addMetadataField', byAdministrators(jsonOf())), async (request, reply) => {
    const event = eventIn(request, 'metadata-field.add')
    const wanted = fieldIn(jsonObject(request))
    const schema = idIn(single(request.query as Query, 'schemaId'))
    if (schema === undefined)
      throw refused('schemaId must be the id of the metadata schema that the field is for.')
    const added = await registry.addField(schema, wanted, event)
    if (added === 'no-schema') throw refused('There is no metadata schema with the id that schemaId has.')
    if (added === 'exists') throw refused('The schema has a field with this element and qualifier already.')
    if (added === 'full')
      throw refused(`There can be ${maxFields.toLocaleString('en')} metadata fields, and there are.`)
    return reply.code(201).header('location', bodies.fieldAt(added.id)).send(bodies.field(added))
  })
  routes.put<One>(
    `${fields}/:id`,
    route('changeMetadataField', byAdministrators(jsonOf())),
    async request => {
      const event = eventIn(request, 'metadata-field.change')
      const { id, element, qualifier } = await fieldOf(registry, request)
      const given = jsonObject(request)
      refuseOther(given, { id, element, qualifier })
      const changed = await registry.changeField(id, scopeNoteIn(given), event)
      if (!changed) throw noField()
      return bodies.field(changed)
    },
  )
  routes.delete<One>(
    `${fields}/:id`,
    route('deleteMetadataField', byAdministrators('unused')),
    async (request, reply) => {
      const event = eventIn(request, 'metadata-field.delete')
      if (!(await registry.removeField((await fieldOf(registry, request)).id, event))) throw noField()
      return reply.code(204).send()
    },
  )
}

type Bodies = ReturnType<typeof bodiesAt>

/** Makes the functions that show the registry in answers. */
function bodiesAt(api: string) {
  const schemaAt = (id: number) => `${api}${schemas}/${id}`
  const fieldAt = (id: number) => `${api}${fields}/${id}`
  const schema = ({ id, prefix, namespace }: MetadataSchema) => ({
    id,
    prefix,
    namespace,
    type: 'metadataschema',
    _links: { self: { href: schemaAt(id) } },
  })
  return {
    schemas: `${api}${schemas}`,
    fields: `${api}${fields}`,
    schemaAt,
    fieldAt,
    schema,
    field: ({ id, schema: own, element, qualifier, scopeNote }: MetadataField) => ({
      id,
      element,
      qualifier,
      scopeNote,
      type: 'metadatafield',
      _links: { schema: { href: schemaAt(own.id) }, self: { href: fieldAt(id) } },
      _embedded: { schema: schema(own) },
    }),
  }
}

/**
 * Schemas and fields of metadata as clients write them. Further members, such as `type`, are ignored. Lengths
 * are those of DSpace's forms. Characters are those that names of fields in items may have, so that
 * everything registered can be used.
 */
type Given = Readonly<Record<string, unknown>>

const maxNamespace = 256
const maxScopeNote = 2_000

/** @throws Problem 422 */
function schemaIn({ prefix, namespace }: Given): WantedSchema {
  if (typeof prefix !== 'string' || !/^[A-Za-z][\w-]{0,31}$/.test(prefix))
    throw refused(
      'prefix must begin with a letter and have letters, digits, - and _, 32 characters at most: such as dcterms.',
    )
  if (typeof namespace !== 'string' || namespace.trim() === '' || !isText(namespace, maxNamespace, lines))
    throw refused(
      `namespace must be a line of at most ${maxNamespace} characters, such as http://purl.org/dc/terms/.`,
    )
  return { prefix, namespace }
}

/** @throws Problem 422 */
function fieldIn(given: Given): WantedField {
  const { element, qualifier = null } = given
  const wanted = 'must have letters, digits, - and _, 64 characters at most'
  if (typeof element !== 'string' || !isName(element))
    throw refused(`element ${wanted}: such as contributor.`)
  // The interface's form sends an empty text for an input that was left empty.
  if (qualifier === null || qualifier === '')
    return { element, qualifier: null, scopeNote: scopeNoteIn(given) }
  if (typeof qualifier !== 'string' || !isName(qualifier))
    throw refused(`qualifier ${wanted}, or be null: such as author.`)
  return { element, qualifier, scopeNote: scopeNoteIn(given) }
}

/** @throws Problem 422 */
function scopeNoteIn({ scopeNote = null }: Given): string | null {
  if (scopeNote === null || scopeNote === '') return null
  if (typeof scopeNote !== 'string' || !isText(scopeNote, maxScopeNote, controls))
    throw refused(
      `scopeNote must be a text of at most ${maxScopeNote.toLocaleString('en')} characters, or null.`,
    )
  return scopeNote
}

/**
 * Refuses other values for members that a change may only repeat.
 * @throws Problem 422
 */
function refuseOther(given: Given, fixed: Given): void {
  for (const [name, value] of Object.entries(fixed)) {
    const other = given[name]
    if (other === undefined || other === value || (value === null && other === '')) continue
    throw refused(
      name === 'id'
        ? 'The id in the body is not the one in the address.'
        : `${name} can’t be changed: items have it in the names of their fields.`,
    )
  }
}

const isName = (text: string) => /^[\w-]{1,64}$/.test(text)

/** Control characters that a line can't have, and those that a text can't have. */
const lines = /\p{Cc}/u
const controls = /[^\P{Cc}\t\n\r]/u

const isText = (text: string, max: number, without: RegExp) =>
  text.isWellFormed() && text.length <= 2 * max && [...text].length <= max && !without.test(text)
