import { fits, kindOf } from '../import/types.ts'
import { OperatorError } from '../lib/errors.ts'
import { isObject } from '../lib/json.ts'
import {
  constraintMembers,
  type DeclaredField,
  declarationLimits,
  declarationMembers,
  describedFields,
  type FieldDeclaration,
  type FieldFormat,
  fieldFormats,
  type PlainValue,
  tidyDeclarations,
} from '../model/declared-fields.ts'
import type { Entity, Field } from '../model/entities.ts'
import { areComparable } from '../model/relations.ts'
import { orderOf } from '../model/value-order.ts'

/** Declarations of fields, checked against the fields and the other entities (docs/decisions/0076). */

/** A member that is null is taken back; one that is missing stays. */
export type FieldChange = { readonly [M in keyof FieldDeclaration]?: unknown }

/** A declaration that the field can't have. */
export class DeclarationRefused extends OperatorError {
  /** The way to the wrong value: the name of the field, its member, the place in a list. */
  readonly path: readonly (string | number)[]
  readonly legal: readonly string[] | undefined

  constructor(path: readonly (string | number)[], message: string, legal?: readonly string[]) {
    super(message)
    this.path = path
    this.legal = legal
  }
}

type Described = Pick<Entity, 'name' | 'key' | 'fields' | 'source' | 'declaredFields'>

/**
 * Returns the declarations of an entity after changes.
 * @param changes by the name of the field; null takes back everything that is declared of it
 * @throws DeclarationRefused
 */
export function declarationsAfter(
  entity: Described,
  changes: ReadonlyMap<string, FieldChange | null>,
  all: ReadonlyMap<string, Described>,
): readonly DeclaredField[] {
  const { declaredFields = [] } = entity
  const after = new Map(declaredFields.map(one => [one.name, one]))
  for (const [name, change] of changes) {
    if (change === null) {
      after.delete(name)
      continue
    }
    const field = entity.fields.find(one => one.name === name)
    if (!field)
      throw new DeclarationRefused(
        [name],
        `${entity.name} has no field ${JSON.stringify(name.slice(0, 100))}`,
        entity.fields.map(one => one.name),
      )
    after.set(name, declarationOf(entity, field, { ...after.get(name), ...change }, all))
  }
  const tidy = tidyDeclarations(after.values())
  if (JSON.stringify(tidy).length > declarationLimits.bytes)
    throw new DeclarationRefused(
      [],
      `the declarations of all fields of ${entity.name} together are longer than ${declarationLimits.bytes / 1024} kB; shorten help or lists of values`,
    )
  return tidy
}

type Given = FieldChange & { readonly [M in keyof FieldDeclaration]?: unknown }

function declarationOf(
  entity: Described,
  field: Field,
  given: Given,
  all: ReadonlyMap<string, Described>,
): DeclaredField {
  const made: Record<string, unknown> = {}
  for (const member of declarationMembers) {
    const value = given[member] ?? null
    if (value === null || value === false) {
      // false takes back what is either declared or not; any other member needs null for that.
      if (value === null || member === 'required' || member === 'unique') continue
      if (member !== 'default') throw new DeclarationRefused([field.name, member], `${member} can't be false`)
    }
    requireImported(entity, field, member)
    made[member] = readers[member](value, { entity, field, all })
  }
  const declared = { ...(made as FieldDeclaration), name: field.name }
  requireListed(field, declared)
  return declared
}

function requireImported({ name, source }: Described, field: Field, member: keyof FieldDeclaration): void {
  if (source.kind === 'records' || !(constraintMembers as readonly string[]).includes(member)) return
  throw new DeclarationRefused(
    [field.name, member],
    `${name} shows a table; the database says what its values must be. Declare label, help, unit or format here`,
  )
}

/** @throws DeclarationRefused if the default isn't among the values that records may have */
function requireListed(field: Field, { default: value, oneOf }: FieldDeclaration): void {
  if (value === undefined || oneOf === undefined) return
  const { key } = orderOf(field)
  if (!oneOf.some(one => key(one) === key(value)))
    throw new DeclarationRefused(
      [field.name, 'default'],
      `the default ${JSON.stringify(value)} of ${field.name} is none of its values`,
      oneOf.slice(0, 100).map(String),
    )
}

interface Of {
  readonly entity: Described
  readonly field: Field
  readonly all: ReadonlyMap<string, Described>
}

type Readers = { readonly [M in keyof FieldDeclaration]-?: (value: unknown, of: Of) => FieldDeclaration[M] }

const readers: Readers = {
  label: (value, of) => textOf(value, 'label', of),
  help: (value, of) => textOf(value, 'help', of),
  unit: (value, of) => textOf(value, 'unit', of),
  format: formatOf,
  required: (value, of) => trueOf(value, 'required', of),
  default: (value, of) => plainValue(value, ['default'], of),
  unique: (value, of) => {
    requireType(of, 'unique')
    return trueOf(value, 'unique', of)
  },
  oneOf: valuesOf,
  references: referenceOf,
}

