import type { Config } from '../config/config.ts'
import { Problem } from '../http/problems.ts'
import { readUuid } from '../lib/uuids.ts'
import { type Caller, isAdministrator } from '../model/caller.ts'
import { type Bitstream, type Item, withoutHidden } from '../model/items.ts'
import { mayRead, viewerOf } from '../model/viewer.ts'
import type { BundlePlace, Repository } from '../storage/repository.ts'
import { type Bundle, bundleOf } from './bodies.ts'
import { bitstreamUuid } from './bundle-uuid.ts'

/** What a caller may not read is 401 for an anonymous caller and 403 for an eperson; what doesn't exist is 404 (F1). */

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

/** What is needed to show an item. */
export interface Items {
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

/** A bundle is as open as its item, or as the most open file in it. */
export async function readableBundle(
  repository: Repository,
  caller: Caller,
  text: string,
): Promise<ReadableBundle> {
  const uuid = readUuid(text)
  const member = found(
    uuid === undefined ? undefined : await repository.bitstream(bitstreamUuid(uuid)),
    'bundle',
  )
  return bundleWith(repository, caller, member)
}

export interface ReadableBundle extends Bundle {
  readonly place: BundlePlace
}

/** The bundle that a bitstream is in. */
export async function bundleWith(
  repository: Repository,
  caller: Caller,
  { item, bundle, readers }: Bitstream,
): Promise<ReadableBundle> {
  const place = { item, bundle }
  // An item may be replaced between the two look-ups.
  const { uuid } = found(await repository.firstIn(place), 'bundle')
  const may =
    mayRead(caller, readers) ||
    mayRead(caller, (await repository.item(item))?.readers ?? []) ||
    (await repository.bitstreamsIn(place, viewerOf(caller), { offset: 0, limit: 1 })).total > 0
  require(caller, may, 'bundle')
  return { ...bundleOf({ name: bundle, first: uuid }), place }
}
