import { Command } from 'commander'
import type { Bitstream, Item } from '../model/items.ts'
import type { Repository } from '../storage/repository.ts'
import { Failure } from './failures.ts'
import { printable, say, table } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel item …`: single items. */
export function itemCommand(): Command {
  const command = new Command('item').description('Show and delete items.')

  command
    .command('show <identifier>')
    .description('Show what an item is, who may read it, and its files.')
    .option('--json', 'print JSON')
    .action((identifier: string, { json }: { json?: boolean }) =>
      withStore(async ({ repository }) => {
        const item = await found(repository, identifier)
        const files = await repository.bitstreamsOf(item.uuid)
        say(json ? JSON.stringify({ ...item, bitstreams: files }, null, 2) : describe(item, files))
      }),
    )

  command
    .command('delete <identifier>')
    .description('Delete an item with its bitstreams; their files are cleared away later.')
    .action((identifier: string) =>
      withStore(async ({ repository }) => {
        const { identifier: known } = await found(repository, identifier)
        await repository.deleteItem(known, commandEvent('item.delete'))
        say(`Deleted ${printable(known)}.`)
      }),
    )
  return command
}

/** By its identifier, or by its uuid. @throws Failure */
async function found(repository: Repository, name: string): Promise<Item> {
  const item = await repository.item((await repository.uuidOf(name)) ?? name.toLowerCase())
  if (!item)
    throw new Failure(`there is no item ${printable(name)}; the entity items lists identifiers and uuids`)
  return item
}

const readersOf = (readers: Item['readers']): string =>
  readers
    .map(({ reader, from, until }) =>
      [reader, ...(from ? [`from:${from}`] : []), ...(until ? [`until:${until}`] : [])].join(' '),
    )
    .join(' | ') || 'admin'

const describe = (item: Item, files: readonly Bitstream[]): string =>
  [
    table(
      ['ITEM', printable(item.identifier)],
      [
        ['uuid', item.uuid],
        ['title', item.title ?? ''],
        ['readers', readersOf(item.readers)],
        ['modified', item.modified],
      ],
    ),
    '',
    files.length === 0
      ? 'No files.'
      : table(
          ['FILE', 'BYTES', 'READERS', 'UUID'],
          files.map(({ bundle, name, size, readers, uuid }) => [
            `${bundle}/${name}`,
            size,
            readersOf(readers),
            uuid,
          ]),
        ),
  ].join('\n')
