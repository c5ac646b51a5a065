import {
  type CodePoints,
  complement,
  escapedClasses,
  foldCase,
  maxCodePoint,
  namedClasses,
  setOf,
} from './code-points.ts'

/**
 * A regular expression independent of its spelling. It means the same in every dialect (docs/decisions/0036).
 */
export type Expression =
  | { readonly kind: 'one of'; readonly set: CodePoints }
  | { readonly kind: 'at'; readonly place: Place }
  | { readonly kind: 'sequence' | 'choice'; readonly of: readonly Expression[] }
  /** `max` may be Infinity. */
  | { readonly kind: 'repeat'; readonly of: Expression; readonly min: number; readonly max: number }

export type Place =
  | 'start of text'
  | 'end of text'
  | 'start of line'
  | 'end of line'
  | 'word boundary'
  | 'no word boundary'

/** True if the expression contains a place. */
export function hasPlace(expression: Expression): boolean {
  switch (expression.kind) {
    case 'one of':
      return false
    case 'at':
      return true
    case 'repeat':
      return hasPlace(expression.of)
    default:
      return expression.of.some(hasPlace)
  }
}

/** Thrown for an expression that uses a feature that only RE2 has, and so has no tree. */
export class OnlyRe2 extends Error {}

interface Flags {
  readonly ignoreCase: boolean
  readonly byLine: boolean
  readonly dotIsAll: boolean
}

const places: Readonly<Record<string, Place>> = {
  A: 'start of text',
  z: 'end of text',
  b: 'word boundary',
  B: 'no word boundary',
}

const controls: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 }

const newline = setOf([[0x0a, 0x0a]])

/**
 * Parses an expression of RE2's syntax. It must be valid: RE2 itself has compiled it. It has at most a
 * thousand characters, which bounds the depth of groups.
 * @throws OnlyRe2
 */
export const readExpression = (text: string): Expression => new Reader(text).read()

class Reader {
  readonly #text: string
  #at = 0
  #flags: Flags = { ignoreCase: false, byLine: false, dotIsAll: false }

  constructor(text: string) {
    this.#text = text
  }

  /** Reads up to the end, or up to a closing parenthesis. */
  read(): Expression {
    const branches: Expression[] = []
    let items: Expression[] = []
    while (this.#at < this.#text.length && !this.#isNext(')')) {
      if (this.#skip('|')) {
        branches.push(sequenceOf(items))
        items = []
      } else this.#readItem(items)
    }
    branches.push(sequenceOf(items))
    return branches.length === 1 && branches[0] ? branches[0] : { kind: 'choice', of: branches }
  }

