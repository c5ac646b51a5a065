/**
 * Names that stay different after generators have changed their spelling: `list-items`, `list_items` and
 * `listItems` are the same name in camel, Pascal or snake case.
 */
export class Names {
  readonly #taken: Set<string>

  /** @param others whose names are taken as well */
  constructor(others?: Names) {
    this.#taken = new Set(others ? others.#taken : [])
  }

  /** @returns the name, with a number if another one differs from it only in case and punctuation */
  add(name: string): string {
    let free = name
    for (let n = 2; this.#taken.has(plain(free)); n++) free = `${name}_${n}`
    this.#taken.add(plain(free))
    return free
  }
}

const plain = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase()
