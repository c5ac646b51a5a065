/** Suggestions for mistyped names. Both names may come from clients, so the work has a bound. */

/** Maximum length of a name. A longer one was hardly mistyped, and is expensive to compare. */
const maxLength = 200

/** Maximum number of edits; a name with more is another name. */
const maxEdits = 10

/**
 * Maximum number of steps of one search: the names considered and the table cells computed. They
 * take a few milliseconds.
 */
const maxSteps = 250_000

/**
 * Finds the legal name that is closest to a wrong one.
 * @param legal is read only until the maximum number of steps is reached; the best name
 * so far is then the answer
 * @returns undefined if none is close
 */
export function nearest(name: string, legal: Iterable<string>): string | undefined {
  if (name.length > maxLength) return undefined
  const wanted = name.toLowerCase()
  let best: string | undefined
  let limit = Math.min(maxEdits, Math.max(2, Math.floor(name.length / 3)))
  let steps = 0
  for (const one of legal) {
    if (++steps > maxSteps || limit < 0) break
    // The lengths are compared before the name is lowercased, because it may be long.
    if (Math.abs(one.length - name.length) > limit) continue
    const { distance, cells } = editDistance(wanted, one.toLowerCase(), limit)
    steps += cells
    if (distance > limit) continue
    best = one
    limit = distance - 1
  }
  return best
}

/**
 * Computes the Levenshtein distance row by row. Only cells within `limit` of the diagonal can be part of a
 * short enough path. Once a row has no such cell, the distance exceeds the limit.
 * @returns the distance, where any value above the limit means only that it is exceeded, and the
 * number of cells computed
 */
function editDistance(one: string, other: string, limit: number): { distance: number; cells: number } {
  const far = limit + 1
  // Each additional character of the longer name is an edit. A few letters become two in lower case.
  if (Math.abs(one.length - other.length) > limit) return { distance: far, cells: 0 }
  let row = new Uint16Array(other.length + far + 1)
  let next = new Uint16Array(row.length)
  for (let at = 0; at <= far; at++) row[at] = at
  let cells = 0
  for (let i = 0; i < one.length; i++) {
    const from = Math.max(0, i - limit)
    const to = Math.min(other.length, i + limit + 1)
    // Cells outside the band count as too far.
    next[from] = from === 0 ? Math.min(i + 1, far) : far
    next[to + 1] = far
    let least = next[from] ?? far
    for (let j = from; j < to; j++) {
      const replaced = (row[j] ?? far) + (one[i] === other[j] ? 0 : 1)
      const cell = Math.min((row[j + 1] ?? far) + 1, (next[j] ?? far) + 1, replaced, far)
      next[j + 1] = cell
      if (cell < least) least = cell
    }
    cells += to - from
    if (least > limit) return { distance: far, cells }
    ;[row, next] = [next, row]
  }
  return { distance: row[other.length] ?? far, cells }
}
