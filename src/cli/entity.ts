import { Command } from 'commander'
import { reservedEntities } from '../model/built-in-entities.ts'
import { declarationMembers, describedFields } from '../model/declared-fields.ts'
import type { Entity, WriteRule } from '../model/entities.ts'
import { ruleForms } from '../model/readers.ts'
import { relationsOf } from '../model/relations.ts'
import { defaultConditionOf } from '../query/check/check.ts'
import { QueryError } from '../query/language/node.ts'
import { applyCommand } from './entity-apply.ts'
import { relateCommand, unrelateCommand } from './entity-relations.ts'
import { restoreCommand, versionsCommand } from './entity-versions.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, printable, sayResult, sayTable, table } from './output.ts'
import { parseReadRule, readRule } from './read-rule.ts'
import { recipeCommand } from './recipe.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel entity …`: the entities that can be queried. */
export function entityCommand(): Command {
  const command = new Command('entity').description(
    'List and show entities, make and describe them, change who may read and write them, relate them, restore versions, and drop them.',
  )

  command
    .command('list')
    .description('List all entities: built in, imported and exposed.')
    .option('--json', 'print JSON, with the fields')
    .action(list)

  command
    .command('show <name>')
    .description('Show an entity: its fields, who may read and write it, and how it is related.')
    .option(...jsonOption)
    .action(show)

  command
    .command('access <name> <rule>')
    .description(`Change who may read an imported or exposed entity: ${ruleForms}.`)
    .option(...jsonOption)
    .action(setReaders)

  command.addCommand(writersCommand())
  command.addCommand(relateCommand())
  command.addCommand(unrelateCommand())
  command.addCommand(defaultCommand())
  command.addCommand(recipeCommand())
  command.addCommand(applyCommand())
  command.addCommand(versionsCommand())
  command.addCommand(restoreCommand())

  command
    .command('drop <name>')
    .description('Drop an imported entity with its records, or stop exposing a table (the table stays).')
    .option(...jsonOption)
    .action(drop)
  return command
}

const list = ({ json }: Json): Promise<void> =>
  withStore(async ({ entities }) => {
    const all = await entities.all()
    const found = [...all.values()].map(entity => shown(entity, all))
    sayTable(json, found, {
      ENTITY: one => one.name,
      KEY: one => [one.key].flat().join(', '),
      READ: one => one.read,
      WRITE: one => one.write ?? '',
      FIELDS: one => one.fields.length,
      RECORDS: one => one.records ?? one.table ?? '(built in)',
      'RELATED TO': one => one.relations.map(({ to }) => to.entity).join(', '),
      'DEFAULT CONDITION': one => one.defaultCondition ?? '',
    })
  })

const show = (name: string, { json }: Json): Promise<void> =>
  withStore(async ({ entities }) => {
    const all = await entities.all()
    const entity = all.get(name)
    if (!entity) throw new Failure(`there is no entity ${name}; \`carrel entity list\` shows all entities`)
    const one = shown(entity, all)
    sayResult(json, one, inLines(one))
  })

function setReaders(name: string, rule: string, { json }: Json): Promise<void> {
  parseReadRule(rule, '<rule>')
  return withStore(async ({ people, entities }) => {
    if (reservedEntities.has(name))
      throw new Failure(`${name} is built in; only imported and exposed entities have a rule to change`)
    const read = await readRule(rule, people)
    if (!(await entities.changeReadRule(name, read, commandEvent('entity.access')))) throw unknown(name)
    sayResult(json, { name, read }, `${name} can now be read by ${read}.`)
  })
}

const drop = (name: string, { json }: Json): Promise<void> =>
  withStore(async ({ entities }) => {
    if (!(await entities.drop(name, commandEvent('entity.drop')))) throw unknown(name)
    sayResult(json, { name, dropped: true }, `Dropped ${name}.`)
  })

const shown = (entity: Entity, all: ReadonlyMap<string, Entity>) => ({
  name: entity.name,
  key: entity.key,
  read: entity.read,
  write: entity.write ?? null,
  records: entity.source.kind === 'records' ? entity.source.count : null,
  table: entity.source.kind === 'exposed' ? `${entity.source.schema}.${entity.source.table}` : null,
  description: entity.description ?? null,
  fields: describedFields(entity),
  relations: relationsOf(entity, all),
  defaultCondition: entity.defaultCondition ?? null,
  recipe: entity.recipe ?? null,
})

