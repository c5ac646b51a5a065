import { bounds, type Node, type Place, QueryError, tooMuch } from './node.ts'
import { broken, type Found, type Hint, markerOf, unexpected } from './pql-errors.ts'

export interface Token extends Found {
  readonly start: number
  readonly end: number
  readonly at: Place
}

/**
 * Reads PQL as tokens, one at a time, so that a text is read only up to its first mistake. It remembers what
 * the reader asked for in vain at the current token, so that an error can say what was expected.
 */
export class PqlScanner {
  readonly pql: string
  /** The current token, which is taken next. */
  token: Token
  readonly #expected: string[] = []
  #nodes = 0
  #depth = 0
  #line = 1
  #column = 1
  /** Index of the character that `#line` and `#column` belong to. */
  #placed = 0

  constructor(pql: string) {
    if (pql.length > bounds.length) throw new QueryError(tooMuch.length, { line: 1, column: 1 })
    this.pql = pql
    this.token = this.#scan(0)
  }

  /** Takes the current token, and reads the one after it. @returns the token that was current */
  next(): Token {
    return this.jump(this.token.end)
  }

  /** Continues at the character with this index. @returns the token that was current */
  jump(to: number): Token {
    const { token } = this
    if (this.#expected.length > 0) this.#expected.length = 0
    this.token = this.#scan(to)
    return token
  }

  /** @returns true if the current token is this sign or keyword */
  sees(text: string, name = text): boolean {
    const { token } = this
    if (token.text === text && (token.kind === 'symbol' || token.kind === 'word')) return true
    this.#expected.push(name)
    return false
  }

  /** Takes this sign or keyword if it is the current token; undefined otherwise. */
  accepts(text: string): Token | undefined {
    return this.sees(text) ? this.next() : undefined
  }

  /** Takes this sign or keyword. @throws QueryError for any other token */
  expect(text: string): Token {
    const token = this.accepts(text)
    if (!token) throw this.fail()
    return token
  }

  /** Adds to what is expected at the current token, besides the signs and keywords that were asked for. */
  expecting(...what: readonly string[]): this {
    this.#expected.push(...what)
    return this
  }

  /** True if the expression matches after the current token and white space. Nothing is taken. */
  isFollowedBy(expression: RegExp): boolean {
    expression.lastIndex = this.#skip(this.token.end)
    return expression.test(this.pql)
  }

  fail(hint?: Hint): QueryError {
    return unexpected(this.pql, this.token, this.token.at, [...new Set(this.#expected)], hint)
  }

  /** Reads a part of the query, which begins at the current token. The console's scanner keeps its place. */
  part(_kind: 'query' | 'related' | 'clause' | 'condition' | 'function' | 'field', read: () => Node): Node {
    return read()
  }

  /** Reads a nested part, whose depth is counted. */
  deeper<T>(read: () => T): T {
    if (++this.#depth > bounds.depth) throw this.#over('depth', this.token.at)
    const inside = read()
    this.#depth--
    return inside
  }

  text(text: string, at: Place): Node {
    return this.#counted({ kind: 'text', text, at })
  }

  number(text: string, at: Place): Node {
    if (text.length > bounds.number) throw this.#over('number', at)
    return this.#counted({ kind: 'number', text, at })
  }

  boolean(value: boolean, at: Place): Node {
    return this.#counted({ kind: 'boolean', value, at })
  }

  /** Makes an array that begins with an operator. */
  call(operator: string, at: Place, rest: readonly Node[]): Node {
    return this.array([this.text(operator, at), ...rest], at)
  }

  array(items: readonly Node[], at: Place): Node {
    return this.#counted({ kind: 'array', items, at })
  }

  #over(bound: keyof typeof tooMuch, at: Place): QueryError {
    return new QueryError(tooMuch[bound], at, { marker: markerOf(this.pql, at) })
  }

  #counted(node: Node): Node {
    if (++this.#nodes > bounds.nodes) throw this.#over('nodes', node.at)
    return node
  }

  #scan(from: number): Token {
    const { pql } = this
    const start = this.#skip(from)
    const at = this.#place(start)
    const code = pql.charCodeAt(start)
    if (Number.isNaN(code)) return { kind: 'end', text: '', start, end: start, at }
    if (code === doubleQuote || code === singleQuote) return this.#string(code, start, at)
    if (isDigit(code) || (code === minus && isDigit(pql.charCodeAt(start + 1)))) {
      const end = numberEnd(pql, start)
      // A name may begin with digits, too.
      if (wordEnd(pql, end) === end)
        return { kind: 'number', text: withoutZeros(pql.slice(start, end)), start, end, at }
    }
    if (isWord(code)) {
      const end = wordEnd(pql, start)
      return { kind: 'word', text: pql.slice(start, end), start, end, at }
    }
    const one = pql.charAt(start)
    const sign = operators.includes(one) ? (signs.find(sign => pql.startsWith(sign, start)) ?? one) : one
    return { kind: 'symbol', text: sign, start, end: start + sign.length, at }
  }

  /** `"…"` has the escapes of JSON; in `'…'` only `\'` is one, and other backslashes stay. */
  #string(quote: number, start: number, at: Place): Token {
    const { pql } = this
    let end = start + 1
    let escapes = false
    for (;;) {
      const code = pql.charCodeAt(end)
      if (code === quote) break
      if (Number.isNaN(code)) return { kind: 'broken', text: broken.unclosed, start, end, at }
      if (code === backslash) escapes = true
      end += code === backslash ? 2 : 1
    }
    end++
    const inside = pql.slice(start + 1, end - 1)
    if (quote === singleQuote)
      return { kind: 'text', text: escapes ? inside.replaceAll("\\'", "'") : inside, start, end, at }
    try {
      return { kind: 'text', text: JSON.parse(`"${inside}"`) as string, start, end, at }
    } catch {
      return { kind: 'broken', text: broken.escape, start, end, at }
    }
  }

  #skip(from: number): number {
    let at = from
    while (isSpace(this.pql.charCodeAt(at))) at++
    return at
  }

  /** Finds line and column. Places are asked for in the order of the text, so that all of them cost one pass. */
  #place(to: number): Place {
    for (; this.#placed < to; this.#placed++) {
      const code = this.pql.charCodeAt(this.#placed)
      if (code === lineFeed) {
        this.#line++
        this.#column = 1
      } else if (code < 0xdc00 || code > 0xdfff) this.#column++
    }
    return { line: this.#line, column: this.#column }
  }
}

const [lineFeed, doubleQuote, singleQuote, minus, backslash] = [0x0a, 0x22, 0x27, 0x2d, 0x5c]

/**
 * Signs of several characters, longer ones first. Those that PQL doesn't have are read whole, so that errors
 * can name them.
 */
const signs = ['!==', '===', '!=', '!~', '==', '=~', '=>', '=<', '~>', '<=', '>=', '<>', '&&', '||']

/** Characters that signs of several characters begin with. */
const operators = '=!~<>&|'

/** Finds the end of a number as in JSON, but with leading zeros. */
function numberEnd(pql: string, from: number): number {
  let end = from + 1
  while (isDigit(pql.charCodeAt(end))) end++
  if (!'.eE'.includes(pql.charAt(end))) return end
  fraction.lastIndex = end
  return fraction.test(pql) ? fraction.lastIndex : end
}

const fraction = /(?:\.\d+)?(?:[eE][-+]?\d+)?/y

const withoutZeros = (number: string) =>
  number.startsWith('0') || number.startsWith('-0') ? number.replace(/^(-?)0+(?=\d)/, '$1') : number

const isDigit = (code: number) => code >= 0x30 && code <= 0x39

/** True for a letter, a digit or _. Imported fields have names in any script, so all but ASCII counts as letters. */
const isWord = (code: number) =>
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  isDigit(code) ||
  code === 0x5f ||
  (code >= 0x80 && !isSpace(code))

/** True for the characters that JavaScript's `\s` matches. */
const isSpace = (code: number) =>
  code === 0x20 || (code <= 0x0d && code >= 0x09) || (code >= 0xa0 && wideSpaces.has(code))

/** Those beyond ASCII: U+00A0, U+1680, U+2000 to U+200A, and the others. */
const wideSpaces = new Set([0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff])
for (let code = 0x2000; code <= 0x200a; code++) wideSpaces.add(code)

/** Finds the end of a name, which may have hyphens inside (`audit-events`) and end in `?` (`latest_report?`). */
function wordEnd(pql: string, from: number): number {
  let at = from
  while (
    isWord(pql.charCodeAt(at)) ||
    (at > from && pql.charCodeAt(at) === minus && isWord(pql.charCodeAt(at + 1)))
  )
    at++
  return at > from && pql.charAt(at) === '?' ? at + 1 : at
}
