import type { DeclaredField, Entity, Field, FieldDeclaration, FieldFormat, FieldType } from './entities.ts'

export type { DeclaredField, FieldDeclaration, FieldFormat, PlainValue } from './entities.ts'

/** Declarations of fields by administrators (docs/decisions/0076): how values are shown, and what they must be. */

/**
 * Each format with the types of the fields that may have it. A format says how values are shown and edited; a value
 * that isn't of that form is shown as it is.
 */
export const fieldFormats = {
  /** An address of a page (http or https). */
  link: ['text', 'json'],
  /** The address of a picture. */
  image: ['text', 'json'],
  'e-mail': ['text', 'json'],
  /** A year, without separators of thousands. */
  year: ['integer', 'number', 'json'],
  /** A number that only names something, without separators of thousands. */
  identifier: ['integer', 'number', 'json'],
  /** A text of several lines. */
  paragraphs: ['text'],
  /** JSON as a tree, also within a text. */
  json: ['json', 'text'],
} as const satisfies Readonly<Record<FieldFormat, readonly FieldType[]>>

/** A field with what is declared of it. */
export type DescribedField = Field & FieldDeclaration

/** Members of a declaration in the order in which they are shown. */
export const declarationMembers = [
  ...(['label', 'help', 'unit', 'format', 'required'] as const),
  ...(['default', 'unique', 'oneOf', 'references'] as const),
] satisfies readonly (keyof FieldDeclaration)[]

/** Those that say what values must be. */
export const constraintMembers = [
  ...(['required', 'default', 'unique', 'oneOf', 'references'] as const),
] satisfies readonly (keyof FieldDeclaration)[]

/** Limits of declarations: characters of texts, values of a list, and bytes of all declarations of an entity as JSON. */
export const declarationLimits = {
  label: 200,
  help: 2_000,
  unit: 40,
  value: 1_000,
  values: 1_000,
  bytes: 256 * 1024,
} as const

/** Returns the fields of an entity with their declarations. Those of fields that it lacks are left out. */
export function describedFields({
  fields,
  declaredFields = [],
}: Pick<Entity, 'fields' | 'declaredFields'>): readonly DescribedField[] {
  if (declaredFields.length === 0) return fields
  const declared = new Map(declaredFields.map(({ name, ...members }) => [name, members]))
  return fields.map(field => ({ ...field, ...declared.get(field.name) }))
}

/** Returns the declarations of which something remains, with members and fields in a fixed order. */
export function tidyDeclarations(all: Iterable<DeclaredField>): readonly DeclaredField[] {
  const tidy = [...all].flatMap(field => {
    const members = declarationMembers.filter(member => field[member] !== undefined)
    if (members.length === 0) return []
    const made = Object.fromEntries(members.map(member => [member, field[member]]))
    return [{ name: field.name, ...made }]
  })
  return tidy.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}
