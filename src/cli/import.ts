import { Command, InvalidArgumentError } from 'commander'
import type { ChangeKind } from '../entities/change-plan.ts'
import { type ImportReport, importFile } from '../entities/import-entity.ts'
import * as options from '../entities/import-options.ts'
import { bothDecimals } from '../entities/import-options.ts'
import { lossInWords } from '../entities/loss.ts'
import { preview } from '../entities/preview.ts'
import { chooseRecipe, keptBy, optionsOf } from '../entities/recipe.ts'
import { type ReviseReport, reviseFile } from '../entities/revision.ts'
import type { Delimiter } from '../import/delimiters.ts'
import type { Encoding } from '../import/encodings.ts'
import { RefusedImport } from '../import/faults.ts'
import { requireFile } from '../import/open-file.ts'
import type { HowRead } from '../import/reading-options.ts'
import { Interrupted } from '../lib/errors.ts'
import type { Entity, FieldType, ReadRule } from '../model/entities.ts'
import type { FileReading, Recipe } from '../model/recipes.ts'
import type { Entities } from '../storage/entities.ts'
import { Misuse } from './failures.ts'
import { givenPath } from './given-path.ts'
import { describe, describeChanges, describePreview, wayOf } from './import-report.ts'
import { asProcess, type Listed, type ShownProgress, showProgress } from './long-work.ts'
import { sayResult } from './output.ts'
import { entityReadOption, entityRule, parseReadRule } from './read-rule.ts'
import { recipeOfFile } from './recipe.ts'
import { commandEvent, withStoreOrNew } from './store.ts'

