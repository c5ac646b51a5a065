import { type Body, changes, rightTo } from '../../http/access.ts'
import { Problem } from '../../http/problems.ts'
import { readUuid } from '../../lib/uuids.ts'
import { type Caller, mayWrite } from '../../model/caller.ts'
import type { Bitstream, Bundle, Item } from '../../model/items.ts'
import type { Repository } from '../statements/repository.ts'

/**
 * Items can be changed by administrators, and by groups and epersons with the right to write in a rule
 * (docs/decisions/0043).
 */

/** Access to a route whose handler looks for the right to write the item. */
export const byWriters = (body: Body) => changes(rightTo('write the item'), 'items', body)

/** @throws Problem 403 */
function requireWriter(caller: Caller, { readers }: Item): void {
  if (!mayWrite(caller, readers)) throw new Problem('access-denied', 'You may not change this item.')
}

const missing = (what: string) => new Problem('not-found', `There is no ${what} with this UUID.`)

/** @returns the whole item, hidden metadata included @throws Problem 403 or 404 */
export async function writableItem(repository: Repository, caller: Caller, text: string): Promise<Item> {
  const uuid = readUuid(text)
  const item = uuid === undefined ? undefined : await repository.item(uuid)
  if (!item) throw missing('item')
  requireWriter(caller, item)
  return item
}

/** @returns the bundle, whose item the caller may change @throws Problem 403 or 404 */
export async function writableBundle(repository: Repository, caller: Caller, text: string): Promise<Bundle> {
  const uuid = readUuid(text)
  const bundle = uuid === undefined ? undefined : await repository.bundle(uuid)
  if (!bundle) throw missing('bundle')
  await writableItem(repository, caller, bundle.item)
  return bundle
}

/** @returns the bitstream, whose item the caller may change @throws Problem 403 or 404 */
export async function writableBitstream(
  repository: Repository,
  caller: Caller,
  text: string,
): Promise<Bitstream> {
  const uuid = readUuid(text)
  const bitstream = uuid === undefined ? undefined : await repository.bitstream(uuid)
  if (!bitstream) throw missing('bitstream')
  await writableItem(repository, caller, bitstream.item)
  return bitstream
}
