import type { KnownItem } from '../model/items.ts'
import { type Readers, readersText, readRules } from '../model/readers.ts'
import type { Repository } from '../storage/repository.ts'
import type { FoundFile, FoundItem } from './item.ts'
import { isDescribedAlike } from './origin.ts'

const keyOf = ({ bundle, name }: Pick<FoundFile, 'bundle' | 'name'>) => JSON.stringify([bundle, name])

/**
 * Whether there is nothing to do: the source says the same as before, and the item and its files already have the readers
 * of `--read` where the source names none. Without `--read` they keep whatever they have (D7).
 */
export async function isUnchanged(
  item: FoundItem,
  known: KnownItem | undefined,
  read: Readers | null,
  repository: Pick<Repository, 'bitstreamsOf'>,
): Promise<boolean> {
  if (!known || !isDescribedAlike(known.fingerprint, item.fingerprint)) return false
  if (item.readers !== null || read === null) return true
  const wanted = readersText(read)
  if (readersText(readRules(known.readers)) !== wanted) return false
  const withOwn = new Set(item.files.filter(({ readers }) => readers !== null).map(keyOf))
  const bitstreams = await repository.bitstreamsOf(known.uuid)
  return bitstreams.every(one => withOwn.has(keyOf(one)) || readersText(readRules(one.readers)) === wanted)
}
