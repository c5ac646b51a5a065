import { type Operation, patchRefused } from '../../http/json-patch.ts'
import { fileName } from '../../lib/file-name.ts'
import { isObject } from '../../lib/json.ts'
import type { Bitstream, Metadata } from '../../model/items.ts'
import { lineFault, textFault } from './texts.ts'

/** A file has a name and a description. DSpace's clients know them as the metadata `dc.title` and `dc.description`. */
type Described = Pick<Bitstream, 'name' | 'description'>

export const metadataOf = ({ name, description }: Described): Metadata => ({
  'dc.title': [{ value: name, language: null }],
  ...(description === null ? {} : { 'dc.description': [{ value: description, language: null }] }),
})

/** Header of a response if a file got another name than its client gave (`lib/file-name.ts`). */
export const nameChanged = 'x-name-changed'

/**
 * Reads the name and the description of a file from its metadata.
 * @param before the current name, which the file may keep whatever it is
 * @throws Problem 422 for any other metadata, and for a name or a description that can't be
 */
export function describedBy(
  metadata: Metadata,
  before?: string,
): Described & { readonly isChanged: boolean } {
  const fault = (why: string) => patchRefused(null, why)
  for (const [field, values] of Object.entries(metadata)) {
    if (field !== 'dc.title' && field !== 'dc.description')
      throw fault(`A file has dc.title, its name, and dc.description, but not ${field}.`)
    if (values.length > 1) throw fault(`A file has only one ${field}.`)
  }
  const given = metadata['dc.title']?.[0]?.value
  if (given === undefined) throw fault('A file must have dc.title, its name.')
  const { name, isChanged } = given === before ? { name: given, isChanged: false } : fileName(given)
  const nameFault = nameFaultOf(name)
  if (nameFault !== undefined) throw fault(nameFault)
  const description = metadata['dc.description']?.[0]?.value || null
  const wrong = description === null ? undefined : textFault(description)
  if (wrong !== undefined) throw fault(`The description of a file ${wrong}.`)
  return { name, description, isChanged }
}

export function nameFaultOf(name: string): string | undefined {
  const fault = lineFault(name)
  return fault === undefined ? undefined : `The name of a file ${fault}.`
}

/**
 * Puts the names that files get into operations, because a name with control characters would be refused as metadata.
 */
export function withSafeNames(given: readonly Operation[]): {
  readonly operations: readonly Operation[]
  readonly isRenamed: boolean
} {
  let isRenamed = false
  const safe = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(safe)
    if (isObject(value)) return 'value' in value ? { ...value, value: safe(value.value) } : value
    if (typeof value !== 'string') return value
    const { name, isChanged } = fileName(value)
    isRenamed ||= isChanged
    return name
  }
  const operations = given.map(one => {
    const [, field, , member = 'value'] = one.path
    const isName = one.op !== 'test' && field === 'dc.title' && member === 'value'
    return isName ? { ...one, value: safe(one.value) } : one
  })
  return { operations, isRenamed }
}
