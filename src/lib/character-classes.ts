import { type CodePoints, setOf } from './code-points.ts'

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
