import { Problem } from '../http/problems.ts'
import type { Operation } from '../lib/json-patch.ts'
import type { GroupChange, NewGroup } from '../storage/people.ts'
import { type Fields, metadataChange, metadataOf, textUpTo, type Values } from './single-metadata.ts'

/** Groups as DSpace's clients write them. */

const description = 'dc.description'
const fields: Fields = new Map([[description, textUpTo(4_000)]])
const maxName = 250

/** The group that the body of a POST describes. @throws Problem 422 */
export function newGroup(body: Readonly<Record<string, unknown>>): NewGroup {
  const fault = (why: string) => new Problem('change-refused', why)
  if (body.permanent === true) throw fault('No other group can be permanent.')
  const values = metadataOf(body.metadata, fields)
  return { name: nameOf(body.name, fault), description: values[description] ?? null }
}

/** What a JSON Patch changes of a group. @throws Problem 422 */
export function groupChange(operations: readonly Operation[]): GroupChange {
  if (operations.length === 0) throw new Problem('patch-refused', 'The patch has no operations.')
  return Object.assign({}, ...operations.map(changeOf)) as GroupChange
}

function changeOf(operation: Operation): GroupChange {
  const { index, op, path, value } = operation
  const fault = (why: string) => new Problem('patch-refused', `Operation ${index}: ${why}`)
  if (path[0] === 'metadata') return described(metadataChange(operation, fields))
  if (path.length !== 1 || path[0] !== 'name') throw fault(`a group has /name and /metadata/${description}.`)
  if (op !== 'replace' && op !== 'add') throw fault('/name takes replace, with a value.')
  return { name: nameOf(value, fault) }
}

const described = (values: Values): GroupChange =>
  description in values ? { description: values[description] ?? null } : {}

function nameOf(given: unknown, fault: (why: string) => Problem): string {
  if (typeof given !== 'string' || given.trim() === '') throw fault('A group needs a name.')
  const name = given.trim()
  const wrong = textUpTo(maxName)(name)
  if (wrong !== undefined) throw fault(`The name ${wrong}.`)
  if (/[\r\n\t]/.test(name)) throw fault('The name has a line break or a tab.')
  return name
}
