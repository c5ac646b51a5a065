import { serveThread } from '../../threads/thread.ts'
import { changes } from './changes.ts'
import { type Database, openDatabase, transaction } from './driver.ts'

export type WriteCall = readonly [name: keyof typeof changes, args: readonly unknown[]]
export type WriteReply = { readonly result: unknown } | { readonly error: string }

interface Waiting {
  readonly calls: readonly WriteCall[]
  readonly resolve: (replies: WriteReply[]) => void
  readonly reject: (error: unknown) => void
}

const handlersOn = (db: Database) => {
  let waiting: Waiting[] = []

  function commitAll(): void {
    const all = waiting
    waiting = []
    try {
      const replies = commit(all.flatMap(one => one.calls))
      let at = 0
      for (const { calls, resolve } of all) {
        resolve(replies.slice(at, at + calls.length))
        at += calls.length
      }
    } catch (error) {
      for (const { reject } of all) reject(error)
    }
  }

  const commit = (calls: readonly WriteCall[]): WriteReply[] =>
    transaction(db, () =>
      calls.map(([name, args]) => {
        db.exec('SAVEPOINT call')
        try {
          const change = changes[name] as (...args: readonly unknown[]) => unknown
          const result = change(db, ...args)
          db.exec('RELEASE call')
          return { result }
        } catch (error) {
          // A full disk may have rolled back the whole transaction. Then this throws too, and every call fails.
          db.exec('ROLLBACK TO call; RELEASE call')
          return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
        }
      }),
    )

  return {
    /** Waits for what has arrived from other event loops, so that it shares the commit. */
    commit: (calls: readonly WriteCall[]): Promise<WriteReply[]> =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(commitAll)
        waiting.push({ calls, resolve, reject })
      }),
  }
}

export type WriterHandlers = ReturnType<typeof handlersOn>

/**
 * The single writer. Calls that queue up during a commit share the next one, so that a disk that syncs 200 times a second
 * can still take thousands of logins a second. No call is answered before its commit is on disk.
 */
serveThread(({ file }: { readonly file: string }) => {
  const db = openDatabase(file, { mode: 'write', cache: 2_000 })
  // FULL syncs the write-ahead log at every commit, so that an acknowledged change survives a power failure.
  db.exec('PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL')
  // The log begins again at about this size, unless a read needs what is in it; then the rest of the file is given back.
  db.exec(`PRAGMA journal_size_limit = ${4 * 1024 * 1024}`)
  return { handlers: handlersOn(db), close: () => db.close() }
})
