import type { FastifyRequest } from 'fastify'
import { isObject } from '../lib/json.ts'
import { type PointerBounds, tokensOf } from '../lib/json-pointer.ts'
import { jsonBody, patchTypes, requireType } from './json-body.ts'
import { Problem } from './problems.ts'

/**
 * JSON Patch (RFC 6902). Bodies are read and checked here, with paths split into tokens. Each feature says
 * which paths and operations it takes, and what they change.
 */

export type Op = 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'

export interface Operation {
  /** Position in the list, from 0. */
  readonly index: number
  readonly op: Op
  /** The path as it was sent, such as `/metadata/dc.title/0`. */
  readonly pointer: string
  /** The pointer's tokens, unescaped: `['metadata', 'dc.title', '0']`. */
  readonly path: readonly string[]
  /** The source path of `move` and `copy`; null for the others. */
  readonly from: readonly string[] | null
  /** The value of `add`, `replace` and `test`; undefined for the others. */
  readonly value: unknown
}

/** Makes the problem of an operation, or of a patch as a whole: index null. */
type Refuse = (index: number | null, why: string) => Problem

/**
 * Makes the problem of an operation that can't be applied (422, RFC 5789 §2.2), or of a patch as a whole:
 * index null. `why` repeats no part of the body except paths.
 */
export const patchRefused: Refuse = (index, why) =>
  new Problem('patch-refused', index === null ? why : `Operation ${index}: ${why}`)

/** Maximum numbers of characters and tokens of a path. No document that is described here is deeper. */
const pathBounds: PointerBounds = { characters: 1_024, tokens: 16 }

/**
 * Reads the operations of a JSON Patch from a body.
 * @throws Problem 415 for another media type, 400 for malformed JSON or no list, 422 for a wrong operation
 *   (RFC 5789 §2.2)
 */
export function patchBody(
  request: FastifyRequest,
  bounds = { operations: 100, bytes: 64 * 1024 },
): readonly Operation[] {
  requireType(request, patchTypes)
  if (Buffer.isBuffer(request.body) && request.body.length > bounds.bytes)
    throw patchRefused(null, `A patch may have at most ${bounds.bytes} bytes.`)
  const patch = jsonBody(request, patchTypes)
  if (!Array.isArray(patch))
    throw new Problem('bad-request', 'The body must be a JSON array of operations (RFC 6902).')
  if (patch.length > bounds.operations)
    throw patchRefused(null, `A patch may have at most ${bounds.operations} operations.`)
  return patch.map((one: unknown, index) => readOperation(one, index))
}

const needsValue: Readonly<Record<Op, boolean>> = {
  add: true,
  remove: false,
  replace: true,
  move: false,
  copy: false,
  test: true,
}
const ops = Object.keys(needsValue).join(', ')

/**
 * Reads one operation. @param index its position, from 0 @throws the problem that `refuse` makes, which names
 * the operation
 */
export function readOperation(
  given: unknown,
  index: number,
  refuse: Refuse = patchRefused,
  bounds: PointerBounds = pathBounds,
): Operation {
  if (!isObject(given)) throw refuse(index, 'it must be an object with op and path.')
  const { op, path: pointer, from } = given
  if (typeof op !== 'string' || !isOp(op)) throw refuse(index, `op must be one of ${ops}.`)
  if (typeof pointer !== 'string')
    throw refuse(index, 'path must be a string, such as "/metadata/dc.title/0".')
  const read = (name: string, text: string) => {
    const tokens = tokensOf(text, bounds)
    if (tokens) return tokens
    throw refuse(
      index,
      `${name} must be a JSON Pointer (RFC 6901) of at most ${bounds.tokens} parts, such as "/email".`,
    )
  }
  const path = read('path', pointer)
  if (needsValue[op] && !Object.hasOwn(given, 'value')) throw refuse(index, `${op} needs a value.`)
  const moves = op === 'move' || op === 'copy'
  if (moves && typeof from !== 'string') throw refuse(index, `${op} needs from, a path.`)
  return {
    index,
    op,
    pointer,
    path,
    from: moves && typeof from === 'string' ? read('from', from) : null,
    // Members that an operation doesn't define are ignored (RFC 6902 §4).
    value: needsValue[op] ? given.value : undefined,
  }
}

const isOp = (text: string): text is Op => Object.hasOwn(needsValue, text)
