import type { Field } from '../model/entities.ts'
import type { Delimiter } from './delimiters.ts'
import type { Encoding } from './encodings.ts'
import type { Looks } from './local-forms.ts'

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
