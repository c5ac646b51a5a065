import type { Field } from '../model/entities.ts'
import type { FieldRecipe, FileReading } from '../model/recipes.ts'
import type { Delimiter } from './delimiters.ts'
import type { Encoding } from './encodings.ts'
import type { Looks } from './local-forms.ts'

/** Options for reading a file, for properties that its content doesn't show. */
export interface ReadingOptions extends FileReading {
  /** The encoding; undefined: UTF-16 if its first bytes say so, otherwise UTF-8. */
  readonly encoding?: Encoding
  /** The delimiter of the cells; undefined: it is guessed from the header and the first rows. */
  readonly delimiter?: Delimiter
  /** Texts that mean empty in every field. */
  readonly empty?: readonly string[]
  /** Rules for fields, by their names in the file. */
  readonly fields?: ReadonlyMap<string, FieldRecipe>
  /** True if the file may lack fields that are declared, because a recipe is for many files. */
  readonly mayLack?: boolean
}

/** The encoding and delimiter with which a file was read. */
export interface HowRead {
  readonly encoding: Encoding
  /** null if the file is not a table. */
  readonly delimiter: Delimiter | null
}

/** Facts collected while a file was read. */
export interface Seen extends Pick<HowRead, 'delimiter'> {
  /** Local formats, by names of fields. */
  readonly looks: ReadonlyMap<string, Looks>
}

export const nothingSeen: Seen = { delimiter: null, looks: new Map() }

export const withLooks = <F extends Field>(
  fields: readonly F[],
  { looks }: Seen,
): (F & { looks?: Looks })[] =>
  fields.map(field => {
    const found = looks.get(field.name)
    return found === undefined ? field : { ...field, looks: found }
  })
