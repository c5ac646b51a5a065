import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startThread } from '../shared/thread.ts'
import { type Storage, StoreUnavailable } from '../storage.ts'
import { sqliteAccounts } from './accounts.ts'
import type { writes } from './changes.ts'
import { openDatabase } from './driver.ts'
import { sqliteEntities } from './entities.ts'
import { sqliteSignOn } from './identities.ts'
import { migrate } from './migrations.ts'
import { sqliteRepository } from './repository.ts'
import { fileSecrets } from './secrets.ts'
import { createReadTurn } from './shared-snapshot.ts'
import type { WriteCall, WriterHandlers } from './writer.ts'

export interface SqliteOptions {
  readonly dataFolder: string
  /** Bytes of orders and records that are kept in memory. */
  readonly cacheSize: number
}

/** A change, by the name of a function in `writes`; the promise is kept when it is on disk. */
export type Write = <K extends keyof typeof writes>(
  name: K,
  ...args: Tail<Parameters<(typeof writes)[K]>>
) => Promise<ReturnType<(typeof writes)[K]>>
type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never

/** Opens the embedded store, creating it where there is none. */
export async function openSqlite(options: SqliteOptions): Promise<Storage> {
  try {
    mkdirSync(join(options.dataFolder, 'entities'), { recursive: true, mode: 0o700 })
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code
    throw new StoreUnavailable(
      `the data folder ${options.dataFolder} can't be used (${why}); set CARREL_DATA`,
      { cause: error },
    )
  }
  const file = join(options.dataFolder, 'carrel.db')
  const migrating = openDatabase(file, { mode: 'write' })
  try {
    migrate(migrating)
  } finally {
    migrating.close()
  }
  const db = openDatabase(file, { mode: 'read', cache: 4_000 })
  const turn = createReadTurn(db)
  const writer = groupingWriter(file, turn.end)
  const secrets = fileSecrets(options.dataFolder, writer.write)
  const entities = sqliteEntities({ db, turn, file, write: writer.write, ...options })
  return {
    accounts: sqliteAccounts({ db, turn, write: writer.write }),
    entities,
    repository: sqliteRepository({ db, write: writer.write }),
    secrets,
    signOn: sqliteSignOn({ db, write: writer.write }),
    ping: () => {
      db.get('SELECT one FROM state')
    },
    close: async () => {
      await writer.close()
      await entities.close()
      turn.end()
      db.close()
    },
  }
}

/**
 * Sends to the writer thread what has gathered since its last answer.
 * @param beforeAnswer called when changes are on disk and nobody has been told yet
 */
function groupingWriter(file: string, beforeAnswer: () => void) {
  let thread = startThread<WriterHandlers>('sqlite/writer', { file })
  type Waiting = { call: WriteCall; resolve: (result: never) => void; reject: (error: unknown) => void }
  let gathered: Waiting[] = []
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    // One turn of the event loop: requests that arrived together share the commit.
    await new Promise(resolve => setImmediate(resolve))
    while (gathered.length > 0) {
      const batch = gathered
      gathered = []
      if (thread.hasEnded) thread = startThread<WriterHandlers>('sqlite/writer', { file })
      try {
        const replies = await thread.call(
          'commit',
          batch.map(one => one.call),
        )
        beforeAnswer()
        for (const [at, { resolve, reject }] of batch.entries()) {
          const reply = replies[at]
          if (reply && 'result' in reply) resolve(reply.result as never)
          else reject(new Error(reply?.error ?? 'the writer gave no answer'))
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running = undefined
  }

  let closed = false
  const write: Write = (name, ...args) => {
    if (closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise((resolve, reject) => {
      gathered.push({ call: [name, args], resolve: resolve as (result: never) => void, reject })
      running ??= run()
    })
  }
  return {
    write,
    close: async () => {
      closed = true
      await running
      await thread.close()
    },
  }
}
