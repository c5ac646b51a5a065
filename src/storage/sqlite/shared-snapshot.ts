import type { Database } from './driver.ts'

/**
 * Reads on the main connection share one snapshot for a turn of the event loop, because taking SQLite's locks costs
 * several times as much as the read. The snapshot ends with the turn, and before any change of this process is
 * acknowledged: after an acknowledgement, no client reads the state before the change (T4).
 */
export interface SharedSnapshot {
  /** Begins a snapshot unless one is open. @returns its number; equal numbers mean the same state of the store */
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
      // If the store fails, the next read fails too and reports it.
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
