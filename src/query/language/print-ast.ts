import type { Node } from './node.ts'

/** Writes a query as JSON, with numbers as they were written. `readAst` reads the same query from it. */
export function printAst(node: Node): string {
  switch (node.kind) {
    case 'array':
      return `[${node.items.map(printAst).join(',')}]`
    case 'object':
      return `{${[...node.members].map(([key, member]) => `${JSON.stringify(key)}:${printAst(member)}`).join(',')}}`
    case 'text':
      return JSON.stringify(node.text)
    case 'number':
      return node.text
    case 'boolean':
      return String(node.value)
    case 'null':
      return 'null'
  }
}
