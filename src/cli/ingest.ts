import { basename, resolve } from 'node:path'
import { Command } from 'commander'
import { unlisted } from '../admin/processes/processes.ts'
import { openFiles } from '../files/open-files.ts'
import { OtherStore } from '../files/owner.ts'
import { countsOf, type IngestReport, ingest } from '../items/ingest/ingest.ts'
import { BadItem } from '../items/ingest/item.ts'
import { openItems, requireItems } from '../items/ingest/open-items.ts'
import { parseDay, shellWord } from '../items/ingest/readers.ts'
import { describeReaders, epersonOf, groupRuleForms, type Readers } from '../model/readers.ts'
import type { People } from '../people/statements.ts'
import { Misuse } from './failures.ts'
import { givenPath } from './given-path.ts'
import { asProcess, type Listed, withProgress } from './long-work.ts'
import { printable, sayResult } from './output.ts'
import { parseReadRule, readRule } from './read-rule.ts'
import { commandEvent, withStoreOrNew } from './store.ts'

interface Options {
  readonly name?: string
  readonly read?: string
  readonly from?: string
  readonly until?: string
  readonly addOnly?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** `carrel ingest`: items and their files from a folder. */
export function ingestCommand(): Command {
  return new Command('ingest')
    .argument('<folder>', "DSpace's item folders (Simple Archive Format), or a folder with manifest.csv")
    .description(
      'Add items with their files, and change existing ones. Repeat an interrupted run to continue it.',
    )
    .option(
      '--read <who>',
      `who may read items that don't say so: ${groupRuleForms}; without it, existing items keep ` +
        'their readers and new ones are for administrators only',
    )
    .option('--from <day>', 'the first day of --read (YYYY-MM-DD, UTC), such as the end of an embargo')
    .option('--until <day>', 'the last day of --read')
    .option(
      '--name <name>',
      'what the source is called: with it begin the identifiers of items without a handle, and items that are there by ' +
        'these identifiers are changed; default: the name of the folder, which changes items from the same folder only',
    )
    .option('--add-only', 'change no existing item; one that would be changed is reported as bad')
    .option('--dry-run', 'check everything and report what would happen, but write nothing')
    .option('--json', 'print the report as JSON')
    .action((folder: string, options: Options) => run(folder, options))
}

async function run(folder: string, options: Options): Promise<void> {
  if (options.read !== undefined) parseSourceRule(options.read)
  const path = givenPath(folder)
  requireItems(path)
  await withStoreOrNew(async (storage, config) => {
    const { people, repository } = storage
    const files = await openFiles(config.files, repository)
    const read = await readersOf(options, people)
    const groups = new Set((await people.listGroups()).map(({ name }) => name))
    const naming = { name: nameOf(options, path), isGiven: options.name !== undefined, isKept: true }
    const dryRun = options.dryRun ?? false
    const report = await withProgress(async shown => {
      const items = await openItems(path, { groups, naming })
      const work = async ({ log, signal, progress }: Listed) => {
        // The folder is claimed before anything is added, so that leftovers of a killed run belong to this
        // store, too.
        const isOwn = dryRun || (await files.claim())
        const note = (line: string) => {
          log(line)
          shown.note(printable(`carrel: ${line}`))
        }
        const report = await ingest(items, {
          repository,
          files,
          read,
          hidden: config.hiddenMetadata,
          event: commandEvent('item.add'),
          dryRun,
          addOnly: options.addOnly ?? false,
          note,
          nameIs: name => `--name ${shellWord(name)}`,
          failed: ({ item, reason }) => note(`${item}: ${reason}`),
          progress: share => {
            signal.throwIfAborted()
            progress('ingesting', share)
          },
        })
        if (!isOwn) shown.note(`carrel: ${new OtherStore(files.place).message}`)
        else if (!report.dryRun) await files.sweep(share => shown.update('cleaning', share))
        return report
      }
      // A dry run writes nothing, not even that it ran.
      return dryRun
        ? work({ ...unlisted(), progress: shown.update })
        : asProcess(storage, { kind: 'ingest', parameters: { folder } }, shown, work, countsOf)
    })
    sayResult(options.json, report, describe(report))
    if (report.failed > 0) process.exitCode = 1
  })
}

function nameOf({ name }: Options, path: string): string {
  if (name === undefined) return basename(resolve(path))
  if (name.trim() === '') throw new Misuse('--name is empty; it takes what the source is called')
  return name.trim()
}

/** @throws Misuse for a rule with days, or for one eperson: a source is ingested again after people have gone */
function parseSourceRule(read: string): void {
  if (/\s(from|until):/.test(read))
    throw new Misuse('--read takes who may read; put days into --from and --until')
  if (epersonOf(parseReadRule(read, '--read', groupRuleForms)) !== undefined)
    throw new Misuse(
      '--read takes no single eperson; let them read an item when it is there, with `carrel item access`',
    )
}

/** @returns null without --read */
async function readersOf({ read, from, until }: Options, people: People): Promise<Readers | null> {
  if (read === undefined) {
    if (from !== undefined || until !== undefined)
      throw new Misuse('--from and --until need --read, such as --read anonymous')
    return null
  }
  const reader = await readRule(read, people)
  if (reader === 'admin') {
    if (from !== undefined || until !== undefined)
      throw new Misuse(
        '--from and --until limit who else may read; use them with --read anonymous, eperson or group:<name>',
      )
    return []
  }
  const days = { ...day('from', from), ...day('until', until) }
  if (from !== undefined && until !== undefined && from > until)
    throw new Misuse('--until must not be before --from')
  return [{ reader, ...days }]
}

function day(name: 'from' | 'until', text: string | undefined): { from?: string; until?: string } {
  if (text === undefined) return {}
  try {
    return { [name]: parseDay(text) }
  } catch (error) {
    throw error instanceof BadItem ? new Misuse(`--${name}: ${error.message}`) : error
  }
}

/** Counts the items by the origin of their readers. */
function describeAccess({ access, read }: IngestReport): string[] {
  const parts = [
    [access.kept, 'kept'],
    [access.source, 'from the source'],
    [access.read, `${describeReaders(read ?? [])} (--read)`],
    [access.default, 'admin (the default; change it with --read or `carrel item access`)'],
  ] as const
  const counted = parts.filter(([number]) => number > 0)
  if (counted.length === 0) return []
  return [`Readers: ${counted.map(([number, rule]) => `${number.toLocaleString('en')} ${rule}`).join(', ')}.`]
}

function describe(report: IngestReport): string {
  const { added, changed, unchanged, failed, additions, changes, dryRun, milliseconds } = report
  const count = (number: number) => number.toLocaleString('en')
  const counts = `${count(added)} added, ${count(changed)} changed, ${count(unchanged)} unchanged, ${count(failed)} failed`
  if (dryRun) {
    const lines = (
      [
        ['add', added, additions],
        ['change', changed, changes],
      ] as const
    ).flatMap(([does, all, named]) => [
      ...named.map(one => `It would ${does} ${printable(one)}`),
      ...(all > named.length ? [`… and ${count(all - named.length)} more`] : []),
    ])
    return [...lines, ...describeAccess(report), `It would be: ${counts}. Nothing was written.`].join('\n')
  }
  const seconds = milliseconds / 1000
  const rate = Math.round((added + changed) / Math.max(seconds, 0.001))
  const rateShown = added + changed >= 100 ? ` (${count(rate)} items/s)` : ''
  return [...describeAccess(report), `${counts}, in ${seconds.toFixed(1)} s${rateShown}.`].join('\n')
}
