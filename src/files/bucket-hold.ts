import { randomUUID } from 'node:crypto'
import { type Hold, type HoldOptions, keepHold } from '../lib/hold.ts'
import { isLeftOver, processIdInName } from '../lib/process-ids.ts'
import type { BucketClient, Listed } from './bucket-requests.ts'

/** Lists all objects whose keys begin with the prefix. */
export async function allIn(client: Pick<BucketClient, 'list'>, prefix: string) {
  const objects: (Listed & { readonly size: number })[] = []
  for await (const page of client.list(prefix)) objects.push(...page)
  return objects
}

/** Returns the time of the last change; 0 without objects, of which there may be very many. */
export const latestOf = (objects: readonly Pick<Listed, 'modified'>[]): number =>
  objects.reduce((latest, { modified }) => Math.max(latest, modified), 0)

/**
 * Holds something in a bucket, which has no locks of its own: an object that names its program and is written again
 * every few seconds. One that isn't any more, or is of a program of this machine that has ended, counts for nothing.
 * @param path of the objects of all that want the hold: `<path>.<random>.<program>`, and `<path>-wanted`
 */
export async function holdInBucket(
  client: BucketClient,
  path: string,
  options: HoldOptions,
): Promise<Hold | 'held'> {
  const { silence, onWanted } = options
  const wanted = `${path}-wanted`
  /** @param now by the clock of the bucket, unless there is no object of one's own yet */
  const isHeldBy = (one: Listed, now: number) =>
    Math.abs(now - one.modified) <= silence && !isLeftOver(one.key)
  const isHeld = async (own: string) => {
    const found = await allIn(client, `${path}.`)
    const now = found.find(({ key }) => key === own)?.modified ?? Date.now()
    const others = found.filter(({ key }) => key !== own)
    if (others.some(one => isHeldBy(one, now))) return true
    if (own !== '') await client.remove(others.map(({ key }) => key))
    return false
  }
  const refuse = async () => {
    if (onWanted) await client.put(wanted, new Uint8Array())
    return 'held' as const
  }
  if (await isHeld('')) return refuse()
  const own = `${path}.${randomUUID()}.${processIdInName()}`
  await client.put(own, new Uint8Array())
  const remove = () => client.remove([own])
  // If two have put an object each, the later one to look sees both.
  if (await isHeld(own)) return remove().then(refuse)
  if (onWanted) await client.remove([wanted])
  const beat = async () => {
    const found = Map.groupBy(await allIn(client, path), ({ key }) => (key === wanted ? wanted : ''))
    const all = found.get('') ?? []
    // Another is there if it took the hold while a beat of this one was on its way.
    const isOurs =
      all.some(({ key }) => key === own) && !all.some(one => one.key !== own && isHeldBy(one, latestOf(all)))
    if (isOurs) await client.put(own, new Uint8Array())
    return { isOurs, isWanted: found.has(wanted) }
  }
  return keepHold(options, 2_000, { beat, remove })
}
