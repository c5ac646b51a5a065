import { StoreUnavailable } from '../lib/errors.ts'
import { type Client, Overloaded } from '../lib/fair-queue.ts'
import type { EntityState } from '../model/snapshots.ts'
import type { Entities, RecordEntity } from '../storage/entities.ts'
import { type ChangeBatch, type FollowedChange, StateGone } from '../storage/single-records.ts'

/** Changes of records as they are sent (docs/decisions/0084). */
export interface ChangeFeed {
  /**
   * Takes one of the places for streams.
   * @param who an eperson, or a network
   * @returns a function that leaves the place
   * @throws Overloaded if they are taken
   */
  enter(who: string): () => void
  /** @throws StateGone before anything is told */
  tell(told: Told): AsyncGenerator<Uint8Array>
  /** Ends all streams: their clients ask again. */
  close(): void
}

interface Told {
  /** undefined: changes from now on. */
  readonly since: EntityState | undefined
  /** True for server-sent events, which go on when everything is told; false for lines. */
  readonly isStream: boolean
  readonly client: Client
  readonly key: RecordEntity['key']
  /** Looks the entity up again; undefined if the caller may not read it any more. */
  readonly look: () => Promise<RecordEntity | undefined>
  /** Writes a snapshot. */
  readonly written: (state: EntityState) => string
}

/** Maximum number of streams of a node, and of one client in an event loop. */
const maxStreams = 512
const maxOfOne = 16
/** Interval in ms at which an event loop looks for changes. */
const step = 250
/** Number of these intervals after which rights are looked up again. */
const stepsOfRights = 4
/** Time in ms after which a comment is sent on a silent connection: proxies close idle ones. */
const keepAlive = 15_000
/** Time in ms after which a client has to ask again. */
export const longest = 3_600_000

/** @param loops number of event loops of the node */
export function createChangeFeed(
  entities: Pick<Entities, 'all' | 'changesSince'>,
  loops: number,
): ChangeFeed {
  const closing = new AbortController()
  const untilChanged = createWaiting(entities)
  const open = new Map<string, number>()
  let all = 0

  function count(who: string, change: 1 | -1): void {
    const own = (open.get(who) ?? 0) + change
    if (own === 0) open.delete(who)
    else open.set(who, own)
    all += change
  }

  async function* tell(told: Told): AsyncGenerator<Uint8Array> {
    const { since, isStream, client, look } = told
    const format = isStream ? events : lines
    const ends = AbortSignal.any([client.signal(), closing.signal])
    const begun = performance.now()
    let state = since
    let sent = 0
    const send = (text: string) => {
      sent = performance.now()
      return Buffer.from(text)
    }
    try {
      for (let entity = await look(); entity && !ends.aborted; entity = await look()) {
        for await (const batch of entities.changesSince(entity, state, client)) {
          if (ends.aborted || !(await look())) return
          state = batch.state ?? state
          yield send(format(batch, told))
        }
        if (sent === 0 && state) yield send(format({ changes: [], state }, told))
        if (!isStream || performance.now() - begun > longest) return
        if (performance.now() - sent > keepAlive) yield send(':\n\n')
        await untilChanged(entity, ends)
      }
    } catch (error) {
      // A client that asks again after the last id is told the reason.
      const isEnd =
        error instanceof StateGone || error instanceof Overloaded || error instanceof StoreUnavailable
      if (!ends.aborted && !(isEnd && sent > 0)) throw error
    }
  }

  return {
    enter: who => {
      if ((open.get(who) ?? 0) >= maxOfOne)
        throw new Overloaded(`You follow changes ${maxOfOne} times already. End one of these streams first.`)
      if (all >= Math.ceil(maxStreams / loops))
        throw new Overloaded('Too many clients follow changes already. Ask from time to time instead.')
      count(who, 1)
      return () => count(who, -1)
    },
    tell,
    close: () => closing.abort(),
  }
}

/** Lets streams wait together: the entities are looked up once for all of them. */
function createWaiting(entities: Pick<Entities, 'all'>) {
  const waiting = new Map<(value: unknown) => void, RecordEntity>()
  let timer: NodeJS.Timeout | undefined
  let steps = 0

  async function look(): Promise<void> {
    const isTime = ++steps % stepsOfRights === 0
    // While the store is away, streams go on waiting: if all clients came back at once, it would take longer.
    const all = await (async () => entities.all())().catch(() => undefined)
    if (!all) return
    for (const [wake, { name, source }] of waiting) {
      const now = all.get(name)?.source
      if (isTime || now?.kind !== 'records' || now.version !== source.version) wake(null)
    }
  }

  /** Waits until the entity has changed, or rights may have. */
  return async (entity: RecordEntity, ends: AbortSignal): Promise<void> => {
    if (ends.aborted) return
    const { promise, resolve } = Promise.withResolvers<unknown>()
    waiting.set(resolve, entity)
    timer ??= setInterval(() => void look(), step)
    ends.addEventListener('abort', resolve)
    await promise
    ends.removeEventListener('abort', resolve)
    waiting.delete(resolve)
    if (waiting.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

type Format = (batch: ChangeBatch, told: Pick<Told, 'key' | 'written'>) => string

/** A line for each change, and one with the snapshot that they lead to. */
const lines: Format = ({ changes, state }, told) => {
  const all = changes.map(change => `${jsonOf(change, told)}\n`)
  return all.join('') + (state ? `{"snapshot":"${told.written(state)}"}\n` : '')
}

/**
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Of the differences of two
 * versions, only the last one has an id.
 */
const events: Format = ({ changes, state }, told) => {
  if (state && changes.length === 0) {
    const id = told.written(state)
    return `event: snapshot\nid: ${id}\ndata: {"snapshot":"${id}"}\n\n`
  }
  const last = changes.length - 1
  const all = changes.map((change, at) => {
    const seq = change.seq ?? (at === last ? state?.seq : undefined)
    const id = state && seq !== undefined && told.written({ ...state, seq })
    return `${id ? `id: ${id}\n` : ''}data: ${jsonOf(change, told)}\n\n`
  })
  return all.join('')
}

/** The change as JSON. The value of a key of one field stands alone. */
function jsonOf({ kind, key, json }: FollowedChange, told: Pick<Told, 'key'>): string {
  const of = [told.key].flat().length === 1 ? key.slice(1, -1) : key
  return `{"change":"${kind}","key":${of}${json === null ? '' : `,"record":${json}`}}`
}
