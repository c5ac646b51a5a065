import { bounds, type Node, QueryError, tooMuch } from './node.ts'
import { readColumn, readCondition } from './pql-conditions.ts'
import { inPql, markerOf } from './pql-errors.ts'
import { PqlScanner } from './pql-scanner.ts'
import {
  Columns,
  isOperator,
  listOf,
  readItem,
  readWholeNumber,
  startsFunction,
  startsValue,
} from './pql-terms.ts'

/**
 * Reads a query in PQL, PuppetDB's other language, as the AST that means the same:
 *
 *     query      = entity [ "[" [ "distinct" ] items "]" ] "{" [ condition ] { clause } "}"
 *     clause     = "group by" items | "with empty" | "having" condition | "sample" n [ "seed" n ] | "limit" n | "offset" n | "order by" column [ "asc" | "desc" ], …
 *
 * @throws QueryError that says what was found, and what was expected
 */
export function readPql(text: string, scanner: PqlScanner = new PqlScanner(text)): Node {
  const query = readQuery(scanner)
  if (scanner.token.kind !== 'end') throw scanner.expecting('<end>').fail()
  const deep = tooDeep(query, 1)
  if (deep) throw new QueryError(tooMuch.depth, deep.at, { marker: markerOf(text, deep.at) })
  return query
}

/**
 * Reads a condition alone. Its places are those of this text.
 * @throws QueryError as `readPql` does
 */
export function readPqlCondition(text: string): Node {
  const scanner = new PqlScanner(text)
  return whole(scanner, readOnlyCondition(scanner))
}

/**
 * Reads what may stand between the braces of a query without columns: a condition and clauses.
 * @returns the condition; undefined if there are only clauses
 */
export const readPqlInside = (scanner: PqlScanner): Node | undefined =>
  whole(scanner, readInside(scanner, null).where[0])

function whole<Read>(scanner: PqlScanner, read: Read): Read {
  const { kind, text } = scanner.token
  if (kind === 'end') return read
  throw scanner.expecting('<end>').fail(kind === 'symbol' && text === '}' ? 'brace' : undefined)
}

/** Reads the condition and the clauses of a query, up to the brace that closes it. */
function readInside(scanner: PqlScanner, projection: Projection | null) {
  const where = atClause(scanner) ? [] : [readOnlyCondition(scanner)]
  return { where, clauses: readClauses(scanner, projection) }
}

const readOnlyCondition = (scanner: PqlScanner) =>
  scanner.deeper(() => readCondition(scanner, { columns: null, readQuery }))

const readQuery = (scanner: PqlScanner): Node => scanner.part('query', () => readFrom(scanner))

function readFrom(scanner: PqlScanner): Node {
  const entity = scanner.token
  if (entity.kind !== 'word') throw scanner.expecting('<entity>').fail()
  scanner.next()
  const name = scanner.text(entity.text, entity.at)
  const projection = scanner.sees('[') ? readProjection(scanner) : null
  scanner.expect('{')
  const { where, clauses } = readInside(scanner, projection)
  scanner.expect('}')

  const { grouping, paging } = clauses
  if (!projection) return scanner.call('from', entity.at, [name, ...where, ...paging])
  const { at, items, distinct } = projection
  const extract = scanner.call('extract', at, [items, ...where, ...grouping, ...distinct])
  return scanner.call('from', entity.at, [name, extract, ...paging])
}

type Projection = ReturnType<typeof readProjection>

