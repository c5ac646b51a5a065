import { StoreUnavailable } from '../../model/errors.ts'
import type { Connection } from './driver.ts'

/** What every request wants to know: is the session still the one it was, and has anything else changed? */
export interface StoreState {
  /** Of the enabled epersons that were asked for. */
  readonly stamps: ReadonlyMap<string, number>
  /** Grows when the list of entities changes. */
  readonly entities: number
  /** Grows when the secrets change. */
  readonly secrets: number
  /** The number of the last audience. */
  readonly audiences: number
}

export interface SessionLookup {
  /**
   * Requests that ask while a look-up is on its way share the next one (docs/decisions/0007): what they are told was
   * read after they asked, so a logout that was acknowledged before is always seen (T4).
   */
  ask(uuid?: string): Promise<StoreState>
  close(): Promise<void>
}

interface Parts {
  /** Opens the one connection that is kept for this, so that look-ups never wait for a slow query. */
  readonly connect: () => Promise<Connection>
  /** Told of everything that is seen, before those who asked are. */
  readonly follow: (seen: StoreState, db: Connection) => Promise<void> | undefined
}

const sql = `SELECT s.entities, s.secrets, s.audiences, e.uuid, e.stamp FROM carrel.state s
  LEFT JOIN carrel.eperson e ON e.uuid = ANY($1) AND e.enabled`

type LookRow = { entities: number; secrets: number; audiences: number; uuid: string | null; stamp: number }

/** Milliseconds: a connection that is dead says so at once; one that hangs has had its time. */
const diedAtOnce = 1_000

interface Batch {
  readonly uuids: Set<string>
  readonly seen: Promise<StoreState>
  readonly resolve: (seen: StoreState) => void
  readonly reject: (error: unknown) => void
}

function newBatch(): Batch {
  const { promise: seen, resolve, reject } = Promise.withResolvers<StoreState>()
  return { uuids: new Set(), seen, resolve, reject }
}

export function createSessionLookup({ connect, follow }: Parts): SessionLookup {
  let gathering: Batch | undefined
  let running: Promise<void> | undefined
  let closed = false
  let connection: Connection | undefined

  /** A connection that has died meanwhile, as when the database was restarted, is no reason to refuse anybody. */
  async function lookUp(uuids: ReadonlySet<string>): Promise<StoreState> {
    const isNew = connection === undefined
    const begun = performance.now()
    try {
      return await lookUpOnce(uuids)
    } catch (error) {
      // Whatever state the connection is in, the next look-up has a new one.
      connection?.destroy()
      connection = undefined
      if (isNew || !(error instanceof StoreUnavailable) || performance.now() - begun > diedAtOnce) throw error
      return lookUpOnce(uuids)
    }
  }

  async function lookUpOnce(uuids: ReadonlySet<string>): Promise<StoreState> {
    connection ??= await connect()
    const rows = await connection.rows<LookRow>(sql, [...uuids])
    const [first] = rows
    if (!first) throw new Error('the store has lost its state row')
    const stamps = new Map<string, number>()
    for (const { uuid, stamp } of rows) if (uuid !== null) stamps.set(uuid, stamp)
    const seen = { stamps, entities: first.entities, secrets: first.secrets, audiences: first.audiences }
    await follow(seen, connection)
    return seen
  }

  /** Who asked while the last look-up was on its way. */
  const waiting = () => gathering

  async function run(): Promise<void> {
    // One turn of the event loop: requests that arrived together share the first look-up, too.
    await new Promise(resolve => setImmediate(resolve))
    while (gathering) {
      const batch = gathering
      gathering = undefined
      try {
        batch.resolve(await lookUp(batch.uuids))
      } catch (error) {
        batch.reject(error)
        // Those who have come since have waited as long: trying again would keep them for twice the time.
        waiting()?.reject(error)
        gathering = undefined
      }
    }
    running = undefined
  }

  return {
    ask: uuid => {
      if (closed) return Promise.reject(new StoreUnavailable('the store is closed'))
      gathering ??= newBatch()
      if (uuid !== undefined) gathering.uuids.add(uuid)
      running ??= run()
      return gathering.seen
    },
    close: async () => {
      closed = true
      await running
      await connection?.close()
    },
  }
}
