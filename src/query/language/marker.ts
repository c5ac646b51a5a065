import type { Place } from './node.ts'

/** Maximum length of the line shown before and after the place, in UTF-16 units. */
const around = 40

/**
 * Shows a place in PQL in two lines: the part of the query's line around it, and a `^` under the place.
 * @returns undefined for a place in an AST
 */
export function markerOf(text: string, place: Place): string | undefined {
  if (!('line' in place)) return undefined
  let start = 0
  for (let line = 1; line < place.line; line++) start = text.indexOf('\n', start) + 1
  let at = start
  for (let column = 1; column < place.column; column++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  const end = text.indexOf('\n', start)
  const lineEnd = end === -1 ? text.length : end
  const before = printable(text.slice(Math.max(start, at - around), at))
  const behind = printable(text.slice(at, Math.min(lineEnd, at + around)))
  const cutBefore = at - around > start ? '…' : ''
  const cutBehind = at + around < lineEnd ? '…' : ''
  // A surrogate pair takes one column.
  const columns = [...before].length + cutBefore.length
  return `${cutBefore}${before}${behind}${cutBehind}\n${' '.repeat(columns)}^`
}

/** Replaces tabs and other control characters, which would shift the `^`. */
const printable = (text: string) => text.toWellFormed().replace(/\p{Cc}/gu, ' ')
