import type { AuditEvent } from '../../model/audit-events.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import { type StoredWrite, type Writing, writeRecords } from '../statements/record-writes.ts'
import type { Pool } from './driver.ts'
import { perform } from './perform.ts'

interface Waiting extends Writing {
  readonly resolve: (isWritten: boolean) => void
  readonly reject: (error: unknown) => void
}

/** Writes that share a transaction. */
const maxTogether = 64

export interface RecordWriter {
  /** @returns as `Entities.writeRecord` */
  write(write: StoredWrite, event: AuditEvent): Promise<boolean>
  close(): Promise<void>
}

/** Writes that arrive during a transaction share the next one. */
export function createRecordWriter(pool: Pool): RecordWriter {
  let queue: Waiting[] = []
  let running: Promise<void> | undefined
  let isClosed = false

  async function run(): Promise<void> {
    // Waits for one turn of the event loop, so that requests that arrived together share the transaction.
    await new Promise(resolve => setImmediate(resolve))
    while (queue.length > 0) {
      const batch = queue.slice(0, maxTogether)
      queue = queue.slice(maxTogether)
      try {
        const outcomes = await pool.transaction(db => perform(db, writeRecords(batch)))
        for (const [at, { resolve, reject }] of batch.entries()) {
          const outcome = outcomes[at] ?? false
          if (typeof outcome === 'boolean') resolve(outcome)
          else reject(outcome)
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running = undefined
  }

  return {
    write: (write, event) => {
      if (isClosed) return Promise.reject(new StoreUnavailable('the store is closed'))
      return new Promise((resolve, reject) => {
        queue.push({ write, event, resolve, reject })
        running ??= run()
      })
    },
    close: async () => {
      isClosed = true
      await running
    },
  }
}
