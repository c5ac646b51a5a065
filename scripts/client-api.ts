/**
 * Generates `packages/client/src/api.ts`, the types of the routes' requests and answers, from the OpenAPI
 * document. It contains only what the client's `get`, `post`, … check. Without headers and problems it is a
 * tenth of what openapi-typescript writes (docs/decisions/0047).
 */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

interface Parameter {
  readonly $ref?: string
  readonly name?: string
  readonly in?: string
  readonly required?: boolean
  readonly schema?: Schema
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>

interface Operation {
  readonly summary?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content?: Content }
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Content }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters?: Readonly<Record<string, Parameter>>
  }
}

/** A schema that contains itself, which a member of an interface can't do. The client has a type for it. */
const json = 'Json'

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

export async function clientApi(openApi: () => Promise<string>): Promise<string> {
  const { paths, components } = JSON.parse(await openApi()) as Document
  const schemas = Object.entries(components.schemas)
    .filter(([name]) => name !== json)
    .map(([name, schema]) => `  readonly ${nameOf(name)}: ${typeOf(schema, '  ')}`)
  const operations = methods.map(method => {
    const routes = Object.entries(paths).flatMap(([path, all]) => {
      const operation = all[method]
      return operation
        ? [`    readonly ${nameOf(path)}: ${operationType(operation, components.parameters ?? {})}`]
        : []
    })
    return `  readonly ${method}: {\n${routes.join('\n')}\n  }`
  })
  return `// Generated from the OpenAPI document by \`npm run docs\`.
import type { Json } from './query.ts'

/** What requests and answers are made of. */
export interface Schemas {
${schemas.join('\n')}
}

/** What each route takes and answers. */
export interface Routes {
${operations.join('\n')}
}
`
}

function operationType(operation: Operation, known: Readonly<Record<string, Parameter>>): string {
  const parameters = (operation.parameters ?? []).map(one =>
    one.$ref === undefined ? one : (known[one.$ref.split('/').at(-1) ?? ''] ?? one),
  )
  const given = (place: string) =>
    parameters
      .filter(one => one.in === place)
      .map(
        ({ name = '', required, schema }) =>
          `readonly ${nameOf(name)}${required ? '' : '?'}: ${typeOf(schema ?? {}, '')}`,
      )
  const [path, query] = [given('path'), given('query')]
  const members = [
    ...(path.length > 0 ? [`path: { ${path.join('; ')} }`] : []),
    ...(query.length > 0 ? [`query: { ${query.join('; ')} }`] : []),
    ...bodyType(operation),
    `answer: ${answerType(operation)}`,
  ]
  return `{ ${members.join('; ')} }`
}

function bodyType({ requestBody }: Operation): readonly string[] {
  const content = requestBody?.content ?? {}
  const types = [
    ...new Set(
      Object.entries(content)
        .filter(([type]) => /\bjson\b/.test(type))
        .map(([, { schema }]) => typeOf(schema ?? {}, '')),
    ),
  ]
  return types.length > 0 ? [`json: ${types.join(' | ')}`] : []
}

/**
 * Returns the type that `get` and the others return. They ask for JSON, so its type comes first; other bodies
 * are strings, and an empty answer is undefined. A route that only redirects has the type `unknown`, and one
 * that always refuses `never`.
 */
function answerType({ responses }: Operation): string {
  const answers = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  if (answers.length === 0)
    return Object.keys(responses).some(status => status.startsWith('3')) ? 'unknown' : 'never'
  const types = answers.flatMap(([, { content }]) => {
    if (!content) return ['undefined']
    const asJson = Object.entries(content).filter(([type]) => /\bjson\b/.test(type))
    return asJson.length > 0 ? asJson.map(([, { schema }]) => typeOf(schema ?? {}, '')) : ['string']
  })
  return [...new Set(types)].join(' | ')
}

function typeOf(schema: Schema, indent: string): string {
  const { $ref, type, anyOf, oneOf, allOf, items } = schema
  const union = (all: readonly Schema[], sign: string) =>
    [...new Set(all.map(one => typeOf(one, indent)))].join(` ${sign} `)
  if ($ref?.endsWith(`/${json}`)) return json
  if ($ref !== undefined) return `Schemas[${quoted($ref.split('/').at(-1) ?? '')}]`
  if ('const' in schema) return quoted(schema.const)
  if (schema.enum) return schema.enum.map(quoted).join(' | ')
  if (anyOf ?? oneOf) return `(${union(anyOf ?? oneOf ?? [], '|')})`
  if (allOf) return `(${union(allOf, '&')})`
  if (Array.isArray(type)) return `(${type.map(one => typeOf({ ...schema, type: one }, indent)).join(' | ')})`
  switch (type) {
    case 'array':
      return `readonly (${typeOf(items ?? {}, indent)})[]`
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    default:
      return type === 'object' || schema.properties ? objectType(schema, indent) : 'unknown'
  }
}

function objectType(schema: Schema, indent: string): string {
  const { properties = {}, required = [], additionalProperties, patternProperties } = schema
  const known = Object.entries(properties)
  const others = [
    ...Object.values(patternProperties ?? {}),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ]
  if (known.length === 0)
    return others.length === 0
      ? 'Readonly<Record<string, unknown>>'
      : `{ readonly [name: string]: ${[...new Set(others.map(one => typeOf(one, indent)))].join(' | ')} }`
  const within = `${indent}  `
  const members = known.map(
    ([name, one]) =>
      `${within}readonly ${nameOf(name)}${required.includes(name) ? '' : '?'}: ${typeOf(one, within)}`,
  )
  return `{\n${members.join('\n')}\n${indent}}`
}

const quoted = (value: unknown) =>
  typeof value === 'string'
    ? `'${value.replaceAll(/[\\']/g, '\\$&').replaceAll('\n', '\\n')}'`
    : JSON.stringify(value)

const nameOf = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name))
