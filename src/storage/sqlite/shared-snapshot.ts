import { readSync } from 'node:fs'
import { StoreUnavailable } from '../../lib/errors.ts'
import type { KeptOpen } from '../../lib/kept-open.ts'
import type { Viewer } from '../../model/readers.ts'
import type { AllowedSessions } from '../../model/sessions.ts'
import { createAudiences, type Seen } from '../statements/audiences.ts'
import { createClock, type Mark } from '../statements/clock.ts'
import type { HotSessions } from '../statements/sessions.ts'
import type { Clock } from '../storage.ts'
import type { Database } from './driver.ts'
import { type FilesInPlace, headerLength } from './files-in-place.ts'
import { readSession } from './hot.ts'
import { perform } from './perform.ts'
import type { Write } from './threads.ts'

/**
 * Results of reads are kept until the store changes, and reads share one snapshot for a turn of the event
 * loop, because taking SQLite's locks costs several times as much as the read.
 *
 * Changes are noticed in the index of the write-ahead log, which every process maps: its header changes with
 * each commit, before the commit returns (https://sqlite.org/walformat.html, section 2.1). A read of a file
 * sees what others have written to a mapping of it. So once a change is acknowledged by any event loop or
 * process, none reads the state before it (T4).
 * @param index of the database, to which `connection` is open
 */
export function createSharedSnapshot(connection: Database, index: KeptOpen, files: FilesInPlace) {
  const begin = connection.prepare('BEGIN')
  const commit = connection.prepare('COMMIT')
  let now = Buffer.alloc(headerLength)
  let before = Buffer.alloc(headerLength)
  let number = 0
  let isOpen = false
  let isClosed = false
  /** True until the running callback gives way: what has arrived by then is answered from one look. */
  let hasLooked = false
  const lookAgain = () => {
    hasLooked = false
  }

  const end = () => {
    if (!isOpen) return
    isOpen = false
    try {
      commit.run()
    } catch {
      // If the store fails, the next read fails too and reports it.
    }
  }

  function requireFiles(): void {
    if (isClosed) throw new StoreUnavailable('the store is closed')
    files.requireLately()
  }

  function state(): number {
    requireFiles()
    if (hasLooked) return number
    hasLooked = true
    queueMicrotask(lookAgain)
    // This copy of the header is written last. If a part of the index was cut off, SQLite's access to that
    // memory would end the process.
    if (readSync(index.descriptor, now, 0, headerLength, 0) < headerLength) files.require()
    if (!now.equals(before)) {
      ;[now, before] = [before, now]
      number++
      end()
    }
    return number
  }

  const check = () => {
    if (isOpen) state()
    else requireFiles()
  }

  return {
    /** @returns the number of the state of the store; equal numbers mean that nothing has changed */
    state,
    /** @returns the number that was found at the last look, without a system call */
    known: () => number,
    /** Begins a snapshot unless one of the current state is open. @returns the number of the state */
    enter: (): number => {
      // The state is read before the snapshot begins: a commit in between only makes the snapshot end early.
      const current = state()
      if (!isOpen) {
        begin.run()
        isOpen = true
        setImmediate(end)
      }
      return current
    },
    /** The database, whose reads end a snapshot that is out of date. */
    db: checkedBefore(connection, check),
    /** Closes the connection, too. */
    close: () => {
      end()
      isClosed = true
      connection.close()
      // The index is closed after the last lock.
      index.close()
    },
  }
}

export type SharedSnapshot = ReturnType<typeof createSharedSnapshot>

const checkedBefore = (connection: Database, check: () => void): Database => ({
  ...connection,
  get: (sql, ...values) => {
    check()
    return connection.get(sql, ...values)
  },
  all: (sql, ...values) => {
    check()
    return connection.all(sql, ...values)
  },
})

/** @returns a function that gives the audiences that admit a viewer (docs/decisions/0011), including new ones */
export function sqliteAudiences(
  db: Database,
  snapshot: SharedSnapshot,
): (viewer: Viewer, how?: Seen) => readonly number[] {
  const audiences = createAudiences()
  let checkedState = -1
  return (viewer, how) => {
    const state = snapshot.enter()
    if (state !== checkedState) perform(db, audiences.readNew())
    checkedState = state
    return audiences.admitting(viewer, how)
  }
}

interface ClockParts {
  readonly db: Database
  readonly snapshot: Pick<SharedSnapshot, 'known' | 'state'>
  readonly raise: Mark['raise']
}

/** The clock of the embedded store, whose mark all processes and event loops share. */
export function sqliteClock({ db, snapshot, raise }: ClockParts): Clock {
  let mark = 0
  let read = -1
  const clock = createClock({
    read: hasLooked => {
      const state = hasLooked ? snapshot.known() : snapshot.state()
      if (state !== read) {
        read = state
        mark = db.get<{ mark: number }>('SELECT mark FROM state')?.mark ?? 0
      }
      return mark
    },
    raise,
  })
  return { ...clock, skew: () => null }
}

interface SessionParts {
  readonly db: Database
  readonly snapshot: SharedSnapshot
  readonly write: Write
  readonly refresh: HotSessions['refresh']
}

/** Maximum number of cached stamps. */
const maxStamps = 10_000

/** Sessions: reads are synchronous on the caller's thread, writes go through the single writer. */
export function sqliteSessions({ db, snapshot, write, refresh }: SessionParts): HotSessions {
  const stamp = db.prepare('SELECT stamp FROM eperson WHERE uuid = ? AND enabled = 1')
  const stamps = new Map<string, number | undefined>()
  /** The state of the store when the stamps were read. */
  let stampsState = -1
  const allowedSessions = db.prepare('SELECT allow_sessions FROM alert WHERE active = 1')
  let allowed: AllowedSessions = 'all'
  let allowedState = -1
  function refreshAllowed(state: number): void {
    if (state === allowedState) return
    allowed = (allowedSessions.get()?.[0] as AllowedSessions | undefined) ?? 'all'
    allowedState = state
  }

  return {
    stampOf: uuid => {
      if (snapshot.state() === stampsState && stamps.has(uuid)) return stamps.get(uuid)
      const state = snapshot.enter()
      if (state !== stampsState || stamps.size >= maxStamps) stamps.clear()
      stampsState = state
      refreshAllowed(state)
      const found = stamp.get(uuid)?.[0] as number | undefined
      stamps.set(uuid, found)
      return found
    },
    of: uuid => {
      refreshAllowed(snapshot.enter())
      return readSession(db, uuid)
    },
    allowed: () => allowed,
    begin: (login, event) => write('recordLogin', login, event),
    refresh,
    logout: (uuid, event) => write('logout', uuid, event),
  }
}