  #readItem(items: Expression[]): void {
    const quantifier = this.#readQuantifier()
    if (quantifier) {
      // Flags and empty quotations add no item, so the quantifier applies to the item before them.
      const of = items.pop()
      if (of) items.push({ kind: 'repeat', of, ...quantifier })
    } else if (this.#skip('(')) this.#readGroup(items)
    else if (this.#skip('[')) items.push({ kind: 'one of', set: this.#readClass() })
    else if (this.#skip('.'))
      items.push({ kind: 'one of', set: this.#flags.dotIsAll ? complement([]) : complement(newline) })
    else if (this.#skip('^'))
      items.push({ kind: 'at', place: this.#flags.byLine ? 'start of line' : 'start of text' })
    else if (this.#skip('$'))
      items.push({ kind: 'at', place: this.#flags.byLine ? 'end of line' : 'end of text' })
    else if (this.#skip('\\Q'))
      for (const character of this.#readQuoted()) items.push(this.#literal(character))
    else if (this.#isNext('\\')) items.push(this.#readEscape())
    else items.push(this.#literal(this.#next()))
  }

  /**
   * Reads a quantifier, if one follows. Greediness is ignored, because it has no influence
   * on whether a text matches.
   */
  #readQuantifier(): { min: number; max: number } | undefined {
    const [all = '', sign, from = '', range, to = ''] =
      /^(?:([*+?])|\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\})\??/.exec(this.#text.slice(this.#at, this.#at + 30)) ??
      []
    if (all === '') return undefined
    this.#at += all.length
    if (sign !== undefined) return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity }
    const min = Number(from)
    return { min, max: range === undefined ? min : to === '' ? Infinity : Number(to) }
  }

  #readGroup(items: Expression[]): void {
    const flags = this.#flags
    if (this.#skip('?') && !this.#skipPattern(/^P?<\w+>/)) {
      const [set = '', , unset = ''] = /^([imsU]*)(-([imsU]*))?/.exec(this.#text.slice(this.#at)) ?? []
      this.#at += set.length
      const on = set.split('-')[0] ?? ''
      const isOn = (flag: string, before: boolean) =>
        unset.includes(flag) ? false : before || on.includes(flag)
      this.#flags = {
        ignoreCase: isOn('i', flags.ignoreCase),
        byLine: isOn('m', flags.byLine),
        dotIsAll: isOn('s', flags.dotIsAll),
      }
      // Flags without a group of their own hold until the enclosing group ends.
      if (this.#skip(')')) return
      this.#skip(':')
    }
    items.push(this.read())
    this.#skip(')')
    this.#flags = flags
  }

  /** Reads a character class from after its opening bracket. */
  #readClass(): CodePoints {
    const negated = this.#skip('^')
    const ranges: (readonly [number, number])[] = []
    for (let isFirst = true; isFirst || !this.#isNext(']'); isFirst = false) {
      const known = this.#readNamedClass() ?? this.#readEscapedClass()
      if (known) {
        ranges.push(...known)
        continue
      }
      const from = this.#readCharacter()
      const isRange = this.#isNext('-') && this.#text[this.#at + 1] !== ']'
      if (isRange) this.#skip('-')
      ranges.push([from, isRange ? this.#readCharacter() : from])
    }
    this.#skip(']')
    const set = this.#cased(setOf(ranges))
    return negated ? complement(set) : set
  }

  /** Reads a class such as `[:alpha:]`, if one follows. */
  #readNamedClass(): CodePoints | undefined {
    const [all = '', not, name = ''] =
      /^\[:(\^?)(\w+):\]/.exec(this.#text.slice(this.#at, this.#at + 20)) ?? []
    const set = namedClasses.get(name)
    if (set === undefined) return undefined
    this.#at += all.length
    return not === '' ? this.#cased(set) : complement(this.#cased(set))
  }

  /** Reads a class such as `\d`, if one follows. */
  #readEscapedClass(): CodePoints | undefined {
    const letter = this.#isNext('\\') ? (this.#text[this.#at + 1] ?? '') : ''
    if (/[pP]/.test(letter)) throw new OnlyRe2('classes of Unicode (\\p)')
    const set = escapedClasses.get(letter.toLowerCase())
    if (set === undefined) return undefined
    this.#at += 2
    return letter === letter.toLowerCase() ? this.#cased(set) : complement(this.#cased(set))
  }

  #readEscape(): Expression {
    const place = places[this.#text[this.#at + 1] ?? '']
    if (place !== undefined) {
      this.#at += 2
      return { kind: 'at', place }
    }
    const known = this.#readEscapedClass()
    if (known) return { kind: 'one of', set: known }
    return this.#literal(String.fromCodePoint(this.#readCharacter()))
  }

  /** Reads one code point, literal or escaped. */
  #readCharacter(): number {
    if (!this.#skip('\\')) return this.#next().codePointAt(0) ?? 0
    const rest = this.#text.slice(this.#at)
    const [octal] = /^[0-7]{1,3}/.exec(rest) ?? []
    const [hex = '', inBraces, twoDigits = ''] = /^x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))/.exec(rest) ?? []
    this.#at += (octal ?? hex).length
    if (octal !== undefined) return Number.parseInt(octal, 8)
    if (hex !== '') return Number.parseInt(inBraces ?? twoDigits, 16)
    const character = this.#next()
    return controls[character] ?? character.codePointAt(0) ?? 0
  }

  /** Reads a quotation, which ends with `\E` or at the end of the expression. */
  #readQuoted(): string {
    const end = this.#text.indexOf('\\E', this.#at)
    const quoted = end === -1 ? this.#text.slice(this.#at) : this.#text.slice(this.#at, end)
    this.#at += quoted.length + (end === -1 ? 0 : 2)
    return quoted
  }

  #literal(character: string): Expression {
    const code = character.codePointAt(0) ?? 0
    return { kind: 'one of', set: this.#cased([[code, code]]) }
  }

  #cased = (set: CodePoints): CodePoints => (this.#flags.ignoreCase ? foldCase(set) : set)

  #next(): string {
    const character = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? maxCodePoint)
    this.#at += character.length
    return character
  }

  #isNext = (text: string): boolean => this.#text.startsWith(text, this.#at)

  #skip(text: string): boolean {
    if (!this.#isNext(text)) return false
    this.#at += text.length
    return true
  }

  #skipPattern(pattern: RegExp): boolean {
    const [found = ''] = pattern.exec(this.#text.slice(this.#at)) ?? []
    this.#at += found.length
    return found !== ''
  }
}

const sequenceOf = (items: readonly Expression[]): Expression =>
  items.length === 1 && items[0] ? items[0] : { kind: 'sequence', of: items }
