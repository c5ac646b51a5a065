import { once } from 'node:events'
import { Argument, Command } from 'commander'
import { BadItem, checkReaders } from '../items/ingest/item.ts'
import { parseReaders, UnknownGroup } from '../items/ingest/readers.ts'
import type { Repository } from '../items/statements/repository.ts'
import type { AccessChange, Bitstream, Item, ListedItem } from '../model/items.ts'
import { describeReaders, epersonOf, type ReaderRule, type Readers, ruleForms } from '../model/readers.ts'
import type { People } from '../people/statements.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, printable, say, sayResult, table, tableOf } from './output.ts'
import { readRule } from './read-rule.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel item …`: items in the repository. */
export function itemCommand(): Command {
  const command = new Command('item').description(
    'List, show, withdraw and delete items, and change who may read them.',
  )

  command
    .command('list')
    .description('List items by identifier, with title, number of files and readers.')
    .option('--limit <number>', 'list at most this many items (default: all)')
    .option('--json', 'print a JSON array')
    .action(({ limit, json }: Json & { limit?: string }) =>
      withStore(({ repository }) => list(repository, readLimit(limit), json ?? false)),
    )

  command
    .command('show <identifier>')
    .description('Show an item, who may read it, and its files.')
    .option('--json', 'print JSON')
    .action((identifier: string, { json }: Json) =>
      withStore(({ repository }) => show(repository, identifier, json)),
    )

  command
    .command('access <identifier> <rule...>')
    .description('Change who may read an item, and those of its files that had the same readers.')
    .option('--file <bundle/name>', 'change only this file, such as ORIGINAL/scan.pdf')
    .option('--json', 'print the item as JSON')
    .addHelpText(
      'after',
      `\nA rule is ${ruleForms}, optionally followed by from:YYYY-MM-DD and until:YYYY-MM-DD. One rule that holds is enough.`,
    )
    .action((identifier: string, rules: string[], { file, json }: Json & { file?: string }) =>
      withStore(async ({ people, repository }) => {
        const readers = await readRules(rules, people)
        const item = await find(repository, identifier)
        const change = { identifier: item.identifier, file: fileOf(file), readers }
        const outcome = await repository.setReaders(change, commandEvent('item.access', item.identifier))
        if (outcome === undefined) throw notThere(change)
        if (outcome === 'no-eperson') throw new Failure('an eperson of these rules was deleted meanwhile')
        await show(repository, item.identifier, json)
      }),
    )

  addStateCommands(command, find)

  command
    .command('delete <identifier>')
    .description('Delete an item with its bitstreams. Their files are cleaned up later.')
    .option(...jsonOption)
    .action((name: string, { json }: Json) =>
      withStore(async ({ repository }) => {
        const { identifier, uuid } = await find(repository, name)
        const deleted = await repository.deleteItem(identifier, commandEvent('item.delete'))
        if (!deleted) throw noItem(name)
        sayResult(json, { identifier, uuid, deleted: true }, `Deleted ${printable(identifier)}.`)
      }),
    )
  return command
}

const noItem = (name: string) =>
  new Failure(`there is no item ${printable(name)}; \`carrel item list\` lists the identifiers`)

/** Finds an item by its identifier or its UUID. @throws Failure if there is none */
async function find(repository: Repository, name: string): Promise<Item> {
  const item = await repository.item((await repository.uuidOf(name)) ?? name.toLowerCase())
  if (!item) throw noItem(name)
  return item
}

type Known = Pick<People, 'credentials' | 'eperson' | 'groupsByName' | 'listGroups'>

/** @throws Misuse for a rule that is not understood; Failure for a group or an eperson that doesn't exist */
async function readRules(words: readonly string[], people: Known): Promise<Readers> {
  const groups = new Set((await people.listGroups()).map(({ name }) => name))
  const rules: string[] = []
  // Days may be separate arguments: eperson from:2027-01-01.
  for (const word of words)
    if (/^(from|until):/.test(word) && rules.length > 0) rules.push(`${rules.pop()} ${word}`)
    else rules.push(word)
  try {
    const readers = await Promise.all(
      parseReaders(rules, groups, true).map(async rule =>
        epersonOf(rule.reader) === undefined
          ? rule
          : { ...rule, reader: (await readRule(rule.reader, people)) as ReaderRule['reader'] },
      ),
    )
    checkReaders(readers)
    return readers
  } catch (error) {
    if (error instanceof UnknownGroup) throw new Failure(error.message)
    throw error instanceof BadItem ? new Misuse(error.message) : error
  }
}

function fileOf(text: string | undefined): AccessChange['file'] {
  if (text === undefined) return null
  const [, bundle, name] = /^([^/]+)\/(.+)$/s.exec(text) ?? []
  if (bundle === undefined || name === undefined)
    throw new Misuse(
      `--file takes a bundle and a name, such as ORIGINAL/scan.pdf, not ${JSON.stringify(text)}`,
    )
  return { bundle, name }
}

