import { Command } from 'commander'
import { DeclarationRefused, declarationsAfter, type FieldChange } from '../import/declare-fields.ts'
import { misfitsInWords, misfitsOf, reliedOn } from '../import/misfits.ts'
import { parseExact } from '../lib/json.ts'
import { reservedEntities } from '../model/built-in-entities.ts'
import { declaredOf, entityTag, withDeclared } from '../model/declared.ts'
import { describedFields, type FieldDeclaration, fieldFormats } from '../model/declared-fields.ts'
import type { Entity, Field } from '../model/entities.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, sayResult } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** Options by the member that each declares. false: the member is taken back. */
interface Options extends Json {
  readonly label?: string | false
  readonly helpText?: string | false
  readonly unit?: string | false
  readonly format?: string | false
  readonly required?: boolean
  readonly default?: string | false
  readonly unique?: boolean
  readonly oneOf?: readonly string[] | false
  readonly references?: string | false
}

/** Number of attempts, if others change the entity at the same time. */
const maxAttempts = 10

/** `carrel entity field`: what is declared of a field (docs/decisions/0076). */
export const fieldCommand = (): Command =>
  new Command('field')
    .argument('<entity>', 'an imported or exposed entity')
    .argument('<field>')
    .description('Declare the label, unit or format of a field, and what its values must be.')
    .option('--label <text>', 'the name that people read')
    .option('--no-label', 'take it back')
    .option('--help-text <text>', 'what the field holds, in words for people')
    .option('--no-help-text', 'take it back')
    .option('--unit <unit>', 'the unit of its numbers, such as mm')
    .option('--no-unit', 'take it back')
    .option('--format <format>', `how values are shown: ${Object.keys(fieldFormats).join(', ')}`)
    .option('--no-format', 'take it back')
    .option('--required', 'every record needs a value')
    .option('--no-required', 'records may lack it')
    .option('--default <value>', 'the value of a record that comes without one')
    .option('--no-default', 'take it back')
    .option('--unique', 'no two records may have the same value')
    .option('--no-unique', 'records may share a value')
    .option('--one-of <values...>', 'the only values that records may have')
    .option('--no-one-of', 'any value is good')
    .option('--references <entity>', 'values are keys of records of this entity')
    .option('--no-references', 'take it back')
    .option(...jsonOption)
    .action((name: string, field: string, options: Options) =>
      withStore(async ({ entities }) => {
        for (let attempt = 0; attempt < maxAttempts; attempt++) {
          const all = await entities.all()
          const entity = all.get(name)
          if (!entity || reservedEntities.has(name))
            throw new Failure(
              entity
                ? `${name} is built in; fields of imported and exposed entities can be described`
                : `there is no entity ${name}; \`carrel entity list\` shows all entities`,
            )
          const known = entity.fields.find(one => one.name === field)
          const change = known ? changeOf(options, known) : {}
          if (known && Object.keys(change).length === 0)
            throw new Misuse('say what is to be declared, such as --label Height')
          const declaredFields = declared(entity, field, change, all)
          const declaration = { ...declaredOf(entity), declaredFields }
          const event = commandEvent('entity.change')
          const [before, after] = [entity.declaredFields ?? [], withDeclared(entity, declaration)]
          const misfits = await misfitsOf(after, before, all, entities)
          if (misfits.length > 0)
            throw new Failure(
              `the records of ${name} don't fit: ${misfits.map(misfitsInWords).join('; ')}; change them first`,
            )
          const relies = reliedOn(after, before, all)
          const done = await entities.declare(name, declaration, entityTag(entity), event, relies)
          if (done === 'changed') continue
          const now = (await entities.all()).get(name)
          const made = now && describedFields(now).find(one => one.name === field)
          return sayResult(json(options), { name, field: made ?? null }, `${name}.${field} is declared.`)
        }
        throw new Failure(`${name} is being changed by others all the time; try again`)
      }),
    )

const json = (options: Json) => options.json

function declared(
  entity: Entity,
  field: string,
  change: FieldChange,
  all: ReadonlyMap<string, Entity>,
): NonNullable<Entity['declaredFields']> {
  try {
    return declarationsAfter(entity, new Map([[field, change]]), all)
  } catch (error) {
    if (!(error instanceof DeclarationRefused)) throw error
    const legal =
      error.path.length === 1 && error.legal ? `. There are ${error.legal.slice(0, 20).join(', ')}` : ''
    throw new Failure(`${error.message}${legal}`, { cause: error })
  }
}

function changeOf(options: Options, field: Field): FieldChange {
  const given: { readonly [M in keyof FieldDeclaration]: unknown } = {
    label: options.label,
    help: options.helpText,
    unit: options.unit,
    format: options.format,
    required: options.required,
    default: typeof options.default === 'string' ? typedValue(options.default, field) : options.default,
    unique: options.unique,
    oneOf: options.oneOf === false ? false : options.oneOf?.map(text => typedValue(text, field)),
    references: options.references,
  }
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== undefined)
      .map(([member, value]) => [
        member,
        value === false && !(member === 'default' && options.default !== false) ? null : value,
      ]),
  )
}

/** Reads a value as it was typed: the type of its field says what it is. */
export function typedValue(text: string, { type }: Pick<Field, 'type'>): unknown {
  if (type === 'text' || type === 'date-time' || type === 'json') return text
  try {
    return parseExact(text)
  } catch {
    return text
  }
}
