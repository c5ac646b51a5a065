import fc from 'fast-check'
import type { ApiDocument, ApiOperation, ApiParameter, JsonSchema } from '../clients/api-document.ts'

/** A request that the OpenAPI document describes, with values that mostly match the description. */
export interface DescribedRequest {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const nasty = fc.constantFrom(
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1e999',
    'null',
    'undefined',
    '../..',
    '%',
    '*',
    "'; --",
    '<b>',
    '\u202e',
    '\ud800',
    '\0',
  ],
  ...['a'.repeat(3_000), '[]', '{}', '["="]', '[["and"]]', 'true', '9'.repeat(30)],
)
const anyText = fc.oneof(fc.string({ maxLength: 20 }), nasty)

/** Values that match a schema; one in eight is of any other kind. */
export function arbitraryOf(schema: JsonSchema, document: ApiDocument, depth = 0): fc.Arbitrary<unknown> {
  const right = rightValue(schema, document, depth)
  return depth > 4
    ? fc.constant(null)
    : fc.oneof({ weight: 7, arbitrary: right }, { weight: 1, arbitrary: fc.oneof(anyText, fc.jsonValue()) })
}

function rightValue(schema: JsonSchema, document: ApiDocument, depth: number): fc.Arbitrary<unknown> {
  const { $ref, anyOf, allOf, enum: values, items, properties } = schema
  if ($ref !== undefined)
    return arbitraryOf(document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {}, document, depth)
  if ('const' in schema) return fc.constant(schema.const)
  if (values) return fc.constantFrom(...values)
  const parts = anyOf ?? allOf
  if (parts) return fc.oneof(...parts.map(one => arbitraryOf(one, document, depth + 1)))
  // The schema contains itself, so any JSON value matches.
  if (schema.type?.includes('object') && schema.type !== 'object') return fc.jsonValue()
  const [type] = [schema.type ?? 'any'].flat()
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: 0, max: 200 })
    case 'number':
      return fc.double({ noNaN: true })
    case 'string':
      return schema.format === 'uuid' ? fc.uuid() : anyText
    case 'array':
      return fc.array(arbitraryOf(items ?? {}, document, depth + 1), { maxLength: 3 })
    case 'object':
      return properties
        ? fc.record(
            Object.fromEntries(
              Object.entries(properties).map(([name, one]) => [name, arbitraryOf(one, document, depth + 1)]),
            ),
            { requiredKeys: [...(schema.required ?? [])] },
          )
        : fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue(), { maxKeys: 3 })
    default:
      return fc.jsonValue()
  }
}

/** @param known values of path parameters for which objects exist, by the name of the parameter */
export function requestsOf(
  document: ApiDocument,
  known: Readonly<Record<string, readonly string[]>>,
  isLeftOut: (operation: ApiOperation) => boolean,
): fc.Arbitrary<DescribedRequest> {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => !isLeftOut(operation))
      .map(([method, operation]) => ({ path, method, operation })),
  )
  return fc.constantFrom(...all).chain(({ path, method, operation }) => {
    const parameters = (operation.parameters ?? []).filter(one => one.$ref === undefined)
    const of = (where: ApiParameter['in']) => parameters.filter(one => one.in === where)
    const given = (list: readonly ApiParameter[], mayLack: boolean) =>
      fc.record(
        Object.fromEntries(
          list.map(({ name, schema }) => {
            const likely = where(known[name])
            return [name, likely ? fc.oneof(likely, textOf(schema)) : textOf(schema)]
          }),
        ),
        mayLack ? { requiredKeys: [] } : {},
      ) as fc.Arbitrary<Partial<Record<string, string>>>
    const textOf = (schema: JsonSchema) =>
      arbitraryOf(schema, document, 1).map(value =>
        typeof value === 'string' ? value : JSON.stringify(value),
      )
    const contents = Object.entries(operation.requestBody?.content ?? {})
    const body =
      contents.length === 0
        ? fc.constant(undefined)
        : fc
            .constantFrom(...contents)
            .chain(([type, { schema }]) =>
              arbitraryOf(schema, document).map(value => ({ type, text: bodyText(type, value) })),
            )
    return fc
      .record({
        inPath: given(of('path'), false),
        query: given(of('query'), true),
        headers: given(of('header'), true),
        body,
      })
      .map(one => ({
        operationId: operation.operationId,
        method: method.toUpperCase(),
        path: addressOf(path, one.inPath, one.query),
        headers: {
          ...Object.fromEntries(
            Object.entries(one.headers).map(([name, value = '']) => [name, inHeader(value)]),
          ),
          ...(one.body && { 'content-type': one.body.type }),
        },
        body: one.body?.text,
      }))
  })
}

const where = (values: readonly string[] | undefined) =>
  values && values.length > 0 ? fc.constantFrom(...values) : undefined

const encoded = (text: string) => encodeURIComponent(text.toWellFormed())

function addressOf(
  path: string,
  inPath: Partial<Record<string, string>>,
  query: Partial<Record<string, string>>,
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encoded(inPath[name] ?? '') || 'x')
  const asked = Object.entries(query).map(([name, value = '']) => `${name}=${encoded(value)}`)
  return asked.length === 0 ? filled : `${filled}?${asked.join('&')}`
}

/** Replaces characters that a header can't contain, and shortens the text. */
const inHeader = (text: string) => text.replaceAll(/[^\x21-\x7e]/g, '_').slice(0, 500)

function bodyText(type: string, value: unknown): string {
  if (/json/.test(type)) return JSON.stringify(value) ?? ''
  if (type === 'application/x-www-form-urlencoded' && typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(
        ([name, one]) => `${encoded(name)}=${encoded(typeof one === 'string' ? one : JSON.stringify(one))}`,
      )
      .join('&')
  return typeof value === 'string' ? value.toWellFormed() : (JSON.stringify(value) ?? '')
}
