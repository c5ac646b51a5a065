import { type Node as JsonNode, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { jsonErrors } from '../json-errors.ts'
import { bounds, type Node, QueryError } from './node.ts'

/**
 * Reads a query in the form of JSON.
 * @throws QueryError for what is not JSON, too large or too deep
 */
export function readAst(text: string): Node {
  if (text.length > bounds.length)
    throw new QueryError(`It is longer than ${bounds.length.toLocaleString('en')} characters.`, {
      pointer: '',
    })
  refuseDeep(text)
  const errors: ParseError[] = []
  const tree = parseTree(text, errors, { disallowComments: true, allowEmptyContent: false })
  const [error] = errors
  if (error || !tree)
    throw new QueryError(
      `It is not JSON: ${error ? jsonErrors[printParseErrorCode(error.error)] : 'it is empty'} at character ${error?.offset ?? 0}.`,
      { pointer: '' },
      { position: error?.offset ?? 0 },
    )
  return toNode(text, tree)
}

/** Before it is parsed: the parser would overflow the stack. Brackets in strings don't count. */
function refuseDeep(text: string): void {
  let depth = 0
  let isInString = false
  let nodes = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isInString) {
      if (code === 0x5c) at++
      else if (code === 0x22) isInString = false
    } else if (code === 0x22) isInString = true
    else if (code === 0x5b || code === 0x7b) {
      depth++
      if (depth > bounds.depth)
        throw new QueryError(
          `It is nested more than ${bounds.depth} deep at character ${at}.`,
          { pointer: '' },
          { position: at },
        )
    } else if (code === 0x5d || code === 0x7d) depth--
    else if (code === 0x2c && ++nodes >= bounds.nodes)
      throw new QueryError(`It has more than ${bounds.nodes.toLocaleString('en')} parts.`, { pointer: '' })
  }
}

function toNode(text: string, { type, value, children = [], offset, length }: JsonNode, pointer = ''): Node {
  const at = { pointer }
  switch (type) {
    case 'array':
      return { kind: 'array', items: children.map((one, n) => toNode(text, one, `${pointer}/${n}`)), at }
    case 'object': {
      const members = new Map<string, Node>()
      for (const { children: [key, member] = [] } of children)
        if (key && member)
          members.set(String(key.value), toNode(text, member, `${pointer}/${escaped(String(key.value))}`))
      return { kind: 'object', members, at }
    }
    case 'string':
      return { kind: 'text', text: String(value), at }
    case 'number':
      return { kind: 'number', text: text.slice(offset, offset + length), at }
    case 'boolean':
      return { kind: 'boolean', value: value === true, at }
    default:
      return { kind: 'null', at }
  }
}

/** RFC 6901 §3. */
const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')
