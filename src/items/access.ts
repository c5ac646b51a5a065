import type { Config } from '../config/config.ts'
import { Problem } from '../http/problems.ts'
import { readUuid } from '../lib/uuids.ts'
import { type Caller, isAdministrator, mayRead, viewerOf } from '../model/caller.ts'
import { type Bitstream, type Bundle, type Item, withoutHidden } from '../model/items.ts'
import type { BundlePlace, Repository } from './statements/repository.ts'

/** An anonymous caller who may not read something gets 401, an eperson 403; what doesn't exist is 404 (F1). */

/** @throws Problem 401 or 403 */
function require(caller: Caller, may: boolean, what: string): void {
  if (may) return
  if (caller.kind === 'anonymous')
    throw new Problem('authentication-required', `This ${what} is not open to everyone. Log in to read it.`)
  throw new Problem('access-denied', `You may not read this ${what}.`)
}

function found<T>(thing: T | undefined, what: string): T {
  if (thing === undefined) throw new Problem('not-found', `There is no ${what} with this UUID.`)
  return thing
}

/** Parts that are needed to show an item. */
interface Items {
  readonly repository: Repository
  readonly config: Pick<Config, 'hiddenMetadata'>
}

/** @returns the item as the caller sees it (Q19) */
export async function readableItem(
  { repository, config }: Items,
  caller: Caller,
  text: string,
): Promise<Item> {
  const uuid = readUuid(text)
  const item = found(uuid === undefined ? undefined : await repository.item(uuid), 'item')
  require(caller, mayRead(caller, item.readers), 'item')
  return isAdministrator(caller) ? item : withoutHidden(item, config.hiddenMetadata)
}

export async function readableBitstream(
  repository: Repository,
  caller: Caller,
  text: string,
): Promise<Bitstream> {
  const uuid = readUuid(text)
  const bitstream = found(uuid === undefined ? undefined : await repository.bitstream(uuid), 'bitstream')
  require(caller, mayRead(caller, bitstream.readers), 'bitstream')
  return bitstream
}

/** Finds a bundle, which is as open as its item, or as the most open file in it. */
export async function readableBundle(repository: Repository, caller: Caller, text: string): Promise<Bundle> {
  const uuid = readUuid(text)
  const bundle = found(uuid === undefined ? undefined : await repository.bundle(uuid), 'bundle')
  const { item, name } = bundle
  const may =
    mayRead(caller, (await repository.item(item))?.readers ?? []) ||
    (await repository.bitstreamsIn({ item, bundle: name }, viewerOf(caller), { offset: 0, limit: 1 })).total >
      0
  require(caller, may, 'bundle')
  return bundle
}

/** Finds the bundle of a bitstream, which is as open as the bitstream. */
export async function bundleWith(repository: Repository, place: BundlePlace): Promise<Bundle> {
  // The file may be deleted between the two look-ups.
  return found(await repository.bundleOf(place), 'bundle')
}

/** Finds the file that represents an item: the primary one of its original files, or the first. */
export async function mainFile(repository: Repository, item: string): Promise<Bitstream | undefined> {
  const place = { item, bundle: 'ORIGINAL' }
  const primary = (await repository.bundleOf(place))?.primary ?? null
  return (primary && (await repository.bitstream(primary))) || repository.firstIn(place)
}
