import Type, { type Static, type TObject, type TOptional, type TProperties, type TSchema } from 'typebox'
import type { Answer, Parameter } from './contract.ts'

/**
 * Schemas of contracts: JSON Schema 2020-12 that is also a type. Only contracts import this, and they are
 * loaded only when needed.
 */
export { type Static, type TSchema, Type }

/** An object with these members and no others. */
export const closed = <P extends TProperties>(properties: P, options: object = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false })

/** A schema that has a name and a place of its own in the document, so that types generated from it have a name. */
export const named = <P extends TProperties>(name: string, properties: P, description?: string): TObject<P> =>
  closed(properties, { $id: name, ...(description === undefined ? {} : { description }) })

export const isOptional = (schema: TSchema): boolean => Type.IsOptional(schema)

export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
export const oneOf = <const V extends readonly string[]>(...values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values })
export const always = <const V extends string | number | boolean>(value: V) =>
  Type.Unsafe<V>({ type: typeof value as 'string', const: value })

export const text = Type.String()
export const flag = Type.Boolean()
export const count = Type.Integer({ minimum: 0 })
export const uuid = Type.String({ format: 'uuid' })
export const time = Type.String({ format: 'date-time' })
export const uri = Type.String({ format: 'uri-reference' })

/** Any value that JSON can express. */
type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/**
 * Any JSON value in a record, a condition or a patch. It doesn't refer to itself, because type generators
 * can't express a type alias that is defined by itself.
 */
export const Json = Type.Unsafe<JsonValue>({
  $id: 'Json',
  description: 'Any JSON.',
  type: ['string', 'number', 'boolean', 'null', 'array', 'object'],
  items: {},
  additionalProperties: {},
})

export const JsonPatch = Type.Array(
  Type.Object({ op: text, path: text, from: Type.Optional(text), value: Type.Optional(Json) }),
  { $id: 'JsonPatch', description: 'RFC 6902.' },
)
/** The body of a PATCH; DSpace's clients send it as JSON, too. */
export const patch = { 'application/json-patch+json': JsonPatch, 'application/json': JsonPatch }

export const Link = named('Link', { href: uri })
export const TemplatedLink = named('TemplatedLink', { href: text, templated: always(true) })

/** `_links` with these names. */
export const links = <const Names extends readonly string[]>(...names: Names) =>
  closed(Object.fromEntries(names.map(name => [name, Link])) as Record<Names[number], typeof Link>)

/**
 * The answer of a link's own address. Its schema isn't spelled out, because resources link to each other and
 * no schema may refer to itself.
 */
export const Embedded = Type.Unsafe<Readonly<Record<string, JsonValue>> | null>({
  $id: 'Embedded',
  description: 'What the address of the link with this name answers; null where it answers 204.',
  type: ['object', 'null'],
  additionalProperties: {},
})

/** `_embedded` of a resource: the links among these that the request names in `embed`. */
export const embeds = <const Names extends readonly string[]>(...names: Names) =>
  Type.Optional(
    closed(
      Object.fromEntries(names.map(name => [name, Type.Optional(Embedded)])) as unknown as Record<
        Names[number],
        TOptional<typeof Embedded>
      >,
    ),
  )

export const PageFacts = named('PageFacts', {
  number: count,
  size: Type.Integer({ minimum: 1 }),
  totalPages: count,
  totalElements: count,
})

const PageLinks = named('PageLinks', {
  first: Type.Optional(Link),
  prev: Type.Optional(Link),
  next: Type.Optional(Link),
  last: Type.Optional(Link),
  self: Link,
})

/** A page of a list, as `halPage` and `halPart` make it. @param key the list's name in `_embedded` */
export const pageOf = <const Key extends string, T extends TSchema>(key: Key, element: T, name?: string) =>
  closed(
    {
      _embedded: closed({ [key]: Type.Array(element) } as Record<Key, ReturnType<typeof Type.Array<T>>>),
      page: PageFacts,
      _links: PageLinks,
    },
    name === undefined ? {} : { $id: name },
  )

export const json = <T extends TSchema>(schema: T) => ({ 'application/json': schema })

export const answer = (
  description: string,
  body?: Answer['body'],
  headers?: Readonly<Record<string, TSchema>>,
): Answer => ({ description, ...(body && { body }), ...(headers && { headers }) })

export const nothing = (description: string, headers?: Readonly<Record<string, TSchema>>): Answer =>
  answer(description, undefined, headers)

export const parameter = (
  schema: TSchema,
  description?: string,
  { required = false }: { readonly required?: boolean } = {},
): Parameter => ({ schema, ...(description === undefined ? {} : { description }), required })

/** The parameters of every list in HAL. A contract that has them may answer with `bad-parameter`. */
export const paging = {
  page: parameter(Type.Integer({ minimum: 0, default: 0 }), 'The page, from 0.'),
  size: parameter(
    Type.Integer({ minimum: 1, default: 20 }),
    'Elements on a page. More than the maximum is the maximum.',
  ),
} as const

/** Members of the contract of a list in HAL: its parameters, and a page of it. */
export const listOf = (
  page: TSchema,
  query: Readonly<Record<string, Parameter>> = {},
  description = 'A page.',
) => ({ query: { ...query, ...paging }, answers: { 200: answer(description, json(page)) } })

/** Records that a constraint, once declared, would not allow. */
export const Misfit = closed({
  field: text,
  constraint: oneOf('required', 'oneOf', 'unique', 'references'),
  count,
  examples: Type.Array(text, {
    description: 'Keys of the first records, or values that are in no list or there twice.',
  }),
})
