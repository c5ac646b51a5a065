import { type Operation, patchRefused } from '../http/json-patch.ts'
import { Problem } from '../http/problems.ts'
import { isObject } from '../lib/json.ts'

/**
 * Changes of the metadata of epersons and groups. DSpace's clients write fields with lists of values, of
 * which Carrel keeps one each: a text, or null if the field is removed.
 */
export type Values = Readonly<Record<string, string | null>>

/** Checks of the fields that can be set. @returns what is wrong with the text; undefined if nothing is */
export type Fields = ReadonlyMap<string, (text: string) => string | undefined>

/** Members of a value that say nothing about an eperson or a group. */
const ignored = new Set(['language', 'authority', 'confidence', 'place', 'uuid'])

/** Makes a check for texts of at most `max` characters, without control characters other than tabs and line breaks. */
export const textUpTo =
  (max: number) =>
  (text: string): string | undefined => {
    if (text.length > max) return `may have at most ${max} characters`
    if (!text.isWellFormed()) return 'has an unpaired surrogate, which is not a character'
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    return /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text) ? 'has a control character' : undefined
  }

/** Reads the member `metadata` of a body that creates an eperson or a group. */
export function metadataOf(given: unknown, fields: Fields): Values {
  const fault = (why: string) => new Problem('change-refused', why)
  if (given === undefined || given === null) return {}
  if (!isObject(given)) throw fault('metadata must be an object of fields, each a list of values.')
  return Object.assign(
    {},
    ...Object.entries(given).map(([field, values]) => one(field, values, fields, fault)),
  )
}

/** Reads the change that an operation of a JSON Patch makes below `/metadata`. */
export function metadataChange(operation: Operation, fields: Fields): Values {
  const { index, op, path, value } = operation
  const fault = (why: string) => patchRefused(index, why)
  if (op !== 'add' && op !== 'replace' && op !== 'remove')
    throw fault(`${op} is not supported here; use add, replace or remove.`)
  const [, field, at, member, ...more] = path
  const removes = op === 'remove'
  if (field === undefined) {
    if (removes || !isObject(value)) throw fault('/metadata takes add or replace, with an object of fields.')
    return Object.assign(
      {},
      ...Object.entries(value).map(([name, values]) => one(name, values, fields, fault)),
    )
  }
  requireField(field, fields, fault)
  if (more.length > 0) throw fault('the path is too long.')
  if (at === undefined) return removes ? { [field]: null } : one(field, value, fields, fault)
  // The Python client ends the path with / if it gives no place.
  if (at !== '0' && at !== '-' && at !== '') throw fault(`${field} has at most one value; its place is 0.`)
  if (member === undefined) return removes ? { [field]: null } : one(field, [value], fields, fault)
  if (ignored.has(member)) return {}
  if (member !== 'value') throw fault(`a value has no member of that name.`)
  return removes ? { [field]: null } : one(field, value, fields, fault)
}

type Fault = (why: string) => Problem

/** @param given a list of values, or one: an object with `value`, or a text */
function one(field: string, given: unknown, fields: Fields, fault: Fault): Values {
  const check = requireField(field, fields, fault)
  const values = Array.isArray(given) ? (given as readonly unknown[]) : [given]
  if (values.length > 1) throw fault(`${field} has at most one value.`)
  const [first] = values
  const text = isObject(first) ? first.value : first
  if (text === undefined || text === null || text === '') return { [field]: null }
  if (typeof text !== 'string') throw fault(`the value of ${field} must be a string.`)
  const wrong = check(text)
  if (wrong !== undefined) throw fault(`${field} ${wrong}.`)
  return { [field]: text }
}

function requireField(field: string, fields: Fields, fault: Fault) {
  const check = fields.get(field)
  if (!check) throw fault(`there is no such field; ${[...fields.keys()].join(', ')} can be set.`)
  return check
}
