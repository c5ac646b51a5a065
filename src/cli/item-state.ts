import { Argument, type Command } from 'commander'
import type { Item } from '../model/items.ts'
import type { Repository } from '../storage/repository.ts'
import { Failure } from './failures.ts'
import { type Json, jsonOption, printable, sayResult } from './output.ts'
import { commandEvent, withStore } from './store.ts'

type State = Partial<Pick<Item, 'withdrawn' | 'discoverable'>>
type Find = (repository: Repository, name: string) => Promise<Item>

/** How often a change is tried again that somebody else was faster with. */
const maxAttempts = 10

/** `carrel item withdraw`, `reinstate` and `discoverable`: what PATCH of an item does over HTTP. */
export function addStateCommands(command: Command, find: Find): void {
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
