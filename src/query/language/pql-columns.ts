import type { Node } from './node.ts'
import { printAst } from './print-ast.ts'

/**
 * Names of the columns of a projection. A column is named after its field or its function; the second one
 * with the same name is `count_2`.
 */
export class Columns {
  readonly #names = new Map<string, string>()
  readonly #taken = new Map<string, number>()

  constructor(items: readonly Node[]) {
    for (const item of items) {
      const name = this.#unique(baseOf(item))
      const what = printAst(item)
      if (!this.#names.has(what)) this.#names.set(what, name)
    }
  }

  /** @returns the name of the column that shows this function; undefined if there is none */
  nameOf(item: Node): string | undefined {
    return this.#names.get(printAst(item))
  }

  #unique(base: string): string {
    let name = base
    for (let count = this.#taken.get(base) ?? 0; this.#taken.has(name); name = `${base}_${count}`)
      this.#taken.set(base, ++count)
    this.#taken.set(name, this.#taken.get(name) ?? 1)
    return name
  }
}

function baseOf(item: Node): string {
  const name = item.kind === 'array' ? item.items[1] : item
  return name?.kind === 'text' ? name.text : ''
}
