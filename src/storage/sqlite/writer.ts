import { workerData } from 'node:worker_threads'
import { serveThread } from '../shared/thread.ts'
import { changes } from './changes.ts'
import { openDatabase, transaction } from './driver.ts'

/**
 * The one writer. Calls that gathered while the last commit was on its way share the next one, so that a disk which
 * syncs 200 times a second still takes thousands of logins; nobody is answered before the commit is on disk.
 */
const db = openDatabase(workerData.file, { mode: 'write', cache: 2_000 })
// FULL: the log is synced at every commit, so that an acknowledged change survives a power cut.
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
          // The transaction as a whole may be gone (full disk): then this throws too, and every call fails.
          db.exec('ROLLBACK TO call; RELEASE call')
          return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
        }
      }),
    )
  },
}

export type WriterHandlers = typeof handlers

serveThread(handlers)
