import { Problem } from '../http/problems.ts'
import { isObject } from '../lib/json.ts'
import type { Operation } from '../lib/json-patch.ts'

/**
 * Metadata of epersons and groups as DSpace's clients write it: fields with lists of values, of which Carrel keeps one each.
 * The result is what changes: a text, or null where a field goes.
 */
export type Values = Readonly<Record<string, string | null>>

/** What a field takes. @returns what is wrong with the text; undefined: nothing */
export type Fields = ReadonlyMap<string, (text: string) => string | undefined>

/** Members of a value that say nothing about an eperson or a group. */
const ignored = new Set(['language', 'authority', 'confidence', 'place', 'uuid'])

/** A text of at most so many characters, without control characters but line breaks. */
export const textUpTo =
  (max: number) =>
  (text: string): string | undefined => {
    if (text.length > max) return `may have at most ${max} characters`
    if (!text.isWellFormed()) return 'has an unpaired surrogate, which is not a character'
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    return /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text) ? 'has a control character' : undefined
  }

/** The member `metadata` of a body that creates something. */
export function metadataOf(given: unknown, fields: Fields): Values {
  const fault = (why: string) => new Problem('change-refused', why)
  if (given === undefined || given === null) return {}
  if (!isObject(given)) throw fault('metadata must be an object of fields, each a list of values.')
  return Object.assign(
    {},
    ...Object.entries(given).map(([field, values]) => one(field, values, fields, fault)),
  )
}

/** What an operation of a JSON Patch below `/metadata` changes. */
export function metadataChange(operation: Operation, fields: Fields): Values {
  const { index, op, path, value } = operation
  const fault = (why: string) => new Problem('patch-refused', `Operation ${index}: ${why}`)
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
  // The Python client ends a path with / where it gives no place.
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
