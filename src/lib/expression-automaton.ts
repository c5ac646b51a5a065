import { type CodePoints, wordCharacters } from './code-points.ts'
import { startsText } from './expression-cost.ts'
import { type Expression, hasPlace, type Place } from './expression-tree.ts'

/** Thrown for an expression of which no automaton is made. */
export class TooLarge extends Error {}

/** An instruction: it reads a byte of a range, requires a place, or goes on at two others. */
type Instruction =
  | { readonly kind: 'byte'; readonly from: number; readonly to: number; readonly next: number }
  | { readonly kind: 'at'; readonly place: Place; readonly next: number }
  | { kind: 'fork'; next: number; other: number }
  | { readonly kind: 'match' }

/** Maximum number of instructions. */
const maxInstructions = 4_000

/** Maximum number of states, each of which takes one kilobyte, and of the instructions of all of them. */
const maxStates = 256
const maxListed = 16_384

/** Maximum number of looks for the next state. */
const maxFollowed = 20_000

/** Entries of a state in the table: one for each byte, and one for the end of the text. */
const stride = 257
const endOfText = 256

/** States that need no further look, and one that is not made yet. Others are positions in the table. */
const [unknown, dead, accepting] = [0, 1, 2]

/** Facts about the byte before a position that places depend on. */
const [nothing, atStart, afterWord, afterNewline] = [0, 1, 2, 4]

/** The instructions of a state, ascending, and what is known of the byte before. */
interface State {
  readonly at: readonly number[]
  readonly before: number
}

/**
 * An expression as an automaton that reads UTF-8 (docs/decisions/0036). A state is made when a text first leads
 * to it. After that, each byte of a text costs one look into a table.
 */
export class Automaton {
  readonly #program: Program
  readonly #isAnchored: boolean
  /** For each state, the next one by byte. */
  #table = new Int32Array(16 * stride)
  readonly #states: State[] = []
  readonly #places = new Map<string, number>()
  readonly #first: number
  #listed = 0
  #followed = 0

  /** @throws TooLarge */
  constructor(expression: Expression) {
    const program = programOf(expression)
    this.#program = program
    this.#isAnchored = startsText(expression)
    // The first position is that of no state.
    this.#states.push({ at: [], before: nothing })
    this.#first = this.#place([program.start], program.hasPlaces ? atStart : nothing)
  }

  /**
   * Returns true if the text contains a match, and undefined if the automaton has too many states to tell.
   * @param bytes has the text from `from` to below `end`, as well-formed UTF-8
   */
  matches(bytes: Uint8Array, from: number, end: number): boolean | undefined {
    const table = this.#table
    if (table.length === 0) return undefined
    const first = this.#first
    let state = first
    for (let at = from; at < end; at++) {
      // Bytes with which no match begins are passed without waiting for the look before.
      if (state === first) while (at < end && table[first + (bytes[at] as number)] === first) at++
      if (at === end) break
      const next = table[state + (bytes[at] as number)] as number
      // Every text has few bytes that need more than this look.
      if (next <= accepting) return next === unknown ? this.#goOn(state, bytes, at, end) : next === accepting
      state = next
    }
    return this.#goOn(state, bytes, end, end)
  }

