import { dirname } from 'node:path'
import { RightsChanged, StoreUnavailable } from '../../lib/errors.ts'
import { serveThread } from '../../lib/threads/thread.ts'
import { UnknownReader } from '../single-records.ts'
import { type Parts, statementsNamed } from '../statements/offered.ts'
import { ownParts } from '../statements/parts.ts'
import { TakenBack } from '../statements/statements.ts'
import { openTrail } from '../statements/trail.ts'
import { type Database, openDatabase, transaction } from './driver.ts'
import { forgetEnd, lastIdOf } from './events.ts'
import { createFilesInPlace, type Loss, lookAgainAfter, type OpenedFiles } from './files-in-place.ts'
import { changes } from './hot.ts'
import { entitiesFolder } from './migrate.ts'
import { perform } from './perform.ts'
import { type Bases, createBases } from './store-check.ts'

/** A change, by the name of its function in `changes`, or of its part of the storage and its method. */
export type WriteCall = readonly [name: keyof typeof changes | PartChange, args: readonly unknown[]]
export type PartChange = `${string}.${string}`
export type WriteReply =
  | { readonly result: unknown }
  | { readonly error: string }
  | { readonly unavailable: string }
  /** Nothing was done: the sessions that the change relies on have changed (T12). */
  | { readonly refused: 'rights' }
  /** Nothing was done: the message of an `UnknownReader`. */
  | { readonly unknown: string }

const isOfPart = (name: WriteCall[0]): name is PartChange => name.includes('.')

interface Waiting {
  readonly calls: readonly WriteCall[]
  readonly resolve: (replies: WriteReply[]) => void
  readonly reject: (error: unknown) => void
}

interface Opened {
  readonly parts: Parts
  readonly db: Database
  readonly bases: Bases
  readonly requireFiles: () => void
  readonly requireTrail: () => void
}

function run({ db, bases, parts }: Opened, name: WriteCall[0], args: readonly unknown[]): unknown {
  bases.requireFor(name, args)
  if (isOfPart(name)) {
    const [part = '', method = ''] = name.split('.')
    return perform(db, statementsNamed(parts, 'changes', part, method)(...args))
  }
  return (changes[name] as (...args: readonly unknown[]) => unknown)(db, ...args)
}

function stillHolds(bases: Bases, reply: WriteReply, [name, args]: WriteCall): WriteReply {
  if (!('result' in reply)) return reply
  try {
    bases.requireFor(name, args)
    return reply
  } catch (error) {
    if (error instanceof StoreUnavailable) return { unavailable: error.message }
    throw error
  }
}

/** The reply to a call that has failed. */
function replyTo(error: unknown): WriteReply {
  if (error instanceof TakenBack) return { result: error.result }
  if (error instanceof RightsChanged) return { refused: 'rights' }
  if (error instanceof UnknownReader) return { unknown: error.message }
  if (error instanceof StoreUnavailable) return { unavailable: error.message }
  return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

const handlersOn = (opened: Opened) => {
  const { db, bases, requireFiles, requireTrail } = opened
  let waiting: Waiting[] = []
  /** The number of the last event that is on disk. */
  let lastEvent = 0

  /** An older store that was copied over this one, its log included, has fewer events. */
  function requireNewest(): void {
    const id = lastIdOf(db)
    if (id < lastEvent)
      throw new StoreUnavailable(
        `the store has ${id} events, and had ${lastEvent}: an older one was copied over it; stop the service, restore a backup, and start it again`,
      )
    lastEvent = id
  }

  function commitAll(): void {
    const all = waiting
    waiting = []
    try {
      requireFiles()
      requireNewest()
      requireTrail()
      const calls = all.flatMap(one => one.calls)
      // A change isn't acknowledged if its file was removed or replaced meanwhile, or its base can't be read.
      const replies = commit(calls).map((reply, at) => stillHolds(bases, reply, calls[at] as WriteCall))
      requireFiles()
      requireNewest()
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
    transaction(db, () => {
      forgetEnd(db)
      return calls.map(([name, args]) => {
        db.exec('SAVEPOINT call')
        try {
          const result = run(opened, name, args)
          db.exec('RELEASE call')
          return { result }
        } catch (error) {
          // A full disk may have rolled back the transaction. Then this throws too, and every call fails.
          db.exec('ROLLBACK TO call; RELEASE call')
          forgetEnd(db)
          return replyTo(error)
        }
      })
    })

  return {
    /** Waits for changes that other event loops have sent, so that they share the commit. */
    commit: (calls: readonly WriteCall[]): Promise<WriteReply[]> =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(commitAll)
        waiting.push({ calls, resolve, reject })
      }),
    check: (): void => {
      requireFiles()
      requireNewest()
      bases.requireSome()
    },
  }
}

export type WriterHandlers = ReturnType<typeof handlersOn>

export interface WriterData {
  readonly opened: OpenedFiles
  /** The secrets of the service, the one that signs first. They open the keys of the audit trail. */
  readonly secrets: readonly Uint8Array[]
}

/**
 * Serves as the single writer, of these features' statements, too. Calls that queue up during a commit share the next one, so that a disk that syncs 200 times a
 * second can still take thousands of logins a second. No call is answered before its commit is on disk.
 */
export const serveWriter = (features: Parts): void =>
  serveThread(({ opened, secrets }: WriterData) => openWriter({ ...ownParts, ...features }, opened, secrets))

function openWriter(parts: Parts, opened: OpenedFiles, secrets: WriterData['secrets']) {
  const db = openDatabase(opened.file, { mode: 'write', cache: 2_000 })
  const files = createFilesInPlace(opened)
  // FULL syncs the write-ahead log at every commit, so that an acknowledged change survives a power failure.
  db.exec('PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL')
  // The log restarts at about this size, unless a read needs its content; then the file is cut to this size.
  db.exec(`PRAGMA journal_size_limit = ${4 * 1024 * 1024}`)
  const rescue = createRescue(db)
  const find = () => {
    const loss = files.find()
    rescue(loss)
    return loss
  }
  // Looks even when there are no writes.
  const looking = setInterval(find, lookAgainAfter).unref()
  const requireFiles = () => {
    const loss = find()
    if (loss) throw new StoreUnavailable(loss.message)
  }
  const bases = createBases(db, entitiesFolder(dirname(opened.file)))
  const requireTrail = onceDone(() => transaction(db, () => perform(db, openTrail(secrets))))
  return {
    handlers: handlersOn({ parts, db, bases, requireFiles, requireTrail }),
    close: () => {
      clearInterval(looking)
      db.close()
    },
  }
}

/** Does the work at each call until it has succeeded once. */
function onceDone(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) work()
    isDone = true
  }
}

/**
 * Without its log, the database has only what was copied into it. While this connection is open, the log can
 * still be read: all of it is copied, once for each loss.
 */
function createRescue(db: Database): (loss: Loss | undefined) => void {
  let isDone = false
  return loss => {
    if (!loss) isDone = false
    if (!loss || isDone) return
    isDone = true
    if (loss.file === 'database' || loss.how === 'truncated') return
    try {
      db.exec('PRAGMA wal_checkpoint(FULL)')
    } catch {
      // The log is damaged, too. The loss is reported anyway.
    }
  }
}