function inLines(one: ReturnType<typeof shown>): string {
  const { name, key, read, write, records, relations, defaultCondition } = one
  const related = relations.map(
    ({ fields, to }) => `${fields.join(', ')} → ${to.entity}.${to.fields.join(', ')}`,
  )
  const facts = [
    ['Entity', name],
    ...(one.description === null ? [] : [['Description', one.description]]),
    ['Key', [key].flat().join(', ')],
    ['Read by', read],
    ['Written by', write ?? nobody],
    ['Records', String(records ?? one.table ?? '(built in)')],
    ...(related.length > 0 ? [['Related', related.join('; ')]] : []),
    ...(defaultCondition === null ? [] : [['Default condition', defaultCondition]]),
    ...(one.recipe === null ? [] : [['Imported by the recipe', JSON.stringify(one.recipe)]]),
  ]
  const fields = one.fields.map(field => [
    field.name,
    field.type,
    field.nullable ? 'may be empty' : '',
    field.collation ?? '',
    declarationMembers
      .filter(member => field[member] !== undefined)
      .map(member => (field[member] === true ? member : `${member}: ${shortened(field[member])}`))
      .join('; '),
  ])
  return `${facts.map(([what, value = '']) => `${what}: ${printable(value)}`).join('\n')}\n\n${table(['FIELD', 'TYPE', '', 'SORTED AS', 'DECLARED'], fields)}`
}

/** Maximum number of characters of a declared value in a table. */
const maxShown = 60

function shortened(value: unknown): string {
  const text = Array.isArray(value) ? value.join(', ') : String(value)
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}

const unknown = (name: string) =>
  new Failure(`there is no imported or exposed entity ${name}; \`carrel entity list\` shows all entities`)

const nobody = 'nobody'
const writeRuleForms = ruleForms.replace('anonymous', nobody)

/** `carrel entity writers`: who may write single records (R2). */
const writersCommand = (): Command =>
  new Command('writers')
    .argument('<name>')
    .argument('<rule>')
    .description(`Change who may write single records of an imported entity: ${writeRuleForms}.`)
    .option(...jsonOption)
    .action((name: string, rule: string, { json }: Json) => {
      if (rule !== nobody) parseWriteRule(rule)
      return withStore(async ({ people, entities }) => {
        if (reservedEntities.has(name))
          throw new Failure(`${name} is built in; only records of imported entities can be written`)
        const write = rule === nobody ? null : ((await readRule(rule, people)) as WriteRule)
        const known = (await entities.all()).get(name)
        if (known?.source.kind === 'exposed')
          throw new Failure(`${name} shows a table of the database; write to it there`)
        if (!(await entities.changeWriteRule(name, write, commandEvent('entity.writers'))))
          throw new Failure(`there is no imported entity ${name}; \`carrel entity list\` shows all entities`)
        const who = write === null ? nobody : write
        sayResult(json, { name, write }, `Records of ${name} can now be written by ${who}.`)
      })
    })

/** @throws Misuse if it is no write rule */
function parseWriteRule(rule: string): WriteRule {
  const parsed = parseReadRule(rule, '<rule>')
  if (parsed === 'anonymous')
    throw new Misuse(`<rule> takes ${writeRuleForms}: records are written by epersons`)
  return parsed
}

interface Options extends Json {
  readonly none?: boolean
}

/**
 * `carrel entity default`: a condition for every query that mentions none of the condition's fields (Q25).
 */
const defaultCommand = (): Command =>
  new Command('default')
    .argument('<name>', 'an imported or exposed entity')
    .argument('[condition]', 'in PQL, such as \'node_state = "active"\', or as an AST')
    .description('Set the condition that queries of an entity get, unless they mention one of its fields.')
    .option('--none', 'take the condition back')
    .option(...jsonOption)
    .action((name: string, text: string | undefined, { none = false, json }: Options) => {
      if (none === (text !== undefined)) throw new Misuse('give a condition, or --none')
      return withStore(async ({ entities }) => {
        if (reservedEntities.has(name))
          throw new Failure(
            `${name} is built in; only imported and exposed entities have a default condition`,
          )
        const entity = (await entities.all()).get(name)
        const defaultCondition = text === undefined || !entity ? null : conditionOf(text, entity)
        const isKnown =
          entity && (await entities.describe(name, { defaultCondition }, commandEvent('entity.default')))
        if (!isKnown) throw unknown(name)
        sayResult(
          json,
          { name, defaultCondition },
          defaultCondition === null
            ? `Queries of ${name} have no default condition.`
            : `Queries of ${name} get the condition ${defaultCondition}, unless they mention one of its fields.`,
        )
      })
    })

/**
 * Reads a condition for queries of this entity.
 * @returns its AST
 * @throws Failure that says what is wrong with it
 */
function conditionOf(text: string, entity: Entity): string {
  try {
    return defaultConditionOf(text, entity)
  } catch (error) {
    if (error instanceof QueryError)
      throw new Failure(`the condition can't be that of ${entity.name}. ${error.message}`, { cause: error })
    throw error
  }
}
