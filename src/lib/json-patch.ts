import { isObject } from './json.ts'

/**
 * JSON Patch (RFC 6902) as DSpace's clients write it: a list of operations, read and checked, with paths
 * split into tokens. The caller decides what an operation changes and whether it is allowed.
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

/** Maximum numbers of characters and tokens of a path. No document that is patched is deeper. */
const maxPointer = 1_024
const maxTokens = 16

/** A fault in a patch. The message names the operation, and repeats no part of the body except paths. */
export class PatchFault extends Error {
  /**
   * - `syntax`: the patch is not a list of operations (400).
   * - `content`: an operation can't be applied (422, RFC 5789 §2.2).
   */
  readonly kind: 'syntax' | 'content'
  /** Index of the operation; null: the list as a whole. */
  readonly index: number | null

  constructor(kind: PatchFault['kind'], index: number | null, why: string) {
    super(index === null ? why : `Operation ${index}: ${why}`)
    this.kind = kind
    this.index = index
  }
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

/** Parses a patch. @param patch the parsed body @param max maximum number of operations @throws PatchFault */
export function readPatch(patch: unknown, max: number): readonly Operation[] {
  if (!Array.isArray(patch))
    throw new PatchFault('syntax', null, 'The body must be a JSON array of operations (RFC 6902).')
  if (patch.length > max) throw new PatchFault('content', null, `A patch may have at most ${max} operations.`)
  return patch.map((one: unknown, index) => readOperation(one, index))
}

function readOperation(given: unknown, index: number): Operation {
  const fault = (why: string) => new PatchFault('content', index, why)
  if (!isObject(given)) throw fault('it must be an object with op and path.')
  const { op, path: pointer, from } = given
  if (typeof op !== 'string' || !isOp(op)) throw fault(`op must be one of ${ops}.`)
  if (typeof pointer !== 'string') throw fault('path must be a string, such as "/metadata/dc.title/0".')
  const read = (name: string, text: string) => {
    const tokens = tokensOf(text)
    if (!tokens)
      throw fault(
        `${name} must be a JSON Pointer (RFC 6901) of at most ${maxTokens} parts, such as "/email".`,
      )
    return tokens
  }
  const path = read('path', pointer)
  if (needsValue[op] && !Object.hasOwn(given, 'value')) throw fault(`${op} needs a value.`)
  const moves = op === 'move' || op === 'copy'
  if (moves && typeof from !== 'string') throw fault(`${op} needs from, a path.`)
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

/** Makes a JSON pointer (RFC 6901 §3). */
export const pointer = (...parts: readonly (string | number)[]): string =>
  parts.map(part => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** @returns undefined if the text is not a JSON Pointer (RFC 6901 §3) */
export function tokensOf(
  pointer: string,
  bounds = { characters: maxPointer, tokens: maxTokens },
): readonly string[] | undefined {
  if (pointer === '') return []
  if (pointer.length > bounds.characters || !pointer.startsWith('/')) return undefined
  const tokens = pointer.slice(1).split('/')
  // A tilde is always part of ~0 or ~1 (RFC 6901 §3).
  if (tokens.length > bounds.tokens || !pointer.isWellFormed() || /~(?![01])/.test(pointer)) return undefined
  // First ~1 is replaced, then ~0, so that ~01 becomes ~1 (RFC 6901 §4).
  return tokens.map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}
