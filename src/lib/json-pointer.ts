/** JSON Pointers (RFC 6901): paths to a value inside of a JSON document. */

/** Maximum numbers of characters and of tokens. */
export interface PointerBounds {
  readonly characters: number
  readonly tokens: number
}

/** Makes a JSON Pointer (RFC 6901 §3). */
export const pointer = (...parts: readonly (string | number)[]): string =>
  parts.map(part => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** Splits a pointer into its tokens. @returns undefined if the text is not a JSON Pointer (RFC 6901 §3) */
export function tokensOf(pointer: string, bounds: PointerBounds): readonly string[] | undefined {
  if (pointer === '') return []
  if (pointer.length > bounds.characters || !pointer.startsWith('/')) return undefined
  const tokens = pointer.slice(1).split('/')
  // A tilde is always part of ~0 or ~1 (RFC 6901 §3).
  if (tokens.length > bounds.tokens || !pointer.isWellFormed() || /~(?![01])/.test(pointer)) return undefined
  // First ~1 is replaced, then ~0, so that ~01 becomes ~1 (RFC 6901 §4).
  return tokens.map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}
