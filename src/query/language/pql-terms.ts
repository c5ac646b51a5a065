import { isTimeUnit, timeUnits } from '../../model/functions/bucket.ts'
import { functions } from '../../model/functions/functions.ts'
import { type Node, printAst, uniqueNames } from './node.ts'
import { type Hint, inPql } from './pql-errors.ts'
import type { PqlScanner, Token } from './pql-scanner.ts'

/** The parts that conditions and clauses of PQL are made of: fields, functions, values and lists of them. */

/** After the name of a field come members and indexes, such as `.os."a.b"[0]`. */
const index = /\[(?:\d{1,9}|\*)\]/y
const part = /[^\s.",[\](){}!<=>~']+/y
/** A quoted part ends at a quote before one of these, or before the end. */
const behindQuoted = ' \t\r\n.,[](){}!<=>~'

/** Reads the name of a field, and a path inside of it. A name that isn't a word is a text in quotes. */
export const readField = (scanner: PqlScanner): Node => scanner.part('field', () => readPath(scanner))

function readPath(scanner: PqlScanner): Node {
  const { token } = scanner
  if (!isName(token)) throw scanner.expecting('<field>').fail()
  const end = pathEnd(scanner.pql, token.end)
  scanner.jump(end)
  if (scanner.pql.charAt(end) === '[') {
    const [written] = /^\[[^\s\]]{0,20}\]?/.exec(scanner.pql.slice(end, end + 30)) ?? ['[']
    throw inPql(
      scanner.pql,
      scanner.token.at,
      `${written} is no index; an index is a whole number, such as [0], or [*] for any element.`,
      { found: written, mistake: 'index' },
    )
  }
  const isQuotedAlone = token.kind === 'text' && end === token.end
  return scanner.text(isQuotedAlone ? token.text : scanner.pql.slice(token.start, end), token.at)
}

/** True for a token that a field may begin with. */
export const isName = ({ kind }: Token) => kind === 'word' || kind === 'text' || kind === 'number'

function pathEnd(pql: string, from: number): number {
  let end = from
  for (;;) {
    const isIndex = pql.charAt(end) === '['
    if (!isIndex && pql.charAt(end) !== '.') return end
    const next =
      !isIndex && pql.charAt(end + 1) === '"'
        ? quotedEnd(pql, end + 1)
        : endOf(isIndex ? index : part, pql, isIndex ? end : end + 1)
    if (next === undefined) return end
    end = next
  }
}

function endOf(expression: RegExp, pql: string, from: number): number | undefined {
  expression.lastIndex = from
  return expression.test(pql) ? expression.lastIndex : undefined
}

function quotedEnd(pql: string, from: number): number | undefined {
  for (let at = pql.indexOf('"', from + 1); at !== -1; at = pql.indexOf('"', at + 1))
    if (behindQuoted.includes(pql.charAt(at + 1))) return at + 1
  return undefined
}

/**
 * Reads a field, a bucket such as `year by 10` and `changed by month`, or a function such as `count()` and
 * `to_string(time, "YYYY")`.
 */
export function readItem(scanner: PqlScanner): Node {
  return startsFunction(scanner)
    ? scanner.part('function', () => readFunction(scanner))
    : readBucket(scanner, readField(scanner))
}

function readFunction(scanner: PqlScanner): Node {
  const name = scanner.next()
  const items = [scanner.text('function', name.at), scanner.text(name.text, name.at)]
  scanner.expect('(')
  if (!scanner.accepts(')')) {
    do items.push(items.length === 2 ? readField(scanner) : readTextOrNumber(scanner))
    while (scanner.accepts(','))
    scanner.expect(')')
  }
  return scanner.array(items, name.at)
}

/** Reads the width of buckets after a field, if there is one. */
function readBucket(scanner: PqlScanner, field: Node): Node {
  if (!scanner.accepts('by')) return field
  const { kind, text, at } = scanner.token
  if (kind !== 'number' && !(kind === 'word' && isTimeUnit(text)))
    throw scanner.expecting('<number>', ...timeUnits).fail()
  const by = kind === 'number' ? readNumber(scanner) : scanner.text(scanner.next().text, at)
  return scanner.call('function', field.at, [scanner.text('bucket', field.at), field, by])
}

