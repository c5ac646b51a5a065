import type { Entity } from '../../model/entities.ts'
import type { Json } from '../language/node.ts'

/**
 * Entities of PuppetDB whose addresses continue with values of these fields, such as `/facts/<name>/<value>`.
 */
const listedByFields: Readonly<Record<string, readonly string[]>> = {
  facts: ['name', 'value'],
  resources: ['type', 'title'],
}

/**
 * Makes the condition of an address below an entity of PuppetDB (Q24).
 * @param values segments after the entity in the address
 * @returns undefined if the entity has no such addresses
 */
export function listedBy({ name, fields, key }: Entity, values: readonly string[]): Json | undefined {
  const names = listedByFields[name]
  // An imported entity of that name may have a key of one field; its addresses are those of records.
  if (!names || [key].flat().length === 1 || values.length === 0) return undefined
  const types = names.map(one => fields.find(field => field.name === one)?.type)
  if (types.includes(undefined)) return undefined
  // The last value may have slashes, as the titles of files do, which clients don't encode.
  const last = names.length - 1
  const given = values.length > last ? [...values.slice(0, last), values.slice(last).join('/')] : values
  const conditions = given.map((value, at): Json => {
    const field = names[at] ?? ''
    const text: Json = ['=', field, value]
    const other = types[at] === 'json' ? literalOf(value) : undefined
    return other === undefined ? text : ['or', text, ['=', field, other]]
  })
  return ['and', ...conditions]
}

/** Reads a JSON value that isn't text, as an address writes it; undefined for any other text. */
function literalOf(text: string): Json | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? { number: text } : undefined
}
