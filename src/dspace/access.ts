import { Problem } from '../http/problems.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Caller } from '../model/caller.ts'
import type { Bitstream, Item } from '../model/items.ts'
import { mayRead } from '../model/viewer.ts'
import type { Repository } from '../storage/repository.ts'
import { type Bundle, bundlesOf } from './bodies.ts'
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

export async function readableItem(repository: Repository, caller: Caller, text: string): Promise<Item> {
  const uuid = readUuid(text)
  const item = found(uuid === undefined ? undefined : await repository.item(uuid), 'item')
  require(caller, mayRead(caller, item.readers), 'item')
  return item
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
): Promise<Bundle & { readonly item: string }> {
  const uuid = readUuid(text)
  const member = found(
    uuid === undefined ? undefined : await repository.bitstream(bitstreamUuid(uuid)),
    'bundle',
  )
  return bundleOf(repository, caller, member)
}

export async function bundleOf(
  repository: Repository,
  caller: Caller,
  { item, bundle }: Bitstream,
): Promise<Bundle & { readonly item: string }> {
  const all = bundlesOf(await repository.bitstreamsOf(item))
  // An item may be replaced between the two look-ups.
  const it = found(
    all.find(({ name }) => name === bundle),
    'bundle',
  )
  const may =
    it.bitstreams.some(one => mayRead(caller, one.readers)) ||
    mayRead(caller, (await repository.item(item))?.readers ?? [])
  require(caller, may, 'bundle')
  return { ...it, item }
}
