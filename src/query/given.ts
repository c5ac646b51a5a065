import type { FastifyRequest } from 'fastify'
import { isForm, parseForm } from '../http/form.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { readGetBody } from '../http/read-get-body.ts'
import { type Node, QueryError } from './language/node.ts'
import { printAst } from './language/print-ast.ts'
import { readAst } from './language/read-ast.ts'

/** The size of a body with a query, in bytes. */
export const maxQueryBody = 1024 * 1024

/**
 * The parameters of a request to a query endpoint: those of the address, and those of the body (Q15). A `GET` may have a
 * form, which is what `curl -X GET --data-urlencode` sends; the body of a `POST` is JSON.
 * @throws Problem 400 for a malformed body, 413 for a large one, 415 for another type
 */
export async function givenBy(request: FastifyRequest): Promise<Query> {
  const { values } = request.query as Query
  const body = request.method === 'POST' ? ofJson(request) : await ofForm(request)
  if (body.size === 0) return request.query as Query
  const all = new Map(values)
  for (const [name, more] of body) all.set(name, [...(all.get(name) ?? []), ...more])
  return { values: all, malformed: null }
}

const none: ReadonlyMap<string, readonly string[]> = new Map()

/** Whether the parameters are only those of the address, as they nearly always are. */
export const isAllInAddress = (request: FastifyRequest): boolean =>
  request.method !== 'POST' && (request.headers['content-type'] === undefined || !isForm(request))

async function ofForm(request: FastifyRequest): Promise<ReadonlyMap<string, readonly string[]>> {
  // Any other body of a GET has no meaning (RFC 9110 §9.3.1).
  if (!isForm(request)) return none
  const form = parseForm(await readGetBody(request, maxQueryBody))
  return new Map([...form].map(([name, value]) => [name, [utf8(name, value)]]))
}

const decoder = new TextDecoder('utf-8', { fatal: true })
function utf8(name: string, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new Problem('bad-request', `The parameter ${JSON.stringify(name)} of the form is not UTF-8.`)
  }
}

function ofJson(request: FastifyRequest): ReadonlyMap<string, readonly string[]> {
  const body = request.body as Buffer | undefined
  if (body === undefined || body.length === 0) return none
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? 'application/json'))
    throw new Problem('unsupported-media-type', 'The body of a query must be application/json.')
  const given = membersOf(body)
  const texts = [...given].flatMap(([name, node]) => {
    const text = textOf(node)
    return text === undefined ? [] : [[name, [text]] as const]
  })
  return new Map(texts)
}

function membersOf(body: Buffer): ReadonlyMap<string, Node> {
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
