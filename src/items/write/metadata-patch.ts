import { isDeepStrictEqual } from 'node:util'
import { type Operation, patchRefused } from '../../http/json-patch.ts'
import type { Metadata, MetadataValue } from '../../model/items.ts'
import {
  checkedMetadata,
  checkField,
  MetadataFault,
  readLanguage,
  readMetadata,
  readText,
  readValue,
  readValues,
} from './metadata.ts'

type Fields = Map<string, readonly MetadataValue[]>
type FieldsChange = 'as a whole' | 'value by value'

/**
 * Applies operations to metadata (RFC 6902), in their order and all or none. Paths are `/metadata/<field>`,
 * `/metadata/<field>/<place>`, `/metadata/<field>/-` and `/metadata/<field>/<place>/<member>`. An empty
 * place, as DSpace's Python client writes it, means the end. A list of values, as DSpace's interface sends
 * it, means all of them. A value may be a text. The function is pure.
 * @param fieldsChange `value by value`: one value that is added to a field without a place follows those that
 * are there, and a field may be replaced that isn't there
 * @throws Problem 422 naming the operation
 */
export function patchMetadata(
  before: Metadata,
  operations: readonly Operation[],
  fieldsChange: FieldsChange = 'as a whole',
): Metadata {
  const fields: Fields = new Map(Object.entries(before))
  for (const operation of operations)
    faultIn(operation.index, () => {
      apply(fields, operation, fieldsChange)
    })
  return faultIn(null, () => checkedMetadata(fields))
}

function faultIn<T>(index: number | null, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof MetadataFault)) throw error
    throw patchRefused(index, `${error.message}.`)
  }
}

function apply(
  fields: Fields,
  { op, path, from, value, pointer }: Operation,
  fieldsChange: FieldsChange,
): void {
  const [, field, place, member] = path
  if (path.length > 4) throw new MetadataFault(`${pointer} is no path in metadata`)
  if (field !== undefined) checkField(field)
  if (field === undefined) replaceAll(fields, op, value)
  else if (op === 'move' || op === 'copy') moveValue(fields, op, from ?? [], path)
  else if (place === undefined) changeField(fields, op, field, value, fieldsChange)
  else {
    const values = fields.get(field) ?? []
    if (member === undefined) fields.set(field, changedValues(values, op, place, value, pointer))
    else {
      const at = placeIn(values, place, pointer)
      fields.set(field, values.with(at, memberOf(values, at, member, op, value)))
    }
  }
}

/** Applies an operation to one of the values of a field. */
function changedValues(
  values: readonly MetadataValue[],
  op: Operation['op'],
  place: string,
  value: unknown,
  pointer: string,
): readonly MetadataValue[] {
  if (op === 'add') {
    const end = isEnd(place) ? values.length : placeIn([...values, null], place, pointer)
    return values.toSpliced(end, 0, ...readValues(value, pointer))
  }
  const at = placeIn(values, place, pointer)
  if (op === 'remove') return values.toSpliced(at, 1)
  const given = readValue(single(value), pointer)
  if (op === 'replace') return values.with(at, given)
  same(values[at], given, pointer)
  return values
}

/** Unwraps a list of one value. */
const single = (value: unknown) => (Array.isArray(value) && value.length === 1 ? value[0] : value)

const isEnd = (place: string) => place === '-' || place === ''

/** @throws MetadataFault if there is nothing at this place */
function placeIn(values: readonly unknown[], place: string, pointer: string): number {
  const at = /^(0|[1-9]\d{0,8})$/.test(place) ? Number(place) : Number.NaN
  if (at < values.length) return at
  throw new MetadataFault(`there is nothing at ${pointer}`)
}

function replaceAll(fields: Fields, op: Operation['op'], value: unknown): void {
  if (op !== 'add' && op !== 'replace')
    throw new MetadataFault('all metadata together can only be added or replaced')
  const all = readMetadata(value)
  fields.clear()
  for (const [field, values] of Object.entries(all)) fields.set(field, values)
}

function changeField(
  fields: Fields,
  op: Operation['op'],
  field: string,
  value: unknown,
  fieldsChange: FieldsChange,
): void {
  const values = fields.get(field) ?? []
  const isOneByOne = fieldsChange === 'value by value'
  const mayBeMissing = op === 'add' || (op === 'replace' && isOneByOne)
  if (!mayBeMissing && values.length === 0) throw new MetadataFault(`there is no field ${field}`)
  if (op === 'remove') fields.delete(field)
  else if (op === 'test') same(values, readValues(value, field), field)
  else if (op === 'add' && isOneByOne && !Array.isArray(value))
    fields.set(field, [...values, readValue(value, field)])
  else fields.set(field, readValues(value, field))
}

function memberOf(
  values: readonly MetadataValue[],
  at: number,
  member: string,
  op: Operation['op'],
  given: unknown,
): MetadataValue {
  const before = values[at]
  if (!before) throw new MetadataFault('there is no such value')
  const where = `the ${member} of a value`
  // Clients test what they were sent, with its authority, confidence and place.
  if (['confidence', 'place', 'uuid', 'securityLevel'].includes(member)) return before
  if (member === 'authority') {
    if (op !== 'remove' && given !== null && given !== '')
      throw new MetadataFault('Carrel keeps no authority of a value')
    return before
  }
  if (member !== 'value' && member !== 'language')
    throw new MetadataFault(`a value has value and language, not ${JSON.stringify(member.slice(0, 100))}`)
  if (op === 'remove' && member === 'value') throw new MetadataFault('a value can’t be without its text')
  const wanted =
    op === 'remove'
      ? { ...before, language: null }
      : member === 'value'
        ? { ...before, value: readText(given, where) }
        : { ...before, language: readLanguage(given, where) }
  if (op === 'test' && !isDeepStrictEqual(before, wanted))
    throw new MetadataFault(`the ${member} that is there is another one`)
  return wanted
}

/** Moves or copies a value within a field, or from one to another. */
function moveValue(
  fields: Fields,
  op: 'move' | 'copy',
  from: readonly string[],
  to: readonly string[],
): void {
  const [root, source, place] = from
  const [, target, at] = to
  if (root !== 'metadata' || source === undefined || place === undefined || from.length > 3)
    throw new MetadataFault('from must name a value, such as /metadata/dc.title/0')
  if (target === undefined || at === undefined || to.length > 3)
    throw new MetadataFault('path must name a place, such as /metadata/dc.title/1')
  const values = fields.get(source) ?? []
  const index = placeIn(values, place, `/${from.join('/')}`)
  const moved = values[index]
  if (!moved) throw new MetadataFault('there is no such value')
  if (op === 'move') fields.set(source, values.toSpliced(index, 1))
  const others = fields.get(target) ?? []
  const end = isEnd(at) ? others.length : placeIn([...others, null], at, `/${to.join('/')}`)
  fields.set(target, others.toSpliced(end, 0, moved))
}

function same(found: unknown, wanted: unknown, where: string): void {
  if (!isDeepStrictEqual(found, wanted)) throw new MetadataFault(`${where} has another value`)
}
