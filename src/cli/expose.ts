import { Command } from 'commander'
import { checkName } from '../entities/import-entity.ts'
import { suggestedRelations } from '../entities/routes/entity-body.ts'
import type { Entities } from '../storage/entities.ts'
import type { ForeignKey } from '../storage/exposing.ts'
import { addRelation, described } from './entity-relations.ts'
import { Failure, Misuse } from './failures.ts'
import { sayResult, tableOf } from './output.ts'
import { entityReadOption, entityRule } from './read-rule.ts'
import { commandEvent, withStore } from './store.ts'

interface Options {
  readonly entity: string
  readonly key?: string
  readonly read?: string
  readonly fields?: string
  readonly relate?: boolean
  readonly json?: boolean
}

/** `carrel expose`: makes an existing table or view a read-only entity. */
export function exposeCommand(): Command {
  return new Command('expose')
    .argument('<table>', 'a table or view of the PostgreSQL database, with its schema: public.artworks')
    .description('Make a table or view of the PostgreSQL database a read-only entity. Nothing is copied.')
    .requiredOption('--entity <name>', 'the entity: a-z, 0-9, _ and -')
    .option(
      '--key <columns>',
      'the columns that identify a row, separated by commas (default: the primary key)',
    )
    .option('--fields <columns>', 'the columns to show, separated by commas (default: all)')
    .option(...entityReadOption)
    .option('--relate', 'declare the relations to other exposed tables that its foreign keys suggest')
    .option('--json', 'print the entity as JSON')
    .action((name: string, options: Options) =>
      withStore(async ({ people, entities }) => {
        checkName(options.entity)
        const [schema, ofSchema] = splitName(name)
        const read = await entityRule(options.read, people)
        if (entities.expose === undefined)
          throw new Failure(
            'the embedded store has no tables to expose; set CARREL_DATABASE_URL to a PostgreSQL database',
          )
        const exposed = await entities.expose(
          {
            name: options.entity,
            schema,
            table: ofSchema,
            key: columnsOf(options.key),
            read,
            fields: columnsOf(options.fields),
          },
          commandEvent('entity.expose'),
        )
        const keys = await relateByForeignKeys(entities, exposed.name, options.relate === true)
        const { source: _, ...shown } = exposed
        const columns = tableOf(exposed.fields, {
          FIELD: one => one.name,
          TYPE: one => one.type,
          NULLABLE: one => (one.nullable ? 'yes' : 'no'),
          SORTABLE: one => (one.sortable === false ? 'no' : 'yes'),
        })
        const sentence = `${schema}.${ofSchema} can be read as ${exposed.name}, by ${exposed.read}, in the order of ${[exposed.key].flat().join(', ')}.`
        sayResult(
          options.json,
          { ...shown, ...keys },
          `${columns}\n\n${[sentence, ...inWords(keys)].join('\n')}`,
        )
      }),
    )
}

const columnsOf = (text: string | undefined): readonly string[] | null =>
  text
    ?.split(',')
    .map(column => column.trim())
    .filter(column => column !== '') ?? null

/** Splits `table` or `schema.table`; a name with a dot or a quote is in double quotes (SQL's own rule). */
function splitName(text: string): readonly [schema: string, table: string] {
  const part = '("(?:[^"]|"")+"|[^".]+)'
  const [, first, second] = new RegExp(`^${part}(?:\\.${part})?$`).exec(text) ?? []
  if (first === undefined)
    throw new Misuse(`${JSON.stringify(text)} is not the name of a table; write schema.table`)
  const bare = (name: string) => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name)
  return second === undefined ? ['public', bare(first)] : [bare(first), bare(second)]
}

/** Relations that the foreign keys of an exposed table suggest. */
interface Suggested {
  /** Relations that were declared now. */
  readonly related: readonly ForeignKey[]
  /** Relations that are left to the operator. */
  readonly suggested: readonly ForeignKey[]
}

/**
 * Finds the relations that the foreign keys of an exposed table suggest, to entities that it isn't related to
 * yet.
 * @param take true to declare them, unless there is a choice between several
 */
async function relateByForeignKeys(entities: Entities, name: string, take: boolean): Promise<Suggested> {
  const keys = await suggestedRelations(entities, name)
  const related: ForeignKey[] = []
  for (const key of keys)
    if (take && keys.filter(other => pairOf(other) === pairOf(key)).length === 1) {
      await addRelation(entities, { ...key, isNew: true })
      related.push(key)
    }
  return { related, suggested: keys.filter(key => !related.includes(key)) }
}

/** Names the two entities, in the same way for both directions. */
const pairOf = ({ entity, to }: ForeignKey) => [entity, to.entity].toSorted().join(' ')

const inWords = ({ related, suggested }: Suggested): readonly string[] => [
  ...related.map(key => `Related by a foreign key: ${described(key)}.`),
  ...suggested.map(key => {
    const { entity, fields, to } = key
    const command = [argument(entity, fields), argument(to.entity, to.fields)]
    return command.includes(undefined)
      ? `A foreign key suggests a relation, which --relate declares: ${described(key)}`
      : `A foreign key suggests a relation: carrel entity relate ${command.join(' ')}`
  }),
]

/** Writes fields as a shell takes them; undefined if a comma is part of a name. */
function argument(entity: string, fields: readonly string[]): string | undefined {
  if (fields.length > 1 && fields.some(field => field.includes(','))) return undefined
  const text = `${entity}.${fields.join(',')}`
  return /^[\w.,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
