/** Maximum number of parts in a path; JSON isn't nested deeper in practice. */
const maxParts = 100

export type Path = readonly (string | number)[]

/**
 * Reads the path to a member of a JSON value, after the name of its field: `.os.family`, `[0].name`,
 * `."a.b".c`. A quoted part ends at a quote that is followed by a point, an index or the end.
 * @returns the path; a text that says what is wrong
 */
export function readPath(text: string): Path | string {
  const path: (string | number)[] = []
  let at = 0
  while (at < text.length) {
    const part = text[at] === '[' ? indexAt(text, at) : keyAt(text, at)
    if (typeof part === 'string') return part
    path.push(part.value)
    at = part.end
    if (path.length > maxParts) return `a path has at most ${maxParts} parts`
  }
  return path
}

interface Part {
  readonly value: string | number
  readonly end: number
}

const index = /\[(\d{1,9})\](?=[.[]|$)/y

function indexAt(text: string, at: number): Part | string {
  index.lastIndex = at
  const [all = '', digits] = index.exec(text) ?? []
  return digits === undefined
    ? 'the index of an element is a whole number in brackets, such as list[0]'
    : { value: Number(digits), end: at + all.length }
}

function keyAt(text: string, at: number): Part | string {
  const start = at + 1
  if (text[start] === '"') return quotedAt(text, start)
  const end = keyEnd(text, start)
  const value = text.slice(start, end)
  if (value === '') return 'a part of the path is empty'
  if (value.startsWith('match(')) return 'match(…) is no part of a path here; compare members with ~'
  return { value, end }
}

/** Finds the end of a key: the next point, or the first of the indexes directly before that point. */
function keyEnd(text: string, start: number): number {
  const point = text.indexOf('.', start)
  let end = point < 0 ? text.length : point
  while (text[end - 1] === ']') {
    const open = text.lastIndexOf('[', end - 1)
    if (open <= start || !/^\d{1,9}$/.test(text.slice(open + 1, end - 1))) break
    end = open
  }
  return end
}

function quotedAt(text: string, quote: number): Part | string {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    const next = text[end + 1]
    if (next === undefined || next === '.' || next === '[')
      return { value: text.slice(quote + 1, end), end: end + 1 }
  }
  return 'a part in quotes has no end'
}
