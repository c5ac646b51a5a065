/**
 * JSON Patch (RFC 6902) as DSpace's clients write it: a list of operations, read and checked, with paths split into tokens.
 * What an operation changes, and whether it may, the caller decides.
 */

export type Op = 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'

export interface Operation {
  /** Its place in the list, from 0. */
  readonly index: number
  readonly op: Op
  /** As it was sent, such as `/metadata/dc.title/0`. */
  readonly pointer: string
  /** The pointer's tokens, unescaped: `['metadata', 'dc.title', '0']`. */
  readonly path: readonly string[]
  /** Of `move` and `copy`. */
  readonly from: readonly string[] | null
  /** Of `add`, `replace` and `test`; undefined for the others. */
  readonly value: unknown
}

export interface PatchBounds {
  /** How many operations there may be. */
  readonly operations: number
  /** Bytes of the body. */
  readonly bytes: number
}

export const defaultBounds: PatchBounds = { operations: 100, bytes: 64 * 1024 }
/** Characters and tokens of a path. No document that is patched is deeper. */
const maxPointer = 1_024
const maxTokens = 16

/** What is wrong with a patch. The message names the operation, and repeats nothing of the body but paths. */
export class PatchFault extends Error {
  /**
   * - `syntax`: no JSON, or no list of operations (400).
   * - `content`: an operation that can't be applied (422, RFC 5789 §2.2).
   */
  readonly kind: 'syntax' | 'content'
  /** The operation; null: the list as a whole. */
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

/**
 * The operations of a body.
 * @throws PatchFault
 */
export function readPatch(body: Uint8Array, bounds: PatchBounds = defaultBounds): readonly Operation[] {
  if (body.length > bounds.bytes)
    throw new PatchFault('content', null, `A patch may have at most ${bounds.bytes} bytes.`)
  const parsed = parse(body)
  if (!Array.isArray(parsed))
    throw new PatchFault('syntax', null, 'The body must be a JSON array of operations (RFC 6902).')
  if (parsed.length > bounds.operations)
    throw new PatchFault('content', null, `A patch may have at most ${bounds.operations} operations.`)
  return parsed.map((one: unknown, index) => readOperation(one, index))
}

function parse(body: Uint8Array): unknown {
  try {
    // Fatal: repairing invalid UTF-8 would store something else than was sent.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    // The parser's own message would quote the body.
    throw new PatchFault('syntax', null, 'The body is not well-formed JSON in UTF-8.')
  }
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
    // RFC 6902 §4: members that an operation doesn't define are ignored.
    value: needsValue[op] ? given.value : undefined,
  }
}

const isOp = (text: string): text is Op => Object.hasOwn(needsValue, text)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @returns undefined for what is no JSON Pointer (RFC 6901 §3) */
export function tokensOf(pointer: string): readonly string[] | undefined {
  if (pointer === '') return []
  if (pointer.length > maxPointer || !pointer.startsWith('/')) return undefined
  const tokens = pointer.slice(1).split('/')
  // RFC 6901 §3: ~ is always ~0 or ~1.
  if (tokens.length > maxTokens || !pointer.isWellFormed() || /~(?![01])/.test(pointer)) return undefined
  // RFC 6901 §4: first ~1, then ~0, so that ~01 becomes ~1.
  return tokens.map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}
