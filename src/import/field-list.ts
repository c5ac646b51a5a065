import type { Field, FieldType } from '../model/entities.ts'
import type { BatchField } from './batches.ts'
import type { Digits } from './equal-numbers.ts'
import { ImportError } from './import-error.ts'
import type { Looks } from './local-forms.ts'
import { shown } from './shown.ts'
import { type FieldStatistics, fieldOf, type Mix, mixOf } from './types.ts'

/** What the operator declares, by the names of the fields. */
export interface Declarations {
  readonly types: ReadonlyMap<string, FieldType>
  readonly collations: ReadonlyMap<string, string>
  /** Which of the declared fields are lists; without it, their values say so. */
  readonly lists?: ReadonlySet<string>
}

/** What an import reports of a field. */
export interface Findings {
  /** In how many records it is null or missing. */
  readonly nulls: number
  /** Why it is JSON, where its values have no type in common. */
  readonly mix?: Mix
  /** A format that all its texts have, if the file wasn't read with the option for it. */
  readonly looks?: Looks
  /** Two lines that write one number differently, such as 1998.1 and 1998.10. */
  readonly digits?: Digits
}

/** A table of ranks for each field is as much as a store should have to keep. */
export const maxFields = 1_900
export const tooManyFields = (line: number): ImportError =>
  new ImportError(
    `line ${line}: more than ${maxFields} different fields; put those that vary into one field, as an object`,
  )

/** Names that a message lists. */
const maxNames = 50
/** Characters of a name that is shown as it is. */
const maxPlain = 60

/** All fields of the records that were read, in the order in which they were first met. */
export class FieldList {
  readonly #declarations: Declarations
  readonly #statistics: FieldStatistics[] = []
  readonly #places = new Map<string, number>()
  #count = 0

  constructor(declarations: Declarations) {
    this.#declarations = declarations
  }

  /** How many records there are. */
  get count(): number {
    return this.#count
  }

  get fields(): Field[] {
    return this.#statistics.map(fieldOf)
  }

  get findings(): Findings[] {
    return this.#statistics.map(field => {
      const mix = mixOf(field)
      return mix ? { nulls: field.nulls, mix } : { nulls: field.nulls }
    })
  }

  /**
   * Adds a field that the entity has even if no record does.
   * @throws ImportError if there are too many
   */
  declare(name: string, line: number): number {
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const place = this.#statistics.length
    if (place === maxFields) throw tooManyFields(line)
    this.#places.set(name, place)
    const { types, lists } = this.#declarations
    this.#statistics.push({
      name,
      declared: types.get(name),
      isList: types.has(name) ? lists?.has(name) : undefined,
      collation: this.#declarations.collations.get(name),
      kinds: new Map(),
      hasLists: true,
      // It is missing in all records so far.
      nulls: this.#count,
    })
    return place
  }

  /** @returns the index of each field among those of the batch, by its place in this list */
  add(fields: readonly BatchField[], count: number): ReadonlyMap<number, number> {
    const indexes = new Map(fields.map(({ name, line }, index) => [this.declare(name, line), index]))
    for (const [place, statistics] of this.#statistics.entries()) {
      const { kinds = [], hasLists = true, filled = 0 } = fields[indexes.get(place) ?? -1] ?? {}
      for (const [kind, line] of kinds) if (!statistics.kinds.has(kind)) statistics.kinds.set(kind, line)
      statistics.hasLists &&= hasLists
      statistics.nulls += count - filled
    }
    this.#count += count
    return indexes
  }

  has(name: string): boolean {
    return this.#places.has(name)
  }

  /**
   * @param what such as `the key field`
   * @throws ImportError if no record has it
   */
  place(name: string, what: string): number {
    const place = this.#places.get(name)
    if (place !== undefined) return place
    const names = this.#statistics
      .slice(0, maxNames)
      .map(({ name }) =>
        /[\p{Cc}\p{Bidi_Control},"]/u.test(name) || name.length > maxPlain ? shown(name) : name,
      )
    const more = this.#statistics.length - names.length
    const known = `${names.join(', ') || 'no fields'}${more > 0 ? ` and ${more} more` : ''}`
    throw new ImportError(`no record has ${what} ${shown(name)}; there are ${known}`)
  }

  /** @throws ImportError if a declaration is about a field that there isn't, or a collation about one that isn't text */
  checkDeclarations(): void {
    const { types, collations } = this.#declarations
    for (const name of types.keys()) this.place(name, 'the field')
    for (const name of collations.keys()) {
      const { type } = fieldOf(this.#statistics[this.place(name, 'the field')] as FieldStatistics)
      if (type !== 'text')
        throw new ImportError(
          `the field ${shown(name)} is ${type}, and only text has a collation; declare it as text with --type, or leave out --collation`,
        )
    }
  }
}
