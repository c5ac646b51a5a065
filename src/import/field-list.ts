import type { Field, FieldType } from '../model/entities.ts'
import type { BatchField } from './batches.ts'
import type { Constraint } from './constraints.ts'
import type { Digits } from './equal-numbers.ts'
import { ImportError, shown } from './import-error.ts'
import type { Looks } from './local-forms.ts'
import type { Shaping } from './shapes.ts'
import { type FieldStatistics, fieldOf, type Mix, mixOf } from './types.ts'

/** Declarations of the operator, by names of fields. */
export interface Declarations {
  readonly types: ReadonlyMap<string, FieldType>
  readonly collations: ReadonlyMap<string, string>
  /** The declared fields that are lists; if absent, their values decide. */
  readonly lists?: ReadonlySet<string>
  /** Shapes that a recipe gives fields of JSON; those of tables have theirs before they are staged. */
  readonly shaping?: Shaping
  /** Fields that the entity has already; absent: those with types, as where its records are written again. */
  readonly kept?: ReadonlySet<string>
  /** Fields that keep the type of the entity, if a record has them. */
  readonly held?: ReadonlySet<string>
  readonly constraints?: readonly Constraint[]
  /** Fields whose values must differ, and those whose values are looked up. */
  readonly unique?: readonly string[]
  readonly looked?: readonly string[]
  /** True if declared fields may be missing. */
  readonly mayLack?: boolean
}

/** An import's findings about a field. */
export interface Findings {
  /** Number of records in which it is null or missing. */
  readonly nulls: number
  /** The reason why it is JSON, if its values have no type in common. */
  readonly mix?: Mix
  /** A local format that all its texts have, if it was not read with the option for that format. */
  readonly looks?: Looks
  /** Two lines on which the same number is written differently, such as 1998.1 and 1998.10. */
  readonly digits?: Digits
}

/** Maximum number of fields, because the store has to keep a table of ranks for each. */
export const maxFields = 1_900
export const tooManyFields = (line: number): ImportError =>
  new ImportError(
    `more than ${maxFields} different fields; put those that vary into one field, as an object`,
    { line },
  )

/** Maximum number of names that a message lists. */
const maxNames = 50
/** Maximum characters of a name that is shown without quotation marks. */
const maxPlain = 60

/** Invisible characters, except joiners between letters, which some scripts need. */
const unseen =
  /[^\P{Default_Ignorable_Code_Point}\u200c\u200d]|[\p{Cc}\u2800]|(?<!\p{L})[\u200c\u200d]|[\u200c\u200d](?!\p{L})/gu

/**
 * Returns a function that refuses a name that looks like one of those that it was given before.
 * @param kept names that the entity has already: they may look alike
 */
export function unlikeNames(kept: ReadonlySet<string>) {
  const seen = new Map<string, string>()
  return (name: string, line: number): void => {
    const plain = name
      .normalize('NFC')
      .replaceAll(/[\s\p{Z}]+/gu, ' ')
      .replaceAll(unseen, '')
      .trim()
    const other = seen.get(plain)
    if (plain === '') return
    if (other !== undefined && other !== name && !(kept.has(name) && kept.has(other)))
      throw new ImportError(
        `the fields ${escapedName(other)} and ${escapedName(name)} look alike: only white space, invisible characters or the way that letters are composed tells them apart; give them one name, or different ones, as with a recipe`,
        { line, field: name },
      )
    seen.set(plain, name)
  }
}

/** A name with escapes for all that isn't ASCII, so that what can't be seen is. */
const escapedName = (name: string) =>
  JSON.stringify(name.slice(0, 2 * maxPlain)).replaceAll(
    /[^ -~]/gu,
    character => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )

/** All fields of the records read so far, in the order in which they were first met. */
export class FieldList {
  readonly #declarations: Declarations
  readonly #statistics: FieldStatistics[] = []
  readonly #places = new Map<string, number>()
  readonly #requireUnlike: ReturnType<typeof unlikeNames>
  #count = 0

  constructor(declarations: Declarations) {
    this.#declarations = declarations
    this.#requireUnlike = unlikeNames(declarations.kept ?? new Set(declarations.types.keys()))
  }

  /** Number of records. */
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

  /** Adds a field to the entity, also if no record has it. @throws ImportError if there are too many */
  declare(name: string, line: number): number {
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const place = this.#statistics.length
    if (place === maxFields) throw tooManyFields(line)
    this.#places.set(name, place)
    const { types, lists } = this.#declarations
    this.#requireUnlike(name, line)
    this.#statistics.push({
      name,
      declared: types.get(name),
      isList: types.has(name) ? lists?.has(name) : undefined,
      collation: this.#declarations.collations.get(name),
      kinds: new Map(),
      hasLists: true,
      // The field is missing in all records so far.
      nulls: this.#count,
    })
    return place
  }

  /**
   * Adds the statistics of a batch.
   * @returns the index of each field in the batch, by its position in this list
   */
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
   * Returns the position of a field.
   * @param what its role, such as `the key field`
   * @throws ImportError if no record has the field
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

  /**
   * @throws ImportError if a declaration names a field that doesn't exist, or a collation one that isn't text
   */
  checkDeclarations(): void {
    const { types, held, collations, mayLack = false } = this.#declarations
    const named = (names: Iterable<string>) =>
      [...names].filter(name => !(mayLack || held?.has(name)) || this.has(name))
    for (const name of named(types.keys())) this.place(name, 'the field')
    for (const name of named(collations.keys())) {
      const { type } = fieldOf(this.#statistics[this.place(name, 'the field')] as FieldStatistics)
      if (type !== 'text')
        throw new ImportError(
          `the field ${shown(name)} is ${type}, and only text has a collation; declare it as text with --type, or leave out --collation`,
        )
    }
  }
}
