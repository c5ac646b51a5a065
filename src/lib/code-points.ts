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

/** The classes \d, \s and \w contain only ASCII, as in RE2. */
const digits = setOf([[0x30, 0x39]])
const spaces = setOf([
  [0x09, 0x0a],
  [0x0c, 0x0d],
  [0x20, 0x20],
])
export const wordCharacters = setOf([
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
])
export const escapedClasses: ReadonlyMap<string, CodePoints> = new Map([
  ['d', digits],
  ['s', spaces],
  ['w', wordCharacters],
])

const upper = [0x41, 0x5a] as const
const lower = [0x61, 0x7a] as const
/** The POSIX classes, such as `[:alpha:]`. */
export const namedClasses: ReadonlyMap<string, CodePoints> = new Map(
  Object.entries({
    alnum: setOf([...digits, upper, lower]),
    alpha: [upper, lower],
    ascii: [[0, 0x7f]],
    blank: setOf([
      [0x09, 0x09],
      [0x20, 0x20],
    ]),
    cntrl: setOf([
      [0, 0x1f],
      [0x7f, 0x7f],
    ]),
    digit: digits,
    graph: [[0x21, 0x7e]],
    lower: [lower],
    print: [[0x20, 0x7e]],
    punct: setOf([
      [0x21, 0x2f],
      [0x3a, 0x40],
      [0x5b, 0x60],
      [0x7b, 0x7e],
    ]),
    space: setOf([
      [0x09, 0x0d],
      [0x20, 0x20],
    ]),
    upper: [upper],
    word: wordCharacters,
    xdigit: setOf([...digits, [0x41, 0x46], [0x61, 0x66]]),
  }),
)
