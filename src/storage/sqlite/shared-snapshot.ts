import type { Database } from './driver.ts'

/**
 * Reads on the main connection share one snapshot for a turn of the event loop: taking SQLite's locks costs several
 * times the read itself. A turn ends by itself, and before any change of this process is acknowledged, so that
 * whoever was told of a change never meets the state before it (T4).
 */
export interface SharedSnapshot {
  /** Begins a turn if there is none. @returns its number: the same number, the same state of the store */
  enter(): number
  end(): void
}

export function createSharedSnapshot(db: Database): SharedSnapshot {
  const begin = db.prepare('BEGIN')
  const commit = db.prepare('COMMIT')
  let number = 0
  let open = false
  const end = () => {
    if (!open) return
    open = false
    try {
      commit.run()
    } catch {
      // A store that fails says so at the next read, to somebody who can be told.
    }
  }
  return {
    enter: () => {
      if (!open) {
        begin.run()
        open = true
        number++
        setImmediate(end)
      }
      return number
    },
    end,
  }
}