const notThere = ({ identifier, file }: AccessChange) =>
  file
    ? new Failure(
        `${printable(identifier)} has no file ${printable(`${file.bundle}/${file.name}`)}; ` +
          '`carrel item show` lists its files',
      )
    : noItem(identifier)

function readLimit(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new Misuse(`--limit takes a positive whole number, not ${JSON.stringify(text)}`)
  return Number(text)
}

/** Maximum number of items in memory at once. */
const itemsAtOnce = 1_000

/** Lists items page by page, no faster than the output is read, because there may be millions. */
async function list(repository: Repository, limit: number, json: boolean): Promise<void> {
  let count = 0
  for (let after = ''; count < limit; ) {
    const items = await repository.listItems(after, Math.min(itemsAtOnce, limit - count))
    const last = items.at(-1)
    if (!last) break
    await write(json ? asJson(items, count === 0) : asTable(items, count === 0))
    count += items.length
    after = last.identifier
  }
  if (json) await write(count === 0 ? '[]\n' : '\n]\n')
  else if (count === 0) await write('No items.\n')
}

const asJson = (items: readonly ListedItem[], isFirst: boolean) =>
  items.map((one, at) => `${isFirst && at === 0 ? '[' : ','}\n  ${JSON.stringify(one)}`).join('')

function asTable(items: readonly ListedItem[], isFirst: boolean): string {
  const text = tableOf(items, {
    ITEM: one => one.identifier,
    TITLE: one => one.title ?? '',
    FILES: one => one.files,
    READERS: one => describeReaders(one.readers),
  })
  return `${isFirst ? text : text.slice(text.indexOf('\n') + 1)}\n`
}

async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

async function show(repository: Repository, identifier: string, json: boolean | undefined): Promise<void> {
  const item = await find(repository, identifier)
  const files = await repository.bitstreamsOf(item.uuid)
  say(json ? JSON.stringify({ ...item, bitstreams: files }, null, 2) : describe(item, files))
}

const describe = (item: Item, files: readonly Bitstream[]): string =>
  [
    table(
      ['ITEM', printable(item.identifier)],
      [
        ['uuid', item.uuid],
        ['title', item.title ?? ''],
        ['readers', describeReaders(item.readers)],
        ['state', stateOf(item)],
        ['modified', item.modified],
      ],
    ),
    '',
    files.length === 0
      ? 'No files.'
      : tableOf(files, {
          FILE: one => `${one.bundle}/${one.name}`,
          BYTES: one => one.size,
          READERS: one => describeReaders(one.readers),
          UUID: one => one.uuid,
        }),
  ].join('\n')

const stateOf = ({ withdrawn, discoverable }: Item) =>
  [...(withdrawn ? ['withdrawn'] : []), ...(discoverable ? [] : ['in no list'])].join(', ') || 'in lists'

type State = Partial<Pick<Item, 'withdrawn' | 'discoverable'>>
type Find = (repository: Repository, name: string) => Promise<Item>

/** Maximum number of attempts at a change that others come before. */
const maxAttempts = 10

/** `carrel item withdraw`, `reinstate` and `discoverable`: what PATCH of an item does over HTTP. */
function addStateCommands(command: Command, find: Find): void {
  const change = (name: string, state: State, json: boolean | undefined, said: string) =>
    withStore(async ({ repository }) => {
      const { identifier, uuid, withdrawn, discoverable } = await changed(repository, find, name, state)
      sayResult(json, { identifier, uuid, withdrawn, discoverable }, `${printable(identifier)} ${said}.`)
    })

  command
    .command('withdraw <identifier>')
    .description('Take an item with its files away from readers, without deleting it.')
    .option(...jsonOption)
    .action((name: string, { json }: Json) => change(name, { withdrawn: true }, json, 'is withdrawn'))

  command
    .command('reinstate <identifier>')
    .description('Give a withdrawn item back to its readers.')
    .option(...jsonOption)
    .action((name: string, { json }: Json) => change(name, { withdrawn: false }, json, 'is reinstated'))

  command
    .command('discoverable <identifier>')
    .description('Say whether lists and queries show an item to its readers.')
    .addArgument(new Argument('<answer>', 'yes or no').choices(['yes', 'no']))
    .option(...jsonOption)
    .action((name: string, answer: string, { json }: Json) =>
      answer === 'yes'
        ? change(name, { discoverable: true }, json, 'is in lists')
        : change(name, { discoverable: false }, json, 'is in no list'),
    )
}

async function changed(repository: Repository, find: Find, name: string, state: State): Promise<Item> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { uuid, revision } = await find(repository, name)
    const outcome = await repository.change(
      { kind: 'edit-item', item: uuid, revision, hidden: [], ...state },
      commandEvent('item.change'),
    )
    if (outcome !== 'stale') return find(repository, name)
  }
  throw new Failure(`${printable(name)} is being changed by others all the time; try again`)
}
