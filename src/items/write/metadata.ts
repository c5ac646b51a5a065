import { Problem } from '../../http/problems.ts'
import { isObject } from '../../lib/json.ts'
import type { Metadata, MetadataValue } from '../../model/items.ts'
import { lineFault, textFault } from './texts.ts'

/** Bounds of the metadata of an item, which DSpace's clients write: fields, values, and bytes of JSON. */
const maxFields = 1_000
const maxValues = 10_000
const maxBytes = 1024 * 1024

/** A fault in metadata. The message begins with the part that is wrong. */
export class MetadataFault extends Error {}

/** `schema.element`, with up to two further parts such as a qualifier. */
const fieldPattern = /^[A-Za-z][\w-]{0,99}(\.[\w-]{1,100}){1,3}$/

/** @throws MetadataFault */
export function checkField(field: string): void {
  if (!fieldPattern.test(field))
    throw new MetadataFault(
      `${JSON.stringify(field.slice(0, 100))} is no metadata field; write schema.element or schema.element.qualifier, such as dc.title`,
    )
}

/** Members of a value that clients send along, and that Carrel has no use for. */
const ignored: ReadonlySet<string> = new Set(['confidence', 'place', 'uuid', 'securityLevel'])

/**
 * Reads a value as clients write it: `{"value": "…", "language": "en"}`, or a text, which has no language.
 * @throws MetadataFault
 */
export function readValue(given: unknown, where: string): MetadataValue {
  if (typeof given === 'string') return { value: readText(given, where), language: null }
  if (!isObject(given))
    throw new MetadataFault(`${where} must be a text, or an object with value and language`)
  const { value, language = null, authority = null, ...others } = given
  if (authority !== null && authority !== '')
    throw new MetadataFault(`${where} has an authority, and Carrel keeps none`)
  const unknown = Object.keys(others).find(name => !ignored.has(name))
  if (unknown !== undefined)
    throw new MetadataFault(
      `${where} has the unknown member ${JSON.stringify(unknown.slice(0, 100))}; it takes value and language`,
    )
  return { value: readText(value, where), language: readLanguage(language, where) }
}

export function readText(value: unknown, where: string): string {
  if (typeof value !== 'string') throw new MetadataFault(`${where} must have value, a string`)
  const fault = textFault(value)
  if (fault !== undefined) throw new MetadataFault(`${where} ${fault}`)
  return value
}

export function readLanguage(language: unknown, where: string): string | null {
  if (language === null || language === '') return null
  if (typeof language !== 'string')
    throw new MetadataFault(`the language of ${where} must be a string or null`)
  const fault = lineFault(language)
  if (fault !== undefined) throw new MetadataFault(`the language of ${where} ${fault}`)
  return language
}

/** Reads one value, or a list of them. @throws MetadataFault */
export const readValues = (given: unknown, where: string): readonly MetadataValue[] =>
  Array.isArray(given)
    ? given.slice(0, maxValues + 1).map((one, at) => readValue(one, `${where}/${at}`))
    : [readValue(given, where)]

/** Reads whole metadata: an object with a list of values for each field. @throws MetadataFault */
export function readMetadata(given: unknown): Metadata {
  if (!isObject(given)) throw new MetadataFault('metadata must be an object of fields')
  const entries = Object.entries(given)
  if (entries.length > maxFields) throw new MetadataFault(`there are more than ${maxFields} fields`)
  return checkedMetadata(
    new Map(
      entries.map(([field, values]) => {
        checkField(field)
        return [field, readValues(values, field)]
      }),
    ),
  )
}

/** @returns the metadata, without fields that have no value @throws MetadataFault if there are too many */
export function checkedMetadata(fields: ReadonlyMap<string, readonly MetadataValue[]>): Metadata {
  const filled = [...fields].filter(([, values]) => values.length > 0)
  if (filled.length > maxFields) throw new MetadataFault(`there are more than ${maxFields} fields`)
  const count = filled.reduce((sum, [, values]) => sum + values.length, 0)
  if (count > maxValues) throw new MetadataFault(`there are more than ${maxValues} values`)
  const metadata = Object.fromEntries(filled)
  const tooLong = new MetadataFault(`the metadata are longer than ${maxBytes} bytes`)
  // The length is added up before anything is written out: a patch may copy a long text a thousand times at
  // no cost until then.
  if (lengthOf(filled) > maxBytes) throw tooLong
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxBytes) throw tooLong
  return metadata
}

const lengthOf = (filled: readonly (readonly [string, readonly MetadataValue[]])[]): number =>
  filled.reduce((sum, [, values]) => sum + values.reduce((all, { value }) => all + value.length, 0), 0)

/** @throws Problem 422 in place of a MetadataFault */
export function refusingFaults<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof MetadataFault)) throw error
    throw new Problem('change-refused', `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`)
  }
}
