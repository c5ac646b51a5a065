/** Suggestions for mistyped names. Both names may come from clients, so the work has a bound. */

/** A longer name was hardly mistyped, and is expensive to compare. */
const maxLength = 200

/** More edits than that make another name. */
const maxEdits = 10

/** Of one search: cells of the tables that compare names, and names that are looked at. A few milliseconds. */
const maxSteps = 250_000

/**
 * @param legal is not read on when the work has reached its bound; the best name so far is the answer then
 * @returns the legal name that is closest to a wrong one; undefined if none is close
 */
export function nearest(name: string, legal: Iterable<string>): string | undefined {
  if (name.length > maxLength) return undefined
  const wanted = name.toLowerCase()
  let best: string | undefined
  let limit = Math.min(maxEdits, Math.max(2, Math.floor(name.length / 3)))
  let steps = 0
  for (const one of legal) {
    if (++steps > maxSteps || limit < 0) break
    // Before the name is lowercased: it may be long.
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
 * Levenshtein's distance, a row at a time. Only the cells within `limit` of the diagonal can be part of a way that is
 * short enough, and when none of a row is, the names are further apart.
 * @returns a distance over the limit means only that; cells: how many were computed
 */
function editDistance(one: string, other: string, limit: number): { distance: number; cells: number } {
  const far = limit + 1
  // Each character that one name has more is an edit. A few letters become two in lower case.
  if (Math.abs(one.length - other.length) > limit) return { distance: far, cells: 0 }
  let row = new Uint16Array(other.length + far + 1)
  let next = new Uint16Array(row.length)
  for (let at = 0; at <= far; at++) row[at] = at
  let cells = 0
  for (let i = 0; i < one.length; i++) {
    const from = Math.max(0, i - limit)
    const to = Math.min(other.length, i + limit + 1)
    // What is read outside of the band is far away.
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
