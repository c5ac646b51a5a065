import { parseForm } from '../http/form.ts'
import { quote } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { parseWritten } from '../lib/json.ts'
import { type Node, printAst, QueryError } from './language/node.ts'
import { readAst } from './language/read-ast.ts'

/** Parameters by name, each with all values given for it. */
export type Parameters = ReadonlyMap<string, readonly string[]>

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Maximum number of parameters in a body; no address takes more. */
const maxParameters = 100

function refuseMany({ size }: Pick<ReadonlyMap<string, unknown>, 'size'>): void {
  if (size > maxParameters)
    throw new Problem('bad-request', `The body has ${size} parameters; the maximum is ${maxParameters}.`)
}

/** Reads the parameters in a form. @throws Problem 400 */
export function fieldsOf(body: Uint8Array): Parameters {
  const form = parseForm(body)
  refuseMany(form)
  return new Map([...form].map(([name, value]) => [name, [utf8(name, value)]]))
}

function utf8(name: string, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new Problem('bad-request', `The parameter ${quote(name)} of the form is not UTF-8.`)
  }
}

/** Reads the parameters in a JSON body. @throws Problem 400 */
export function membersOf(body: Uint8Array): Parameters {
  const nodes = nodesIn(body)
  refuseMany(nodes)
  const texts = [...nodes].flatMap(([name, node]) => {
    const text = textOf(node)
    return text === undefined ? [] : [[name, [text]] as const]
  })
  return new Map(texts)
}

function nodesIn(body: Uint8Array): ReadonlyMap<string, Node> {
  const malformed = (what: string) => new Problem('bad-request', `The body of the query is wrong. ${what}`)
  try {
    const node = readAst(decoder.decode(body))
    if (node.kind === 'object') return node.members
    if (node.kind === 'null') return new Map()
  } catch (error) {
    if (error instanceof QueryError) throw malformed(error.message)
    throw malformed('It is not UTF-8.')
  }
  throw malformed('It must be a JSON object such as {"query": ["=", "name", "value"], "limit": 10}.')
}

/**
 * Returns a member as an address would have it; undefined for null, which means that it isn't given (Q15).
 */
function textOf(node: Node): string | undefined {
  if (node.kind === 'null') return undefined
  return node.kind === 'text' ? node.text : printAst(node)
}

/**
 * Indents records for people to read (`pretty`). They are joined by commas, in the argument and in the
 * result.
 */
export function indented(records: Uint8Array): Uint8Array {
  const text = JSON.stringify(parsed(records), null, 2)
  return encoder.encode(text.slice(2, -2))
}

/** Extracts the values of rows that have one each. */
export function valuesIn(rows: Uint8Array, pretty: boolean): Uint8Array {
  const values = (parsed(rows) as object[]).map(row => Object.values(row)[0])
  const text = JSON.stringify(values, null, pretty ? 2 : undefined)
  return encoder.encode(text.slice(pretty ? 2 : 1, pretty ? -2 : -1))
}

const encoder = new TextEncoder()

const parsed = (records: Uint8Array) => parseWritten(`[${Buffer.from(records).toString()}]`)