interface Options extends FileReading {
  readonly entity: string
  readonly key?: readonly string[]
  readonly update?: boolean
  readonly delete?: boolean
  readonly replace?: boolean
  readonly read?: string
  readonly type?: ReadonlyMap<string, FieldType>
  readonly collation?: ReadonlyMap<string, string>
  readonly delimiter?: Delimiter
  readonly encoding?: Encoding
  readonly recipe?: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** `carrel import`: replaces the records of an entity with those of a file, or changes some of them (D2). */
export function importCommand(): Command {
  return new Command('import')
    .argument('<file>', 'NDJSON, a JSON array or CSV, gzip or not; - for standard input')
    .description(
      "Replace an entity's records with those of a file, or change some of them, whole or not at all.",
    )
    .requiredOption('--entity <name>', 'the entity: a-z, 0-9, _ and -')
    .option(
      '--key <fields>',
      'the field that identifies a record, or several, separated by commas (required without --update and --delete); _row numbers the records of a file that has none',
      addKey,
    )
    .option('--update', 'insert these records, or replace those that have the same key; keep all others')
    .option('--delete', 'delete the records that have the key of one of these; keep all others')
    .option(
      '--replace',
      'replace the records also where more than a tenth of them goes, or any field; without it, such an import is refused',
    )
    .option(
      '--type <field=type>',
      'the type of a field: text, integer, number, boolean, date-time or json; can be repeated (default: found from its values)',
      addType,
    )
    .option(
      '--collation <field=language>',
      'sort the text of a field as this language does (und: none in particular); can be repeated (default: by code point)',
      addCollation,
    )
    .option(
      '--delimiter <character>',
      'between the cells of a table: comma, semicolon, tab or pipe (default: as its header and first rows look)',
      readDelimiter,
    )
    .option(
      '--quote <how>',
      'double: cells may be in double quotes; none: quotes are text (default: double, unless a table with tabs looks otherwise)',
      readQuote,
    )
    .option('--short-rows', 'take cells that are missing at the end of a row as empty')
    .option(
      '--encoding <name>',
      'the encoding of the file, such as windows-1252 (default: UTF-8, or UTF-16 where its first bytes say so)',
      readEncoding,
    )
    .option('--decimal-comma', 'read columns of numbers such as 1.234,5 or 1 234,5 as numbers')
    .option('--decimal-point', 'read columns of numbers such as 1,234.5, $1,234.50 or (5) as numbers')
    .option('--day-first', 'read columns of dates such as 31.12.2024 as 2024-12-31')
    .option(
      '--recipe <file>',
      'a recipe that says how the file is read, kept with the entity for its next imports (default: the one that it has, unless options say how the file is read)',
    )
    .option(
      '--dry-run',
      'say what the import would change and why fields have their types, and change nothing',
    )
    .option(...entityReadOption)
    .option('--json', 'print the report as JSON')
    .action((file: string, options: Options) => {
      if (options.read !== undefined) parseReadRule(options.read)
      if (options.decimalComma && options.decimalPoint) throw new Misuse(bothDecimals)
      const kind = options.delete ? 'delete' : options.update ? 'update' : undefined
      if (kind !== undefined) checkChangeOptions(options)
      return run(file, options, kind)
    })
}

function checkChangeOptions(options: Options): void {
  if (options.update && options.delete)
    throw new Misuse('--update and --delete are two commands: each takes a file of its own')
  if (options.type || options.collation)
    throw new Misuse(
      '--type and --collation are for importing all records: an update keeps the types and collations that there are',
    )
  if (options.replace)
    throw new Misuse(
      '--replace is for importing all records: --update and --delete change those that the file names, and no others',
    )
}

/** @param kind undefined if the file has all records */
async function run(file: string, options: Options, kind?: ChangeKind): Promise<void> {
  if (file !== '-') await requireFile(givenPath(file))
  const given = options.recipe === undefined ? undefined : recipeOfFile(options.recipe)
  return withStoreOrNew(async (storage, { keptVersions }) => {
    const { people, entities } = storage
    const interruption = new AbortController()
    const interrupt = () => interruption.abort(new Interrupted('interrupted; nothing was imported'))
    // A second signal ends the process at once.
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
    const read = await entityRule(options.read, people)
    const shown = showProgress()
    try {
      const before = (await entities.all()).get(options.entity)
      const asked = { ...choose(options, kind, given, before), file, options, read, before }
      if (asked.chosen.isKept) shown.note(`${options.entity} has a recipe, by which the file is read.`)
      if (options.dryRun) return await tryOut(asked, entities, shown, interruption.signal)
      const parameters = { entity: options.entity, file, ...(kind && { kind }) }
      const report = await asProcess(
        storage,
        { kind: 'import', parameters },
        shown,
        listed =>
          importAsked(asked, entities, {
            signal: AbortSignal.any([interruption.signal, listed.signal]),
            progress: listed.progress,
            log: line => {
              listed.log(line)
              shown.note(line)
            },
          }),
        countsOf,
      )
      shown.done()
      const versions = `\n\`carrel entity versions ${options.entity}\` lists the versions that can be restored.`
      sayResult(
        options.json,
        report,
        ('inserted' in report ? describeChanges(report) : describe(report)) +
          (keptVersions.days > 0 && hasReplaced(report) ? versions : ''),
      )
    } finally {
      shown.stop()
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    }
  })
}

interface Asked extends ReturnType<typeof choose> {
  readonly file: string
  readonly options: Options
  readonly read: ReadRule | null
  readonly before: Entity | undefined
}

/** Chooses the recipe and the key. @throws Misuse if the file has all records and no key is known */
function choose(
  options: Options,
  kind: ChangeKind | undefined,
  given: Recipe | undefined,
  before: Entity | undefined,
) {
  const chosen = chooseRecipe(given, flagsOf(options), before?.recipe)
  const kept = chosen.recipe.key ?? (chosen.isKept ? [keyOf(before)].flat() : undefined)
  const keys = options.key ?? (kind === undefined || given ? kept : undefined)
  if (kind === undefined && keys === undefined)
    throw new Misuse(
      '--key is missing: it names the field that identifies a record, or several; --key _row numbers the records of a file that has none',
    )
  const [first, ...more] = keys ?? []
  const key = first !== undefined && more.length === 0 ? first : (keys ?? [])
  return { chosen, kind, keys, key }
}

const pathOf = (file: string) => (file === '-' ? file : givenPath(file))

/** Reads the file and says what an import would change, which changes nothing. */
async function tryOut(
  { chosen, kind, keys, key, file, options, before }: Asked,
  entities: Entities,
  shown: ShownProgress,
  signal: AbortSignal,
): Promise<void> {
  if (file === '-' && kind !== undefined)
    throw new Misuse('--dry-run reads changes twice: give a file instead of -')
  const found = await preview(
    pathOf(file),
    entities,
    {
      name: options.entity,
      ...optionsOf(chosen),
      signal,
      ...(kind === undefined ? { key } : { kind, key: keys ? key : keyOf(before) }),
    },
    shown.update,
  )
  if (found.faults.length === 0) shown.done()
  shown.stop()
  sayResult(options.json, found, describePreview(found))
  if (found.faults.length > 0)
    throw new RefusedImport({ faults: found.faults, more: found.moreFaults, isCut: false })
}

function importAsked(
  { chosen, kind, keys, key, file, options, read }: Asked,
  entities: Entities,
  { signal, log, progress }: Listed,
): Promise<(ImportReport & HowRead) | ReviseReport> {
  const { types, collations, reading } = optionsOf(chosen)
  const event = commandEvent(kind === undefined ? 'entity.import' : 'entity.update')
  const common = { name: options.entity, read, reading, signal, event }
  if (kind !== undefined)
    return reviseFile(pathOf(file), entities, { ...common, kind, ...(keys && { key }) }, progress)
  return importFile(
    pathOf(file),
    entities,
    {
      ...common,
      key,
      types,
      collations,
      replace: options.replace ?? false,
      losing: loss => log(`${lossInWords(options.entity, loss)}.`),
      ...keptBy(chosen),
    },
    progress,
  )
}

const keyOf = (entity: Entity | undefined): Entity['key'] => entity?.key ?? []

/** True if there was a version before, and it may be another one. */
const hasReplaced = (report: ImportReport | ReviseReport) =>
  'inserted' in report ? report.inserted + report.replaced + report.deleted > 0 : report.loss !== undefined

/** Counts that the list of processes shows. */
const countsOf = (report: (ImportReport & HowRead) | ReviseReport) =>
  'inserted' in report
    ? {
        entity: report.entity,
        records: report.records,
        inserted: report.inserted,
        replaced: report.replaced,
        deleted: report.deleted,
        unchanged: report.unchanged,
      }
    : { entity: report.entity, records: report.records, ...wayOf(report) }

const flagsOf = ({ type, collation, delimiter, encoding, quote, shortRows, ...others }: Options) => {
  const { decimalComma, decimalPoint, dayFirst } = others
  const file = { delimiter, encoding, quote, shortRows, decimalComma, decimalPoint, dayFirst }
  return { types: type, collations: collation, file }
}

/** The options of `carrel import` whose values are checked. Commander passes in what was parsed so far. */

const forCommander =
  <T>(add: (text: string, known?: T) => T) =>
  (text: string, known?: T): T => {
    try {
      return add(text, known)
    } catch (error) {
      if (error instanceof options.OptionFault) throw new InvalidArgumentError(error.message)
      throw error
    }
  }

const addKey = forCommander(options.addKey)
const addType = forCommander(options.addType)
const addCollation = forCommander(options.addCollation)
const readDelimiter = forCommander(options.readDelimiter)
const readEncoding = forCommander(options.readEncoding)
const readQuote = forCommander(options.readQuote)
