import { type Operation, readOperation } from '../../http/json-patch.ts'
import { Problem } from '../../http/problems.ts'
import { setMember } from '../../import/constraints.ts'
import { decimalKey } from '../../lib/decimals.ts'
import { exactText, isObject, type Members, numberText, parseWritten } from '../../lib/json.ts'
import { type PointerBounds, pointer } from '../../lib/json-pointer.ts'
import { maxRecord } from './check-record.ts'

/** Maximum number of operations; the change of one record doesn't need more. */
const maxOperations = 500

/**
 * Applies a JSON Patch (RFC 6902) to a record. Libraries for it copy values, which loses digits of numbers,
 * and look up inherited members (docs/decisions/0041).
 * @param record is changed
 * @throws Problem 422 that names the operation
 */
export function patched(record: Members, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw refused('A JSON Patch must be an array of operations.')
  if (patch.length > maxOperations)
    throw refused(`A patch may have ${maxOperations} operations; this one has ${patch.length}.`)
  // An operation may copy an earlier copy, so the sizes are added up.
  let copied = 0
  const copyOf = (value: unknown): unknown => {
    const json = JSON.stringify(value)
    copied += json.length
    if (copied > maxRecord) throw refused('The patch copies too much; a record may have 1 MiB.')
    return parseWritten(json)
  }
  let root: unknown = record
  for (const [at, given] of patch.entries())
    try {
      root = applied(root, readOperation(given, at, cannot, anyPointer), copyOf)
    } catch (error) {
      // A patch can nest values that it has nested before.
      if (error instanceof RangeError) throw refused('The patch nests values too deeply; flatten them.')
      if (!(error instanceof Wrong)) throw error
      throw cannot(at, `${error.message}.`)
    }
  return root
}

const refused = (detail: string, members: Members = {}) => new Problem('record-refused', detail, { members })

const cannot = (at: number | null, why: string) =>
  refused(`Operation ${at} of the patch can’t be applied: ${why}`, { operation: at })

/** The size of the body already bounds a pointer. */
const anyPointer: PointerBounds = { characters: maxRecord, tokens: maxRecord }

class Wrong extends Error {}

function applied(
  root: unknown,
  { op, path, from, pointer: at, value }: Operation,
  copyOf: (value: unknown) => unknown,
): unknown {
  switch (op) {
    case 'add':
      return added(root, path, value)
    case 'remove':
      return removed(root, path)
    case 'replace':
      return path.length === 0 ? value : replaced(root, path, value)
    case 'move': {
      const source = from ?? []
      if (path.length > source.length && source.every((token, at) => token === path[at]))
        throw new Wrong('a value can’t be moved into itself')
      const moved = valueAt(root, source)
      return added(removed(root, source), path, moved)
    }
    case 'copy':
      return added(root, path, copyOf(valueAt(root, from ?? [])))
    case 'test':
      if (!isEqual(valueAt(root, path), value))
        throw new Wrong(`the value at ${JSON.stringify(at)} is another one`)
      return root
  }
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root
  for (const token of path) {
    if (Array.isArray(value)) value = value[indexIn(value, token, value.length - 1)]
    else if (isObject(value) && Object.hasOwn(value, token)) value = value[token]
    else throw new Wrong(`there is nothing at ${shown(path)}`)
  }
  return value
}

const shown = (path: readonly string[]): string => {
  const text = pointer(...path)
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}

function indexIn(array: readonly unknown[], token: string, last: number): number {
  const index = /^(0|[1-9]\d{0,9})$/.test(token) ? Number(token) : Number.NaN
  if (!(index <= last)) throw new Wrong(`${shown([token])} is no index of an array of ${array.length}`)
  return index
}

function added(root: unknown, path: readonly string[], value: unknown): unknown {
  const token = path.at(-1)
  if (token === undefined) return value
  const parent = valueAt(root, path.slice(0, -1))
  if (Array.isArray(parent))
    parent.splice(token === '-' ? parent.length : indexIn(parent, token, parent.length), 0, value)
  else if (isObject(parent)) setMember(parent, token, value)
  else throw new Wrong(`there is no object or array at ${shown(path.slice(0, -1))}`)
  return root
}

/** Replaces a value in its place: a member that is removed and added again would become the last one. */
function replaced(root: unknown, path: readonly string[], value: unknown): unknown {
  valueAt(root, path)
  const token = path.at(-1) ?? ''
  const parent = valueAt(root, path.slice(0, -1))
  if (Array.isArray(parent)) parent[Number(token)] = value
  else setMember(parent as object, token, value)
  return root
}

function removed(root: unknown, path: readonly string[]): unknown {
  valueAt(root, path)
  const token = path.at(-1)
  if (token === undefined) return null
  const parent = valueAt(root, path.slice(0, -1))
  if (Array.isArray(parent)) parent.splice(indexIn(parent, token, parent.length - 1), 1)
  else delete (parent as Record<string, unknown>)[token]
  return root
}

/** Compares as RFC 6902 §4.6 requires: numbers by value, objects whatever the order of their members. */
const isEqual = (one: unknown, other: unknown): boolean =>
  isSame(one, other, (text, otherText) => decimalKey(text) === decimalKey(otherText))

/** True if two values are equal, and their numbers have the same digits. */
export const isWrittenSo = (one: unknown, other: unknown): boolean =>
  isSame(one, other, (text, otherText) => text === otherText)

function isSame(
  one: unknown,
  other: unknown,
  isSameNumber: (text: string, otherText: string) => boolean,
): boolean {
  if (exactText(one) !== undefined || exactText(other) !== undefined) {
    const [text, otherText] = [numberText(one), numberText(other)]
    return text !== undefined && otherText !== undefined && isSameNumber(text, otherText)
  }
  if (Array.isArray(one))
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((value, at) => isSame(value, other[at], isSameNumber))
    )
  if (!isObject(one)) return one === other
  const names = Object.keys(one)
  return (
    isObject(other) &&
    names.length === Object.keys(other).length &&
    names.every(name => Object.hasOwn(other, name) && isSame(one[name], other[name], isSameNumber))
  )
}