const wrong = ({ field }: Of, member: string, message: string, legal?: readonly string[]) =>
  new DeclarationRefused([field.name, member], message, legal)

function textOf(value: unknown, member: 'label' | 'help' | 'unit', of: Of): string {
  const max = declarationLimits[member]
  if (typeof value !== 'string' || value.trim() === '' || value.length > max)
    throw wrong(of, member, `${member} of ${of.field.name} must be a text of 1 to ${max} characters`)
  const isLine = member !== 'help'
  if (!value.isWellFormed() || (isLine ? /[\p{Cc}\p{Bidi_Control}]/u : /[^\P{Cc}\n\t]/u).test(value))
    throw wrong(of, member, `${member} of ${of.field.name} must not have control characters`)
  return value
}

function trueOf(value: unknown, member: 'required' | 'unique', of: Of): true {
  if (value !== true) throw wrong(of, member, `${member} of ${of.field.name} must be true or false`)
  return true
}

function formatOf(value: unknown, of: Of): FieldFormat {
  const { name, type } = of.field
  const legal = Object.entries(fieldFormats)
    .filter(([, types]) => (types as readonly string[]).includes(type))
    .map(([format]) => format)
  if (typeof value === 'string' && legal.includes(value)) return value as FieldFormat
  const given = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : 'this'
  throw wrong(
    of,
    'format',
    legal.length === 0
      ? `${name} is ${type}, which has no format to choose`
      : `${given} is no format of ${name}, which is ${type}; there are ${legal.join(', ')}`,
    legal,
  )
}

function requireType(of: Of, member: string): void {
  const { name, type } = of.field
  if (type === 'json')
    throw wrong(of, member, `${name} is json; only fields of another type can have ${member}`)
}

function plainValue(value: unknown, path: readonly (string | number)[], of: Of): PlainValue {
  const [member = ''] = path
  requireType(of, String(member))
  const { name, type } = of.field
  const is = isObject(value) || Array.isArray(value) ? 'json' : kindOf(value)
  const isOfType =
    type === 'text'
      ? typeof value === 'string'
      : is !== undefined && fits(is, type) && typeof value !== 'object'
  if (!isOfType)
    throw new DeclarationRefused(
      [name, ...path],
      `${name} is ${type}, and ${path.join(' ')} is ${is ?? 'null'}${is === 'integer' || is === 'number' ? ', or has more digits than are compared' : ''}`,
      [type],
    )
  if (typeof value === 'string' && (value.length > declarationLimits.value || !value.isWellFormed()))
    throw new DeclarationRefused(
      [name, ...path],
      `${path.join(' ')} of ${name} must have at most ${declarationLimits.value} characters`,
    )
  return value as PlainValue
}

function valuesOf(value: unknown, of: Of): readonly PlainValue[] {
  const { name } = of.field
  if (!Array.isArray(value) || value.length === 0 || value.length > declarationLimits.values)
    throw wrong(
      of,
      'oneOf',
      `oneOf of ${name} must be a list of 1 to ${declarationLimits.values.toLocaleString('en')} values; more belong into an entity that the field references`,
    )
  const { key } = orderOf(of.field)
  const seen = new Set<string>()
  return value.map((one, at) => {
    const plain = plainValue(one, ['oneOf', at], of)
    if (seen.has(key(plain)))
      throw new DeclarationRefused(
        [name, 'oneOf', at],
        `${JSON.stringify(plain)} is in oneOf of ${name} twice`,
      )
    seen.add(key(plain))
    return plain
  })
}

function referenceOf(value: unknown, of: Of): string {
  const { entity, field, all } = of
  requireType(of, 'references')
  const other = typeof value === 'string' ? (value === entity.name ? entity : all.get(value)) : undefined
  const imported = [...all.values()].filter(({ source }) => source.kind === 'records').map(({ name }) => name)
  if (other?.source.kind !== 'records')
    throw wrong(
      of,
      'references',
      other
        ? `${other.name} holds no imported records, and only those can be referenced`
        : `there is no entity ${JSON.stringify(String(value).slice(0, 100))} that ${field.name} could reference`,
      imported,
    )
  const [key, ...more] = [other.key].flat()
  const its = other.fields.find(({ name }) => name === key)
  if (!its || more.length > 0)
    throw wrong(
      of,
      'references',
      `the key of ${other.name} has several fields, and a field can reference a key of one field only`,
    )
  if (!areComparable(field, its))
    throw wrong(
      of,
      'references',
      `${entity.name}.${field.name} is ${field.type} and ${other.name}.${its.name} is ${its.type}; their values are never equal`,
    )
  return other.name
}

/** True if a field of this type can have what is declared of it. */
export function suits(entity: Described, field: Field, all: ReadonlyMap<string, Described>): boolean {
  const declared = describedFields({ ...entity, fields: [field] })[0]
  try {
    declarationOf(entity, field, { ...declared }, all)
    return true
  } catch (error) {
    if (error instanceof DeclarationRefused) return false
    throw error
  }
}
