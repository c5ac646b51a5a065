/** A set of code points: sorted inclusive ranges with gaps between them. */
export type CodePoints = readonly (readonly [from: number, to: number])[]

export const maxCodePoint = 0x10_ffff

/** Returns the set of ranges, which may be in any order and overlap. */
export function setOf(ranges: Iterable<readonly [number, number]>): CodePoints {
  const set: [number, number][] = []
  for (const [from, to] of [...ranges].sort(([one], [other]) => one - other)) {
    const last = set.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else set.push([from, to])
  }
  return set
}

export function complement(set: CodePoints): CodePoints {
  const rest: [number, number][] = []
  let next = 0
  for (const [from, to] of set) {
    if (from > next) rest.push([next, from - 1])
    next = to + 1
  }
  if (next <= maxCodePoint) rest.push([next, maxCodePoint])
  return rest
}

/** Returns the only code point of a set; undefined if it has several or none. */
export const onlyOne = ([first, ...others]: CodePoints): number | undefined =>
  first && others.length === 0 && first[0] === first[1] ? first[0] : undefined

/**
 * Adds all code points that differ from one of the set only by case (Unicode's simple
 * case folding, as in RE2).
 */
export function foldCase(set: CodePoints): CodePoints {
  const more: (readonly [number, number])[] = [...set]
  const has = (code: number) => set.some(([from, to]) => from <= code && code <= to)
  // Most expressions are ASCII, for which a small table suffices.
  const table = set.every(([, to]) => to < 0x80) ? asciiCases : allCases()
  for (const family of table) if (family.some(has)) for (const code of family) more.push([code, code])
  return setOf(more)
}

const codeOf = (character: string) => character.codePointAt(0) ?? 0

/** Groups of code points that differ only by case: A and a; K, k and the Kelvin sign. */
type Families = readonly (readonly number[])[]

const asciiCases: Families = Array.from({ length: 26 }, (_, at) => [
  0x41 + at,
  0x61 + at,
  ...(at === 10 ? [0x212a] : at === 18 ? [0x17f] : []),
])

/**
 * Pairs that case mappings of single code points don't relate. Only their full mappings, to
 * several code points, are equal.
 */
const pairs = ['\u0390\u1fd3', '\u03b0\u1fe3', '\ufb05\ufb06']

/** A code point after the last letter that has cases. */
const endOfCases = 0x2_0000

let cases: Families | undefined

/**
 * Returns the groups of letters that case mappings relate. They are computed on first use, in about 30 ms.
 */
function allCases(): Families {
  if (cases) return cases
  const families = new Map<number, number[]>()
  const join = (one: number, other: number) => {
    const [to, from] = [families.get(one) ?? [one], families.get(other) ?? [other]]
    if (to === from) return
    to.push(...from)
    for (const code of to) families.set(code, to)
  }
  for (const pair of pairs) join(codeOf(pair), codeOf(pair.slice(1)))
  for (let code = 0; code < endOfCases; code++) {
    // The dotless i has the same upper case as i, but isn't equal to it.
    if (code === 0x131) continue
    const character = String.fromCodePoint(code)
    for (const other of [character.toLowerCase(), character.toUpperCase()])
      if (other !== character && [...other].length === 1) join(code, codeOf(other))
  }
  cases = [...new Set(families.values())]
  return cases
}
