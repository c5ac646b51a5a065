import { type ReaderRule, type Readers, readRules, writeRules } from '../../model/readers.ts'
import type { Part, Window } from '../../storage/storage.ts'
import type { ObjectKind, Repository } from '../statements/repository.ts'
import { findObject, type Policy, type PolicyStore } from './policy-rules.ts'

export interface ListedPolicyStore extends PolicyStore {
  readonly repository: PolicyStore['repository'] & Pick<Repository, 'audiencesWith' | 'objectsOf'>
}

/** Objects of one kind that have the same rules. */
interface Stretch {
  readonly kind: ObjectKind
  readonly audience: number
  readonly objects: number
  /** Number of policies for the reader on each object. */
  readonly each: number
}

/** Lists a part of the wanted policies of an object. */
export async function policiesOfObject(
  store: PolicyStore,
  uuid: string,
  isWanted: (policy: Policy) => boolean,
  { offset, limit }: Window,
): Promise<Part<Policy>> {
  const rows = (await findObject(store, uuid))?.policies.filter(isWanted) ?? []
  return { rows: rows.slice(offset, offset + limit), total: rows.length }
}

/**
 * Lists a part of the policies for a reader on any objects. Only the objects of that part are read, however
 * many there are, because the store counts the objects of each audience.
 */
export async function policiesOfReader(
  store: ListedPolicyStore,
  reader: ReaderRule['reader'],
  { offset, limit }: Window,
): Promise<Part<Policy>> {
  const { repository } = store
  const stretches = await stretchesOf(repository, reader)
  const rows: Policy[] = []
  let skipped = offset
  for (const { kind, audience, objects, each } of stretches) {
    if (rows.length >= limit) break
    if (skipped >= objects * each) {
      skipped -= objects * each
      continue
    }
    const first = Math.floor(skipped / each)
    const before = skipped - first * each
    const count = Math.ceil((limit - rows.length + before) / each)
    const found: Policy[] = []
    for (const uuid of await repository.objectsOf(kind, audience, { offset: first, limit: count })) {
      // The object is undefined if it was deleted in the meantime.
      const policies = (await findObject(store, uuid))?.policies ?? []
      found.push(...policies.filter(({ rule }) => rule.reader === reader))
    }
    rows.push(...found.slice(before))
    skipped = 0
  }
  const total = stretches.reduce((sum, { objects, each }) => sum + objects * each, 0)
  return { rows: rows.slice(0, limit), total }
}

async function stretchesOf(
  repository: ListedPolicyStore['repository'],
  reader: ReaderRule['reader'],
): Promise<readonly Stretch[]> {
  const forReader = (rules: Readers) => rules.filter(rule => rule.reader === reader).length
  const stretches = (await repository.audiencesWith(reader)).flatMap(({ id, readers, items, bitstreams }) => {
    const read = forReader(readRules(readers))
    return [
      { kind: 'item', audience: id, objects: items, each: read + forReader(writeRules(readers)) },
      // Files have the right to write from their item.
      { kind: 'bitstream', audience: id, objects: bitstreams, each: read },
    ] as const
  })
  return stretches.filter(({ objects, each }) => objects * each > 0)
}
