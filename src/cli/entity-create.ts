import { Command } from 'commander'
import { DeclarationRefused, declarationsAfter, type FieldChange } from '../import/declare-fields.ts'
import { importStaged, VersionReplaced } from '../import/import-entity.ts'
import { type Reshaping, reshape } from '../import/reshape-fields.ts'
import { fieldTypes } from '../import/types.ts'
import { reservedEntities } from '../model/built-in-entities.ts'
import type { PlainValue } from '../model/declared-fields.ts'
import type { Entity, FieldType } from '../model/entities.ts'
import { descriptionOf } from '../model/relations.ts'
import { typedValue } from './entity-field.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, sayResult } from './output.ts'
import { entityReadOption, parseReadRule, readRule } from './read-rule.ts'
import { commandEvent, withStore } from './store.ts'

interface Options extends Json {
  readonly key: readonly string[]
  readonly field?: readonly string[]
  readonly read?: string
  readonly description?: string
}

interface NewField {
  readonly name: string
  readonly type: FieldType
  readonly change: FieldChange
}

/** `carrel entity create`: an imported entity with key and fields before any record (EA2). */
export const createCommand = (): Command =>
  new Command('create')
    .argument('<name>', 'the name of the new entity')
    .description('Make an entity without a file. Records are written one by one, or imported later.')
    .requiredOption('--key <field...>', 'the field, or the fields, that identify a record')
    .option(
      '--field <definition...>',
      'name:type and what is declared: title:text:required, state:text:one-of=new|old, by:integer:references=people',
    )
    .option(...entityReadOption)
    .option('--description <text>', 'what its records are')
    .option(...jsonOption)
    .action((name: string, { key, field = [], read, description, json }: Options) => {
      if (read !== undefined) parseReadRule(read)
      const given = field.map(fieldIn)
      const known = new Set(given.map(one => one.name))
      const lacking = key.filter(one => !known.has(one))
      const fields = [...lacking.map(one => ({ name: one, type: 'text' as const, change: {} })), ...given]
      return withStore(async ({ people, entities }) => {
        const all = await entities.all()
        if (all.has(name) || reservedEntities.has(name))
          throw new Failure(`there is an entity ${name} already`)
        const rule = read === undefined ? 'admin' : await readRule(read, people)
        const [only = '', ...more] = key
        const entity: Entity = {
          ...{ name, key: more.length === 0 ? only : key, read: rule },
          fields: fields.map(one => ({ name: one.name, type: one.type, nullable: false })),
          source: { kind: 'records', version: '', count: 0, bytes: 0, largest: 0 },
        }
        const declaredFields = declared(entity, fields, all)
        try {
          await importStaged(
            async staging => staging.declare(fields.map(one => one.name)),
            entities,
            {
              ...{ name, key: entity.key, read: rule, replaces: null, event: commandEvent('entity.import') },
              types: new Map(fields.map(one => [one.name, one.type])),
              declare: descriptionOf({ declaredFields, ...(description !== undefined && { description }) }),
            },
            () => {},
          )
        } catch (error) {
          if (error instanceof VersionReplaced)
            throw new Failure(`there is an entity ${name} by now`, { cause: error })
          throw error
        }
        sayResult(
          json,
          { name, key: entity.key, read: rule, fields: entity.fields },
          `${name} is there, without records. \`carrel entity writers ${name} <rule>\` opens it for writing.`,
        )
      })
    })

/** `carrel entity fields`: changes fields with all records, or nothing (EA13). */
export const fieldsCommand = (): Command =>
  new Command('fields')
    .argument('<name>', 'an imported entity')
    .description('Add, remove and rename fields of an entity, and change their types, with all its records.')
    .option(
      '--add <definition...>',
      'name:type, and a default for the records that are there: state:text:default=kept',
    )
    .option('--remove <field...>', 'fields that go, with their values')
    .option('--rename <pair...>', 'old=new')
    .option('--type <pair...>', 'field=type')
    .option('--preview', 'change nothing, and say which values can’t have their new type')
    .option(...jsonOption)
    .action(
      (
        name: string,
        { add = [], remove = [], rename = [], type = [], preview = false, json }: FieldsOptions,
      ) => {
        const change: Reshaping = {
          add: add.map(fieldIn).map(one => {
            const { default: value, ...others } = one.change
            if (Object.keys(others).length > 0)
              throw new Misuse(
                '--add takes name, type and default; declare the rest with `carrel entity field`',
              )
            return {
              name: one.name,
              type: one.type,
              ...(value !== undefined && { default: value as PlainValue }),
            }
          }),
          remove,
          rename: Object.fromEntries(rename.map(pairIn)),
          types: Object.fromEntries(
            type.map(pairIn).map(([field, to]) => {
              if (!fieldTypes.includes(to as FieldType))
                throw new Misuse(
                  `--type takes ${fieldTypes.join(', ')}, not ${JSON.stringify(to.slice(0, 100))}`,
                )
              return [field, to as FieldType]
            }),
          ),
        }
        if (add.length + remove.length + rename.length + type.length === 0)
          throw new Misuse('say what is to be changed: --add, --remove, --rename or --type')
        return withStore(async ({ entities }) => {
          const event = commandEvent('entity.change')
          const done = await reshape(entities, { name, change, isPreview: preview, event }, () => {})
          const misfits = done.misfits.map(
            ({ field, count, examples, values }) =>
              `${count.toLocaleString('en')} values of ${field} can't have the new type, in the records ${examples.map((key, at) => `${key} (${values[at]})`).join(', ')}`,
          )
          sayResult(
            json,
            done,
            preview
              ? misfits.join('\n') || 'All values fit.'
              : `${name} has ${done.fields} fields now, in ${done.records.toLocaleString('en')} records.`,
          )
        })
      },
    )

interface FieldsOptions extends Json {
  readonly add?: readonly string[]
  readonly remove?: readonly string[]
  readonly rename?: readonly string[]
  readonly type?: readonly string[]
  readonly preview?: boolean
}

function pairIn(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1)
    throw new Misuse(`${JSON.stringify(text.slice(0, 100))} is no pair such as old=new`)
  return [text.slice(0, at), text.slice(at + 1)]
}

function declared(entity: Entity, fields: readonly NewField[], all: ReadonlyMap<string, Entity>) {
  try {
    return declarationsAfter(entity, new Map(fields.map(one => [one.name, one.change])), all)
  } catch (error) {
    if (!(error instanceof DeclarationRefused)) throw error
    throw new Failure(error.message, { cause: error })
  }
}

/** Reads `state:text:required:one-of=new|old:default=new`. */
function fieldIn(text: string): NewField {
  const [name = '', type = 'text', ...declarations] = text.split(':')
  if (name === '' || !fieldTypes.includes(type as FieldType))
    throw new Misuse(
      `--field takes name:type, such as year:integer, not ${JSON.stringify(text.slice(0, 100))}; types are ${fieldTypes.join(', ')}`,
    )
  const own = { type: type as FieldType }
  const change: Record<string, unknown> = {}
  for (const declaration of declarations) {
    const [member = '', ...rest] = declaration.split('=')
    const value = rest.join('=')
    if (member === 'required' || member === 'unique') change[member] = true
    else if (member === 'default') change.default = typedValue(value, own)
    else if (member === 'one-of') change.oneOf = value.split('|').map(one => typedValue(one, own))
    else if (['label', 'unit', 'format', 'references'].includes(member)) change[member] = value
    else
      throw new Misuse(
        `--field knows no ${JSON.stringify(member.slice(0, 100))}; there are required, unique, default=, one-of=, label=, unit=, format= and references=`,
      )
  }
  return { name, ...own, change }
}
