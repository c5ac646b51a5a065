import { type Node, QueryError } from '../../../src/query/language/node.ts'
import { PqlScanner, type Token } from '../../../src/query/language/pql-scanner.ts'
import { readPql, readPqlInside } from '../../../src/query/language/read-pql.ts'
import type { Entity, EntityField } from '../entities.ts'

/** A part of a text that is read, and its place. One that wasn't read to its end has no end and no node. */
export interface Part {
  readonly kind: Parameters<PqlScanner['part']>[0]
  readonly start: number
  end?: number
  node?: Node
  readonly parts: Part[]
}

/** Keeps the parts that the service's reader finds, also where it stops at a mistake. */
class PartsScanner extends PqlScanner {
  parts: Part[] = []
  #taken = 0

  override jump(to: number): Token {
    this.#taken = to
    return super.jump(to)
  }

  override part(kind: Part['kind'], read: () => Node): Node {
    const { parts: around } = this
    const part: Part = { kind, start: this.token.start, parts: [] }
    around.push(part)
    this.parts = part.parts
    part.node = read()
    part.end = this.#taken
    this.parts = around
    return part.node
  }
}

/** A text as far as it could be read. */
interface Reading {
  /** Undefined if the text is wrong or incomplete, or has no condition. */
  readonly node?: Node | undefined
  /** The first mistake. */
  readonly mistake?: QueryError
  /** The query; of a condition its conditions, as `and` and `or` join them, and the clauses behind them. */
  readonly parts: readonly Part[]
}

/** Reads a condition with the clauses behind it, or a whole query. Either may be incomplete. */
export function read(text: string, form: 'condition' | 'query'): Reading {
  let parts: readonly Part[] = []
  try {
    const scanner = new PartsScanner(text)
    parts = scanner.parts
    const node = form === 'query' ? readPql(text, scanner) : readPqlInside(scanner)
    return { node, parts }
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    return { mistake: error, parts }
  }
}

/** Returns the parts that a text ends in the middle of, the outermost first. */
export function openIn(parts: readonly Part[]): readonly Part[] {
  const last = parts.at(-1)
  return last && last.end === undefined ? [last, ...openIn(last.parts)] : []
}

/** Returns the field that is named; a path into its value may follow its name. */
export function fieldOf(named: Node | undefined, fields: readonly EntityField[]): EntityField | undefined {
  const name = textOf(named)
  return fields.find(one => one.name === name) ?? fields.find(one => one.name === name?.split('.', 1)[0])
}

/** Returns the field that the innermost condition of these parts is about. */
export const subjectOf = (parts: readonly Part[], fields: readonly EntityField[]): EntityField | undefined =>
  fieldOf(
    parts.findLast(({ kind }) => kind === 'condition')?.parts.find(({ kind }) => kind === 'field')?.node,
    fields,
  )

/** Finds an entity by its name, in which `_` and `-` are alike. */
export const entityIn = (entities: readonly Entity[], name: string | undefined): Entity | undefined =>
  entities.find(one => one.name.replaceAll('_', '-') === name?.replaceAll('_', '-'))

export const isAst = (text: string): boolean => /^\s*\[/.test(text)

/** Returns the parts of an array that begins with this operator. */
export const partsOf = (node: Node | undefined, operator: string): readonly Node[] | undefined => {
  const [first, ...rest] = node?.kind === 'array' ? node.items : []
  return textOf(first) === operator ? rest : undefined
}

export const textOf = (node: Node | undefined): string | undefined =>
  node?.kind === 'text' ? node.text : undefined

/** Writes a single value as PQL does; undefined for a list and for what is no value. */
export const literalOf = (node: Node | undefined): string | undefined =>
  node?.kind === 'text'
    ? JSON.stringify(node.text)
    : node?.kind === 'number'
      ? node.text
      : node?.kind === 'boolean'
        ? String(node.value)
        : undefined

/** Returns the single values of a list, as PQL writes them; undefined for an empty list and one of other things. */
export function literalsOf(node: Node | undefined): readonly string[] | undefined {
  const [list] = partsOf(node, 'array') ?? []
  const values = list?.kind === 'array' ? list.items.map(literalOf) : []
  return values.length > 0 && values.every(one => one !== undefined) ? values : undefined
}

const reserved = new Set([
  'and',
  'or',
  'in',
  'is',
  'not',
  'null',
  'true',
  'false',
  'match',
  'group',
  'order',
  'limit',
  'offset',
  'having',
  'distinct',
])

/** Writes a field's name in PQL, quoted where necessary. */
export const written = (name: string): string =>
  /^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*$/.test(name) && !reserved.has(name.toLowerCase())
    ? name
    : JSON.stringify(name)

/** The text before the condition in a query. Offsets in faults count from its start. */
export const prefixOf = (entity: Entity): string => `${entity.name} { `
export const pqlOf = (entity: Entity, condition: string): string => `${prefixOf(entity)}${condition} }`
