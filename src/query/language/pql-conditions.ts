import type { Node } from './node.ts'
import { inPql } from './pql-errors.ts'
import type { PqlScanner } from './pql-scanner.ts'
import {
  type Columns,
  type Comparing,
  comparing,
  isName,
  isOperator,
  readField,
  readItem,
  readList,
  readLiteral,
  readText,
  startsField,
  startsFunction,
  startsValue,
} from './pql-terms.ts'

/** The context of a condition. */
interface Around {
  /** Columns of the rows that `having` filters, where conditions may name functions; null elsewhere. */
  readonly columns: Columns | null
  /** Reads a whole query, after `in`. */
  readonly readQuery: (scanner: PqlScanner) => Node
}

/** Reads conditions joined by `or`, which binds least; `and` binds more, and `!` most. */
export function readCondition(scanner: PqlScanner, around: Around): Node {
  const single = () => scanner.part('condition', () => readSingle(scanner, around))
  return joined(scanner, 'or', () => joined(scanner, 'and', single))
}

/** Joins conditions, and flattens nested ones of the same operator: `a or (b or c)` has three parts. */
function joined(scanner: PqlScanner, operator: 'and' | 'or', read: () => Node): Node {
  const first = read()
  if (!scanner.accepts(operator)) return first
  const parts = partsOf(first, operator) ?? [first]
  do {
    const next = read()
    for (const part of partsOf(next, operator) ?? [next]) parts.push(part)
  } while (scanner.accepts(operator))
  return scanner.call(operator, first.at, parts)
}

/** Copies the operands of this operator; undefined for any other node. */
function partsOf(node: Node, operator: string): Node[] | undefined {
  const [first] = node.kind === 'array' ? node.items : []
  return node.kind === 'array' && first?.kind === 'text' && first.text === operator
    ? node.items.slice(1)
    : undefined
}

function readSingle(scanner: PqlScanner, around: Around): Node {
  const { token } = scanner
  if (scanner.accepts('!'))
    return scanner.deeper(() => scanner.call('not', token.at, [readSingle(scanner, around)]))
  if (scanner.accepts('(')) {
    const inside = scanner.deeper(() => readCondition(scanner, around))
    scanner.expect(')')
    return inside
  }
  if (scanner.sees('[')) {
    const fields = readList(scanner, one => readTarget(one, around))
    return readIn(scanner, fields, around) ?? readMatch(scanner, fields) ?? refuse(scanner)
  }
  if (scanner.accepts('*')) return readMatch(scanner, scanner.text('*', token.at)) ?? refuse(scanner)
  // A field may have the name of an operator; then another operator follows.
  const isOthersWord = token.kind === 'word' && /^(not|and|or)$/i.test(token.text)
  if (!isName(token) || (isOthersWord && !scanner.isFollowedBy(isOperator)))
    throw scanner.expecting('<field>', '<entity> {').fail()
  if (token.kind === 'word' && scanner.isFollowedBy(/\{/y))
    return scanner.part('related', () => readRelated(scanner, around))
  return readComparison(scanner, readTarget(scanner, around), around)
}

function refuse(scanner: PqlScanner): never {
  throw scanner.fail()
}

/** Reads the subject of a condition: a field, or in `having` a column, which is named after a field or a function. */
function readTarget(scanner: PqlScanner, { columns }: Around): Node {
  const { at } = scanner.token
  if (!columns && (startsValue(scanner) || !startsFunction(scanner))) return readItem(scanner)
  if (!startsFunction(scanner)) return readField(scanner)
  if (!columns)
    throw inPql(scanner.pql, at, 'a condition can only compare functions behind "having".', {
      mistake: 'function',
    })
  return readColumn(scanner, columns)
}

/** Reads a function as the name of its column. */
export function readColumn(scanner: PqlScanner, columns: Columns): Node {
  const { at, start } = scanner.token
  const item = readItem(scanner)
  const name = columns.nameOf(item)
  if (name !== undefined) return scanner.text(name, at)
  const written = scanner.pql.slice(start, start + 50).split(')')[0]
  throw inPql(scanner.pql, at, `${written}) is none of the columns. Add it to those in [ ] before the {.`)
}

/** Reads a condition on related records: `bitstreams { size > 5 }`. */
function readRelated(scanner: PqlScanner, around: Around): Node {
  const entity = scanner.next()
  const name = scanner.text(entity.text, entity.at)
  scanner.expect('{')
  if (scanner.accepts('}')) return scanner.call('subquery', entity.at, [name])
  const inside = scanner.deeper(() => readCondition(scanner, { ...around, columns: null }))
  scanner.expect('}')
  return scanner.call('subquery', entity.at, [name, inside])
}

function readComparison(scanner: PqlScanner, field: Node, around: Around): Node {
  const { at } = scanner.token
  const compared = ({ operator, read, orField }: Comparing): Node => {
    const word = scanner.text(operator, at)
    if (!orField || around.columns !== null || !startsField(scanner))
      return scanner.array([word, field, read(scanner)], field.at)
    const other = readItem(scanner)
    return scanner.array([word, asField(scanner, field), asField(scanner, other)], field.at)
  }
  for (const one of comparing) {
    if (scanner.accepts(one.operator)) return compared(one)
    if (one.not !== undefined && scanner.accepts(one.not))
      return scanner.call('not', field.at, [compared(one)])
  }
  if (scanner.sees('is', 'is null'))
    return scanner.array([scanner.text('null?', at), field, readIsNull(scanner)], field.at)
  scanner.expecting('is not null')
  return readIn(scanner, field, around) ?? readMatch(scanner, field) ?? refuse(scanner)
}

/** Writes a field as it stands beside another one. */
const asField = (scanner: PqlScanner, node: Node): Node =>
  node.kind === 'array' ? node : scanner.call('field', node.at, [node])

function readIsNull(scanner: PqlScanner): Node {
  const { at } = scanner.next()
  const not = scanner.accepts('not')
  scanner.expect('null')
  return scanner.boolean(!not, at)
}

function readIn(scanner: PqlScanner, fields: Node, around: Around): Node | undefined {
  const { at } = scanner.token
  if (!scanner.accepts('in')) return undefined
  const among = scanner.token
  const values = scanner.sees('[')
    ? scanner.call('array', among.at, [readList(scanner, readLiteral)])
    : scanner.deeper(() => around.readQuery(scanner))
  return scanner.array([scanner.text('in', at), fields, values], fields.at)
}

/** Reads a search for words, which PuppetDB doesn't have. */
function readMatch(scanner: PqlScanner, fields: Node): Node | undefined {
  const { at } = scanner.token
  if (!scanner.accepts('match')) return undefined
  return scanner.array([scanner.text('match', at), fields, readText(scanner)], fields.at)
}
