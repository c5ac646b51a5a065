import { type Operation, patchRefused } from '../../http/json-patch.ts'
import { Problem } from '../../http/problems.ts'
import type { Item, Metadata } from '../../model/items.ts'
import { readMetadata, refusingFaults } from './metadata.ts'
import { patchMetadata } from './metadata-patch.ts'

type Values = Pick<Item, 'metadata' | 'withdrawn' | 'discoverable'>
const states = ['withdrawn', 'discoverable'] as const

/**
 * Reads an item that a client sends whole. Members that follow from others, such as its name, are ignored.
 * @param before values of members that aren't given
 * @throws Problem 422
 */
export function readItem(
  body: Readonly<Record<string, unknown>>,
  before: Values = { metadata: {}, withdrawn: false, discoverable: true },
): Values {
  const state = (name: (typeof states)[number]) => {
    const value = body[name] ?? before[name]
    if (typeof value !== 'boolean') throw new Problem('change-refused', `${name} must be true or false.`)
    return value
  }
  return {
    metadata:
      body.metadata === undefined ? before.metadata : refusingFaults(() => readMetadata(body.metadata)),
    withdrawn: state('withdrawn'),
    discoverable: state('discoverable'),
  }
}

/**
 * Applies a patch to an item: to its metadata, and to its states withdrawn and discoverable.
 * @param hidden fields that the caller may neither see nor write
 * @returns only the parts that operations name
 * @throws Problem 422
 */
export function patchItem(
  before: Values,
  operations: readonly Operation[],
  hidden: readonly string[],
): Partial<Values> {
  const ofMetadata: Operation[] = []
  const after: { -readonly [K in keyof Values]?: Values[K] } = {}
  for (const operation of operations) {
    const { index, path, op, value } = operation
    const name = states.find(one => one === path[0])
    if (name !== undefined && path.length === 1) {
      if (op !== 'replace' && op !== 'add') throw patchRefused(index, `${name} can only be replaced.`)
      after[name] = readState(index, name, value)
    } else if (path[0] === 'metadata') {
      const fields = [path[1], operation.from?.[1]]
      const secret = fields.find(field => field !== undefined && hidden.includes(field))
      if (secret !== undefined) throw patchRefused(index, `you may not write ${secret}.`)
      ofMetadata.push(operation)
    } else throw patchRefused(index, 'the path must be below /metadata, or be /withdrawn or /discoverable.')
  }
  if (ofMetadata.length > 0) {
    after.metadata = patchMetadata(before.metadata, ofMetadata)
    const secret = Object.keys(after.metadata).find(field => hidden.includes(field))
    if (secret !== undefined) throw patchRefused(null, `You may not write ${secret}.`)
  }
  return after
}

/**
 * Applies a patch to the metadata of the site. DSpace's interface writes the user agreement by replacing a
 * field that may not be there, and by adding a value for each further language to the field, without a place.
 * @throws Problem 422
 */
export function patchSite(before: Metadata, operations: readonly Operation[]): Metadata {
  for (const { index, path } of operations)
    if (path[0] !== 'metadata') throw patchRefused(index, 'the path must be below /metadata.')
  return patchMetadata(before, operations, 'value by value')
}

/** Reads a state, which DSpace's clients send as a boolean, and others as a word. */
function readState(index: number, name: string, value: unknown): boolean {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw patchRefused(index, `${name} must be true or false.`)
}
