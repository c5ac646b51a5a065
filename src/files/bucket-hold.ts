import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Hold, type HoldOptions, keepHold } from '../lib/hold.ts'
import { isLeftOver, processIdInName } from '../lib/process-ids.ts'
import type { BucketClient } from './bucket-client.ts'
import type { Listed } from './bucket-requests.ts'

/** Time in ms within which one that wants a hold has seen that it can't have it, and has removed its object. */
const settling = 1_000

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
 * @param path of the objects of all that want the hold: `<path>.<number>.<random>.<program>`, and `<path>-wanted`
 * @param isThere looks, with the hold, whether what it is for is still there
 */
export async function holdInBucket(
  client: BucketClient,
  path: string,
  options: HoldOptions,
  isThere: () => Promise<boolean> = async () => true,
): Promise<Hold | 'held' | 'gone'> {
  const { silence, onWanted } = options
  const wanted = `${path}-wanted`
  const numberOf = ({ key }: Listed) => Number(key.slice(path.length + 1).split('.', 1)[0])
  /** @param now by the clock of the bucket, unless there is no object of one's own yet */
  const isHeldBy = (one: Listed, now: number) =>
    Math.abs(now - one.modified) <= silence && !isLeftOver(one.key)
  const refuse = async () => {
    if (onWanted) await client.put(wanted, new Uint8Array())
    return 'held' as const
  }

  const before = await allIn(client, `${path}.`)
  if (before.some(one => isHeldBy(one, Date.now()))) return refuse()
  const number = 1 + Math.max(0, ...before.map(numberOf))
  const own = `${path}.${number}.${randomUUID()}.${processIdInName()}`
  const write = () => client.put(own, new Uint8Array())
  const remove = () => client.remove([own])
  try {
    await write()
    const found = await allIn(client, `${path}.`)
    const others = found.filter(({ key }) => key !== own)
    const now = found.find(({ key }) => key === own)?.modified ?? Date.now()
    // If two have put an object each, the later one to look sees both.
    if (others.some(one => isHeldBy(one, now))) {
      await remove()
      return await refuse()
    }
    await client.remove(others.map(({ key }) => key))
    if (onWanted) await client.remove([wanted])
    if (await isThere()) return keepHold(options, 2_000, { beat, remove })
    await remove()
    return 'gone'
  } catch (error) {
    await remove().catch(() => {})
    throw error
  }

  async function look() {
    const found = await allIn(client, path)
    const all = found.filter(({ key }) => key !== wanted && key.startsWith(`${path}.`))
    const now = latestOf(all)
    return {
      isOurs: all.some(({ key }) => key === own),
      isWanted: found.some(({ key }) => key === wanted),
      // One that has taken the hold while a beat of this one was on its way, or only wants it.
      rivals: all.filter(one => numberOf(one) >= number && one.key !== own && isHeldBy(one, now)),
    }
  }
  async function beat() {
    const { isWanted, rivals, ...seen } = await look()
    if (rivals.length > 0) await delay(settling)
    const later = rivals.length > 0 ? await look() : { isOurs: seen.isOurs, rivals }
    const isOurs = later.isOurs && !later.rivals.some(one => rivals.some(({ key }) => key === one.key))
    if (isOurs) await write()
    return { isOurs, isWanted }
  }
}