function readProjection(scanner: PqlScanner) {
  const { at } = scanner.expect('[')
  // A field may be called distinct, too.
  const isModifier = scanner.sees('distinct') && scanner.isFollowedBy(/[^\s,\]([.]/y)
  const distinct = isModifier ? [scanner.call('distinct', scanner.next().at, [])] : []
  const items = scanner.accepts(']') ? [] : listOf(scanner, readItem)
  if (items.length > 0) scanner.expect(']')
  return { at, items: scanner.array(items, at), distinct, columns: new Columns(items) }
}

/** True if the query has no condition: its clauses or its end follow. */
function atClause(scanner: PqlScanner): boolean {
  const { kind, text } = scanner.token
  if (scanner.sees('}')) return true
  if (kind !== 'word') return false
  if (text === 'with') return scanner.isFollowedBy(/empty(?![\w-])/y)
  if (text === 'order' || text === 'group') return scanner.isFollowedBy(/by(?![\w-])/y)
  return ['limit', 'offset', 'having', 'sample'].includes(text) && !scanner.isFollowedBy(isOperator)
}

/** Reads clauses in any order, each at most once. */
function readClauses(scanner: PqlScanner, projection: Projection | null) {
  const grouping: Node[] = []
  const paging: Node[] = []
  const seen = new Set<string>()
  for (;;) {
    const clause = clauses.find(({ word, name }) => scanner.sees(word, name))
    if (!clause) return { grouping, paging }
    const { word, name, read } = clause
    const isGrouping = word === 'group' || word === 'having' || word === 'with'
    const node = scanner.part('clause', () => {
      const { at } = scanner.next()
      if (seen.has(word)) throw inPql(scanner.pql, at, `there is a second "${name}"; it may be there once.`)
      seen.add(word)
      if (name !== word) scanner.expect(name.slice(word.length + 1))
      const needed = `"${name}" needs columns after the entity, as in artworks[artist, count()] { group by artist }.`
      if (isGrouping && !projection) throw inPql(scanner.pql, at, needed, { mistake: 'columns' })
      return scanner.call(name.replace(' ', '_'), at, read(scanner, projection?.columns ?? new Columns([])))
    })
    ;(isGrouping ? grouping : paging).push(node)
  }
}

interface Clause {
  /** The word that the clause begins with. */
  readonly word: string
  readonly name: string
  readonly read: (scanner: PqlScanner, columns: Columns) => readonly Node[]
}

const clauses: readonly Clause[] = [
  { word: 'group', name: 'group by', read: scanner => listOf(scanner, readItem) },
  { word: 'with', name: 'with empty', read: () => [] },
  {
    word: 'having',
    name: 'having',
    read: (scanner, columns) => [scanner.deeper(() => readCondition(scanner, { columns, readQuery }))],
  },
  { word: 'sample', name: 'sample', read: scanner => readSample(scanner) },
  { word: 'limit', name: 'limit', read: scanner => [readWholeNumber(scanner)] },
  { word: 'offset', name: 'offset', read: scanner => [readWholeNumber(scanner)] },
  {
    word: 'order',
    name: 'order by',
    read: (scanner, columns) => {
      const { at } = scanner.token
      const orders = listOf(scanner, one => readOrder(one, columns))
      return [scanner.array(orders, at)]
    },
  },
]

/** Reads `100` or `100 seed 7`. */
function readSample(scanner: PqlScanner): readonly Node[] {
  const size = readWholeNumber(scanner)
  return scanner.accepts('seed') ? [size, readWholeNumber(scanner)] : [size]
}

function readOrder(scanner: PqlScanner, columns: Columns): Node {
  const { at } = scanner.token
  const isColumn = startsFunction(scanner) && !startsValue(scanner)
  const by = isColumn ? readColumn(scanner, columns) : readItem(scanner)
  const direction = scanner.accepts('asc') ?? scanner.accepts('desc')
  return direction ? scanner.array([by, scanner.text(direction.text, direction.at)], at) : by
}

/**
 * Finds a node that is nested too deeply. One level of PQL makes up to five of an AST, and the check relies
 * on the bound.
 */
function tooDeep(node: Node, depth: number): Node | undefined {
  if (node.kind !== 'array') return undefined
  if (depth > bounds.depth) return node
  for (const one of node.items) {
    const deep = tooDeep(one, depth + 1)
    if (deep) return deep
  }
  return undefined
}
