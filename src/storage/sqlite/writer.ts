import { workerData } from 'node:worker_threads'
import { serveThread } from '../shared/thread.ts'
import { changes } from './changes.ts'
import { openDatabase, transaction } from './driver.ts'

/**
 * The single writer. Calls that queue up during a commit share the next one, so that a disk that syncs 200 times a second
 * can still take thousands of logins a second. No call is answered before its commit is on disk.
 */
const db = openDatabase(workerData.file, { mode: 'write', cache: 2_000 })
// FULL syncs the write-ahead log at every commit, so that an acknowledged change survives a power failure.
db.exec('PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL')

export type WriteCall = readonly [name: keyof typeof changes, args: readonly unknown[]]
export type WriteReply = { readonly result: unknown } | { readonly error: string }

const handlers = {
  commit(calls: readonly WriteCall[]): WriteReply[] {
    return transaction(db, () =>
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
  },
}

export type WriterHandlers = typeof handlers

serveThread(handlers)
