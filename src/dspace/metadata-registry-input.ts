import { Problem } from '../http/problems.ts'
import type { WantedField, WantedSchema } from '../storage/repository.ts'

/**
 * Schemas and fields of metadata as clients write them. Further members, such as `type`, are ignored. Lengths
 * are those of DSpace's forms. Characters are those that names of fields in items may have, so that
 * everything registered can be used.
 */
type Given = Readonly<Record<string, unknown>>

const maxNamespace = 256
const maxScopeNote = 2_000

const refused = (why: string) => new Problem('change-refused', why)

/** @throws Problem 422 */
export function schemaIn({ prefix, namespace }: Given): WantedSchema {
  if (typeof prefix !== 'string' || !/^[A-Za-z][\w-]{0,31}$/.test(prefix))
    throw refused(
      'prefix must begin with a letter and have letters, digits, - and _, 32 characters at most: such as dcterms.',
    )
  if (typeof namespace !== 'string' || namespace.trim() === '' || !isText(namespace, maxNamespace, lines))
    throw refused(
      `namespace must be a line of at most ${maxNamespace} characters, such as http://purl.org/dc/terms/.`,
    )
  return { prefix, namespace }
}

/** @throws Problem 422 */
export function fieldIn(given: Given): WantedField {
  const { element, qualifier = null } = given
  const wanted = 'must have letters, digits, - and _, 64 characters at most'
  if (typeof element !== 'string' || !isName(element))
    throw refused(`element ${wanted}: such as contributor.`)
  // The interface's form sends an empty text for an input that was left empty.
  if (qualifier === null || qualifier === '')
    return { element, qualifier: null, scopeNote: scopeNoteIn(given) }
  if (typeof qualifier !== 'string' || !isName(qualifier))
    throw refused(`qualifier ${wanted}, or be null: such as author.`)
  return { element, qualifier, scopeNote: scopeNoteIn(given) }
}

/** @throws Problem 422 */
export function scopeNoteIn({ scopeNote = null }: Given): string | null {
  if (scopeNote === null || scopeNote === '') return null
  if (typeof scopeNote !== 'string' || !isText(scopeNote, maxScopeNote, controls))
    throw refused(
      `scopeNote must be a text of at most ${maxScopeNote.toLocaleString('en')} characters, or null.`,
    )
  return scopeNote
}

/**
 * Refuses other values for members that a change may only repeat.
 * @throws Problem 422
 */
export function refuseOther(given: Given, fixed: Given): void {
  for (const [name, value] of Object.entries(fixed)) {
    const other = given[name]
    if (other === undefined || other === value || (value === null && other === '')) continue
    throw refused(
      name === 'id'
        ? 'The id in the body is not the one in the address.'
        : `${name} can’t be changed: items have it in the names of their fields.`,
    )
  }
}

const isName = (text: string) => /^[\w-]{1,64}$/.test(text)

/** Control characters that a line can't have, and those that a text can't have. */
const lines = /\p{Cc}/u
const controls = /[^\P{Cc}\t\n\r]/u

const isText = (text: string, max: number, without: RegExp) =>
  text.isWellFormed() && text.length <= 2 * max && [...text].length <= max && !without.test(text)
