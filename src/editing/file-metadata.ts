import { PatchFault } from '../lib/json-patch.ts'
import type { Bitstream, Metadata } from '../model/items.ts'
import { lineFault, textFault } from './texts.ts'

/** A file has a name and a description. DSpace's clients know them as the metadata `dc.title` and `dc.description`. */
type Described = Pick<Bitstream, 'name' | 'description'>

export const metadataOf = ({ name, description }: Described): Metadata => ({
  'dc.title': [{ value: name, language: null }],
  ...(description === null ? {} : { 'dc.description': [{ value: description, language: null }] }),
})

/** @throws PatchFault for any other metadata, and for a name or a description that can't be */
export function describedBy(metadata: Metadata): Described {
  const fault = (why: string) => new PatchFault('content', null, why)
  for (const [field, values] of Object.entries(metadata)) {
    if (field !== 'dc.title' && field !== 'dc.description')
      throw fault(`A file has dc.title, its name, and dc.description, but not ${field}.`)
    if (values.length > 1) throw fault(`A file has only one ${field}.`)
  }
  const name = metadata['dc.title']?.[0]?.value
  if (name === undefined) throw fault('A file must have dc.title, its name.')
  const nameFault = nameFaultOf(name)
  if (nameFault !== undefined) throw fault(nameFault)
  const description = metadata['dc.description']?.[0]?.value || null
  const wrong = description === null ? undefined : textFault(description)
  if (wrong !== undefined) throw fault(`The description of a file ${wrong}.`)
  return { name, description }
}

export function nameFaultOf(name: string): string | undefined {
  const fault = lineFault(name)
  return fault === undefined ? undefined : `The name of a file ${fault}.`
}
