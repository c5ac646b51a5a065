import type { printParseErrorCode } from 'jsonc-parser'
import { isJsonNumber, isOfNumber } from '../../lib/json-numbers.ts'
import { bounds, type Node, QueryError, tooMuch } from './node.ts'

/**
 * Reads a query in the form of JSON (RFC 8259) in one pass, which ends at the first mistake. Numbers stay as
 * they were written.
 * @throws QueryError for text that isn't JSON, is too large or too deep, or has a key twice
 */
export function readAst(text: string): Node {
  if (text.length > bounds.length) throw new QueryError(tooMuch.length, { pointer: '' })
  let at = 0
  let nodes = 0

  const wrong = (message: string, pointer: string, position = at) =>
    new QueryError(message, { pointer }, { position })
  const malformed = (what: keyof typeof jsonErrors | string, pointer: string, position = at) => {
    const words = what in jsonErrors ? jsonErrors[what as keyof typeof jsonErrors] : what
    return wrong(`It is not JSON: ${words} at character ${position}.`, pointer, position)
  }

  /** @returns the code of the character after the white space; NaN at the end */
  function skip(): number {
    for (;;) {
      const code = text.charCodeAt(at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code
      at++
    }
  }

  function value(pointer: string, depth: number): Node {
    const code = skip()
    if (++nodes > bounds.nodes) throw wrong(tooMuch.nodes, pointer)
    const place = { pointer }
    switch (code) {
      case openBracket:
      case openBrace:
        if (depth === bounds.depth) throw wrong(tooMuch.depth, pointer)
        at++
        return code === openBracket ? array(pointer, depth + 1) : object(pointer, depth + 1)
      case quote:
        return { kind: 'text', text: string(pointer), at: place }
    }
    if (code === minus || (code >= zero && code <= nine))
      return { kind: 'number', text: number(pointer), at: place }
    if (text.startsWith('true', at)) return { kind: 'boolean', value: word('true', pointer), at: place }
    if (text.startsWith('false', at)) return { kind: 'boolean', value: !word('false', pointer), at: place }
    if (text.startsWith('null', at) && word('null', pointer)) return { kind: 'null', at: place }
    throw malformed(
      Number.isNaN(code) || code === comma || code === closeBracket || code === closeBrace
        ? 'ValueExpected'
        : 'InvalidSymbol',
      pointer,
    )
  }

  function array(pointer: string, depth: number): Node {
    const items: Node[] = []
    if (skip() === closeBracket) at++
    else
      do items.push(value(`${pointer}/${items.length}`, depth))
      while (another(closeBracket, 'CloseBracketExpected', pointer))
    return { kind: 'array', items, at: { pointer } }
  }

  function object(pointer: string, depth: number): Node {
    const members = new Map<string, Node>()
    if (skip() === closeBrace) at++
    else
      do {
        if (skip() !== quote) throw malformed('PropertyNameExpected', pointer)
        if (++nodes > bounds.nodes) throw wrong(tooMuch.nodes, pointer)
        const start = at
        const key = string(pointer)
        const inside = `${pointer}/${escaped(key)}`
        if (members.has(key))
          throw wrong(`An object has the key ${shortened(key)} twice, at character ${start}.`, inside, start)
        if (skip() !== colon) throw malformed('ColonExpected', inside)
        at++
        members.set(key, value(inside, depth))
      } while (another(closeBrace, 'CloseBraceExpected', pointer))
    return { kind: 'object', members, at: { pointer } }
  }

  /** @returns true if a comma follows a value; false at the end of the array or object */
  function another(close: number, missing: keyof typeof jsonErrors, pointer: string): boolean {
    const code = skip()
    if (code !== comma && code !== close)
      throw malformed(Number.isNaN(code) ? missing : 'CommaExpected', pointer)
    at++
    return code === comma
  }

  function string(pointer: string): string {
    const start = at++
    let escapes = false
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === quote) break
      if (Number.isNaN(code)) throw malformed('UnexpectedEndOfString', pointer, start)
      if (code < 0x20) throw malformed('InvalidCharacter', pointer)
      if (code === backslash) {
        escapes = true
        const next = text.charAt(at + 1)
        if (next === 'u' && !fourDigits.test(text.slice(at + 2, at + 6)))
          throw malformed('InvalidUnicode', pointer)
        if (next !== '' && !'"\\/bfnrtu'.includes(next)) throw malformed('InvalidEscapeCharacter', pointer)
        at++
      }
      at++
    }
    at++
    return escapes ? (JSON.parse(text.slice(start, at)) as string) : text.slice(start + 1, at - 1)
  }

  function number(pointer: string): string {
    const start = at
    while (isOfNumber(text.charCodeAt(at))) at++
    if (at - start > bounds.number) throw wrong(tooMuch.number, pointer, start)
    const written = text.slice(start, at)
    if (!isJsonNumber(written)) throw malformed('InvalidNumberFormat', pointer, start)
    return written
  }

  /** Takes a word. A longer one that begins with it is an error. */
  function word(name: string, pointer: string): true {
    if (/\w/.test(text.charAt(at + name.length))) throw malformed('InvalidSymbol', pointer)
    at += name.length
    return true
  }

  if (Number.isNaN(skip())) throw malformed('it is empty', '')
  const tree = value('', 0)
  if (!Number.isNaN(skip())) throw malformed('there is text after its end', '')
  return tree
}

const [quote, comma, colon, backslash, minus, zero, nine] = [0x22, 0x2c, 0x3a, 0x5c, 0x2d, 0x30, 0x39]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

const fourDigits = /^[0-9a-fA-F]{4}$/

/** Escapes a key for a JSON pointer (RFC 6901 §3). */
const escaped = (key: string) => (!/[~/]/.test(key) ? key : key.replaceAll('~', '~0').replaceAll('/', '~1'))

const shortened = (key: string) => JSON.stringify(key.length > 50 ? `${key.slice(0, 50)}…` : key)

/** The parser's error codes in words. */
export const jsonErrors: Readonly<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: 'it has text that is not JSON; strings must be in double quotes',
  InvalidNumberFormat: 'it has a malformed number',
  PropertyNameExpected: 'a key in double quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  CloseBraceExpected: 'a closing brace } is expected',
  CloseBracketExpected: 'a closing bracket ] is expected',
  EndOfFileExpected: 'there is text after the end of the array',
  InvalidCommentToken: 'comments are not allowed',
  UnexpectedEndOfComment: 'comments are not allowed',
  UnexpectedEndOfString: 'a string has no closing quote',
  UnexpectedEndOfNumber: 'a number is incomplete',
  InvalidUnicode: 'a \\u escape needs four hexadecimal digits',
  InvalidEscapeCharacter: 'a string has an unknown escape after a backslash',
  InvalidCharacter: 'a string has a control character that must be escaped',
  '<unknown ParseErrorCode>': 'it is not JSON',
}
