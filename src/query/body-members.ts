import { Problem } from '../http/problems.ts'
import { type Node, QueryError } from './language/node.ts'
import { printAst } from './language/print-ast.ts'
import { readAst } from './language/read-ast.ts'

/** Each with all that is given for it. */
export type Parameters = ReadonlyMap<string, readonly string[]>

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The parameters in a body of JSON. @throws Problem 400 */
export function membersOf(body: Uint8Array): Parameters {
  const texts = [...nodesIn(body)].flatMap(([name, node]) => {
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

/** As it would be in an address. A member that is null is not given (Q15). */
function textOf(node: Node): string | undefined {
  if (node.kind === 'null') return undefined
  return node.kind === 'text' ? node.text : printAst(node)
}
