import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type * as ajvModule from 'ajv/dist/2020.js'
import type { Client } from './client.ts'

/** The OpenAPI document of a service, with the members that tests read. */
export interface ApiDocument {
  readonly openapi: string
  readonly info: { readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>
  readonly components: Readonly<
    Record<'responses' | 'headers' | 'parameters', Readonly<Record<string, unknown>>>
  > & { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

export interface ApiOperation {
  readonly operationId: string
  readonly description: string
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly ApiParameter[]
  readonly responses: Readonly<Record<string, unknown>>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
}

export interface ApiParameter {
  readonly $ref?: string
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly schema: JsonSchema
}

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly format?: string
}

export async function documentFor(client: Client): Promise<ApiDocument> {
  const response = await client.get('/api/openapi.json')
  assert.equal(response.status, 200)
  return (await response.json()) as ApiDocument
}

/**
 * Returns a function that validates a value against a named schema of the document, and returns the faults.
 */
export function validatorIn(document: ApiDocument): (name: string, value: unknown) => readonly unknown[] {
  const faultsAt = validatorAt(document)
  return (name, value) => faultsAt(['components', 'schemas', name], value)
}

/** Like `validatorIn`, with the schema given by its place in the document. */
export function validatorAt(
  document: ApiDocument,
): (place: readonly string[], value: unknown) => readonly unknown[] {
  const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js') as typeof ajvModule
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  ajv.addSchema({ ...document, $id: 'openapi' }, 'openapi')
  return (place, value) => {
    const pointer = place.map(part => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    const validate = ajv.compile({ $ref: `openapi#/${pointer.join('/')}` })
    return validate(value) ? [] : (validate.errors ?? [])
  }
}