export const startsFunction = (scanner: PqlScanner) =>
  scanner.token.kind === 'word' && scanner.isFollowedBy(/\(/y)

export function readText(scanner: PqlScanner): Node {
  const { token } = scanner
  if (token.kind !== 'text') throw scanner.expecting('<text>').fail(quotesFor(token))
  scanner.next()
  return scanner.text(token.text, token.at)
}

/** Reads a regular expression. Other languages write ~* for one that takes letters in either case. */
function readExpression(scanner: PqlScanner): Node {
  const { kind, text } = scanner.token
  if (kind === 'symbol' && text === '*') throw scanner.expecting('<text>').fail('case')
  return readText(scanner)
}

function readNumber(scanner: PqlScanner): Node {
  const { token } = scanner
  if (token.kind !== 'number') throw scanner.expecting('<number>').fail(quotesFor(token))
  scanner.next()
  return scanner.number(token.text, token.at)
}

export function readWholeNumber(scanner: PqlScanner): Node {
  const { kind, text } = scanner.token
  if (kind !== 'number' || !/^-?\d+$/.test(text)) throw scanner.expecting('<whole number>').fail()
  return readNumber(scanner)
}

function readTextOrNumber(scanner: PqlScanner): Node {
  if (scanner.token.kind === 'text') return readText(scanner)
  return readNumber(scanner.expecting('<text>'))
}

/** Reads a text, a number, true, false, or an array of them. */
export function readLiteral(scanner: PqlScanner): Node {
  const { kind, at } = scanner.token
  if (kind === 'text') return readText(scanner)
  if (kind === 'number') return readNumber(scanner)
  if (scanner.sees('[')) return readList(scanner, readLiteral)
  const yes = scanner.accepts('true')
  if (yes || scanner.accepts('false')) return scanner.boolean(yes !== undefined, at)
  throw scanner.expecting('<text>', '<number>').fail(quotesFor(scanner.token))
}

/** Reads `[…]`, which may be empty. */
export function readList(scanner: PqlScanner, item: (scanner: PqlScanner) => Node): Node {
  const { at } = scanner.expect('[')
  if (scanner.accepts(']')) return scanner.array([], at)
  const items = scanner.deeper(() => listOf(scanner, item))
  scanner.expect(']')
  return scanner.array(items, at)
}

export function listOf(scanner: PqlScanner, item: (scanner: PqlScanner) => Node): readonly Node[] {
  const items: Node[] = []
  do items.push(item(scanner))
  while (scanner.accepts(','))
  return items
}

/** Finds the hint for a token that stands in place of a value; undefined if there is nothing to say. */
function quotesFor({ kind, text }: Token): Hint | undefined {
  if (kind !== 'word' || /^(true|false)$/i.test(text)) return undefined
  if (/^null$/i.test(text)) return 'null'
  if (/^[“”„‘’]/.test(text)) return 'straight'
  return /^\d/.test(text) ? 'letters' : 'quotes'
}

/**
 * Names of the columns of a projection. A column is named after its field or its function; the second one
 * with the same name is `count_2`.
 */
export class Columns {
  readonly #names = new Map<string, string>()

  constructor(items: readonly Node[]) {
    const nameFor = uniqueNames()
    for (const item of items) {
      const name = nameFor(baseOf(item))
      const what = printAst(item)
      if (!this.#names.has(what)) this.#names.set(what, name)
    }
  }

  /** @returns the name of the column that shows this function; undefined if there is none */
  nameOf(item: Node): string | undefined {
    return this.#names.get(printAst(item))
  }
}

/** A bucket has the name of its field. */
function baseOf(item: Node): string {
  const [, called, field] = item.kind === 'array' ? item.items : [undefined, item]
  const isBucket = item.kind === 'array' && called?.kind === 'text' && conditionsOf(called.text) === 'by'
  const name = isBucket ? field : called
  return name?.kind === 'text' ? name.text : ''
}

/** True for a function of one record, which conditions and orders take whether it is shown or not. */
export const startsValue = (scanner: PqlScanner): boolean =>
  startsFunction(scanner) && conditionsOf(scanner.token.text) === 'by name'

const conditionsOf = (name: string) => {
  const of = functions.get(name)
  return of?.kind === 'computed' ? of.inConditions : undefined
}

/** True if a field stands in place of a value: a word that is no number, constant or text in other quotes. */
export const startsField = (scanner: PqlScanner): boolean => {
  const { kind, text } = scanner.expecting('<field>').token
  return kind === 'word' && !/^(?:true|false|null|[“”„‘’\d].*)$/iu.test(text)
}

/** An operator between a field and a value. */
export interface Comparing {
  readonly operator: Comparison
  /** The sign of its negation. */
  readonly not?: string
  readonly read: (scanner: PqlScanner) => Node
  /** True if another field may stand in place of the value. */
  readonly orField?: true
}

/** Operators that PQL and AST write alike, each of which the check has to know. */
export type Comparison = '=' | '~' | '~>' | '<' | '<=' | '>' | '>='

/** In the order in which errors list them. */
export const comparing: readonly Comparing[] = [
  { operator: '=', not: '!=', read: readLiteral, orField: true },
  { operator: '~', not: '!~', read: readExpression },
  { operator: '~>', read: scanner => readList(scanner, readTextOrNumber) },
  ...(['<', '<=', '>', '>='] as const).map(
    operator => ({ operator, read: readTextOrNumber, orField: true }) as const,
  ),
]

const words = ['in', 'is', 'match', ...comparing.flatMap(({ operator }) => /^\w+$/.exec(operator) ?? [])]

/**
 * Matches what can follow a field with the name of a keyword: an operator, the rest of a path, or records of
 * an entity.
 */
export const isOperator = new RegExp(`[=<>~.[{]|![=~]|(?:${words.join('|')})(?![\\w-])`, 'y')