  /** Goes on from a state, and makes the ones that are missing. */
  #goOn(first: number, bytes: Uint8Array, from: number, end: number): boolean | undefined {
    let state = first
    for (let at = from; at <= end; at++) {
      const byte = at === end ? endOfText : (bytes[at] as number)
      let next = this.#table[state + byte] as number
      if (next === unknown) next = this.#follow(state, byte)
      if (next <= accepting) return next === unknown ? undefined : next === accepting
      state = next
    }
    return false
  }

  /** Makes the state after a byte. @returns `unknown` if there are too many */
  #follow(state: number, byte: number): number {
    if (this.#followed++ === maxFollowed) return this.#giveUp()
    const { at, before } = this.#states[state / stride] as State
    const { instructions, start, hasPlaces } = this.#program
    const reached = new Set<number>()
    const left = [...at]
    const next = new Set<number>(this.#isAnchored || byte === endOfText ? [] : [start])
    let isMatch = false
    for (let one = left.pop(); one !== undefined; one = left.pop()) {
      if (reached.has(one)) continue
      reached.add(one)
      const instruction = instructions[one] as Instruction
      if (instruction.kind === 'match') isMatch = true
      else if (instruction.kind === 'fork') left.push(instruction.next, instruction.other)
      else if (instruction.kind === 'at') {
        if (isAt(instruction.place, before, byte)) left.push(instruction.next)
      } else if (instruction.from <= byte && byte <= instruction.to) next.add(instruction.next)
    }
    const found = isMatch
      ? accepting
      : next.size === 0
        ? dead
        : this.#place(
            [...next].sort((one, other) => one - other),
            hasPlaces ? knownAfter(byte) : nothing,
          )
    if (found !== unknown) this.#table[state + byte] = found
    return found
  }

  #giveUp(): typeof unknown {
    this.#table = new Int32Array()
    this.#states.length = 0
    this.#places.clear()
    return unknown
  }

  /** @returns the position of a state in the table; `unknown` if there are too many */
  #place(at: readonly number[], before: number): number {
    const key = `${before}:${at.join()}`
    const known = this.#places.get(key)
    if (known !== undefined) return known
    this.#listed += at.length
    if (this.#states.length > maxStates || this.#listed > maxListed) return this.#giveUp()
    const place = this.#states.length * stride
    this.#states.push({ at, before })
    this.#places.set(key, place)
    if (place + stride > this.#table.length) {
      const larger = new Int32Array(2 * this.#table.length)
      larger.set(this.#table)
      this.#table = larger
    }
    return place
  }
}

const newline = 0x0a
const isWord = (byte: number) => wordCharacters.some(([from, to]) => from <= byte && byte <= to)
const knownAfter = (byte: number) => (isWord(byte) ? afterWord : byte === newline ? afterNewline : nothing)

/** True if a position, between what is known of the byte before and the byte after, is such a place. */
function isAt(place: Place, before: number, byte: number): boolean {
  switch (place) {
    case 'start of text':
      return before === atStart
    case 'end of text':
      return byte === endOfText
    case 'start of line':
      return before === atStart || before === afterNewline
    case 'end of line':
      return byte === endOfText || byte === newline
    case 'word boundary':
      return (before === afterWord) !== isWord(byte)
    case 'no word boundary':
      return (before === afterWord) === isWord(byte) && !isContinuation(byte)
  }
}

/** True for the bytes of a character after its first one, before which is no place. */
const isContinuation = (byte: number) => byte >= 0x80 && byte < 0xc0

interface Program {
  readonly instructions: readonly Instruction[]
  readonly start: number
  readonly hasPlaces: boolean
}

/** @throws TooLarge */
function programOf(expression: Expression): Program {
  const instructions: Instruction[] = []
  const add = (instruction: Instruction) => {
    if (instructions.push(instruction) > maxInstructions) throw new TooLarge()
    return instructions.length - 1
  }
  const fork = (next: number, other: number) => add({ kind: 'fork', next, other })
  /** @param next the instruction after the expression @returns the first one */
  const compile = (part: Expression, next: number): number => {
    switch (part.kind) {
      case 'at':
        return add({ kind: 'at', place: part.place, next })
      case 'one of':
        return compileSet(part.set, next)
      case 'sequence':
        return part.of.reduceRight((after, item) => compile(item, after), next)
      case 'choice':
        return part.of.map(branch => compile(branch, next)).reduce(fork)
      case 'repeat': {
        const { of, min, max } = part
        let first = next
        if (max === Infinity) {
          const loop: Extract<Instruction, { kind: 'fork' }> = { kind: 'fork', next, other: next }
          first = add(loop)
          loop.other = compile(of, first)
        } else for (let turn = min; turn < max; turn++) first = fork(compile(of, first), next)
        for (let turn = 0; turn < min; turn++) first = compile(of, first)
        return first
      }
    }
  }
  /** Sequences that end alike share their ends. */
  const compileSet = (set: CodePoints, next: number): number => {
    const ends = new Map<string, number>()
    const first = [...sequencesOf(set)].map(sequence =>
      sequence.reduceRight((after, [from, to]) => {
        const key = `${from}-${to}-${after}`
        const known = ends.get(key) ?? add({ kind: 'byte', from, to, next: after })
        ends.set(key, known)
        return known
      }, next),
    )
    // An empty set matches nothing.
    return first.length === 0 ? add({ kind: 'byte', from: 1, to: 0, next }) : first.reduce(fork)
  }
  const start = compile(expression, add({ kind: 'match' }))
  return { instructions, start, hasPlaces: hasPlace(expression) }
}

type ByteRanges = readonly (readonly [from: number, to: number])[]

/** The last code points that UTF-8 writes with one, two and three bytes (RFC 3629, section 3). */
const lastOfLength = [0x7f, 0x7ff, 0xffff]

/** Lists sequences of ranges of bytes that together are the UTF-8 of a set. */
function* sequencesOf(set: CodePoints): Iterable<ByteRanges> {
  for (const [from, to] of set) yield* sequencesBetween(from, to)
}

function* sequencesBetween(from: number, to: number): Iterable<ByteRanges> {
  const cut = lastOfLength.find(last => from <= last && last < to) ?? cutIn(from, to)
  if (cut !== undefined) {
    yield* sequencesBetween(from, cut)
    yield* sequencesBetween(cut + 1, to)
    return
  }
  const [first, last] = [bytesOf(from), bytesOf(to)]
  yield first.map((byte, at) => [byte, last[at] as number])
}

/** Returns where to cut a range so that in each part, all bytes after one that differs may be any. */
function cutIn(from: number, to: number): number | undefined {
  for (let bits = 6; bits <= 6 * furtherBytes(to); bits += 6) {
    const mask = (1 << bits) - 1
    if ((from & ~mask) === (to & ~mask)) continue
    if ((from & mask) !== 0) return from | mask
    if ((to & mask) !== mask) return (to & ~mask) - 1
  }
  return undefined
}

/** The number of bytes after the first one. */
const furtherBytes = (code: number) => lastOfLength.filter(last => code > last).length

function bytesOf(code: number): number[] {
  const further = furtherBytes(code)
  if (further === 0) return [code]
  const lead = (0xff00 >> (further + 1)) & 0xff
  const bytes = [lead | (code >>> (6 * further))]
  for (let left = further - 1; left >= 0; left--) bytes.push(0x80 | ((code >>> (6 * left)) & 0x3f))
  return bytes
}
