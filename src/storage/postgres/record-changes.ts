import type { AuditEvent } from '../../model/audit-events.ts'
import { RightsChanged, StoreUnavailable } from '../../model/errors.ts'
import { agreedParts, type ChangeRow, type TakenChanges, versionParts } from '../columns/changed-entities.ts'
import type { Agreed } from '../entities.ts'
import type { Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { haveRights } from './stamps.ts'
import { hasRecords, lostRecords } from './store-check.ts'

/** Changes of single records (docs/decisions/0041). */

export interface StoredWrite extends Omit<ChangeRow, 'seq'> {
  /** The version of the entity that the record was looked up in. */
  readonly version: string
  readonly before: number
}

interface Waiting {
  readonly write: StoredWrite
  readonly event: AuditEvent
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
        const written = await writeAll(pool, batch)
        for (const [at, { resolve, reject }] of batch.entries()) {
          const result = written[at] ?? false
          if (typeof result === 'boolean') resolve(result)
          else reject(result)
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

type Outcome = boolean | RightsChanged | StoreUnavailable

/** @returns for each write what `RecordWriter.write` does, or why it can't be made */
const writeAll = (pool: Pool, batch: readonly Waiting[]): Promise<readonly Outcome[]> =>
  pool.transaction(async db => {
    // One transaction at a time, so that changes become visible in the order of their numbers.
    const [state] = await db.rows<{ records: number }>('SELECT records FROM state FOR UPDATE')
    let last = state?.records ?? 0
    const allowed = await haveRights(
      db,
      batch.map(({ event }) => event),
    )
    const versions = new Map(
      (
        await db.rows<{ name: string; version: string; is_there: boolean }>(
          `SELECT e.name, e.version, ${hasRecords} AS is_there FROM entity e
           WHERE e.name = ANY($1) AND e.version IS NOT NULL`,
          [...new Set(batch.map(({ write }) => write.entity))],
        )
      ).map(row => [row.name, row] as const),
    )
    const known = new Map(
      (
        await db.rows<{ key: string; seq: number }>(
          'SELECT key, max(seq) AS seq FROM record_change WHERE key = ANY($1) GROUP BY key',
          [...new Set(batch.map(({ write }) => write.key))],
        )
      ).map(({ key, seq }) => [key, seq] as const),
    )
    const results: Outcome[] = []
    for (const [at, { write, event }] of batch.entries()) {
      if (!allowed[at]) {
        results.push(new RightsChanged())
        continue
      }
      const { entity, key, key_values, json, added, before } = write
      const stored = versions.get(entity)
      const isCurrent = stored?.version === write.version && (known.get(key) ?? 0) === before
      const isWritten = isCurrent && stored.is_there
      results.push(isCurrent && !stored.is_there ? lostRecords(entity) : isWritten)
      if (!isWritten) continue
      known.set(key, ++last)
      await db.run(
        `INSERT INTO record_change (seq, entity, key, key_values, json, added)
         VALUES ($1, $2, $3, $4, $5, $6)`,
        ...[last, entity, key, key_values, json, added],
      )
      await recordEvent(db, event)
    }
    await db.run('UPDATE state SET records = $1', last)
    return results
  })

/**
 * Removes the changes that are in a new version.
 * @param version that the entity has
 * @returns false where the new version is not made from all that the entity has
 */
export async function takeChanges(
  db: Queries,
  { name, replaces, agreed, keepsNewer = false }: TakenChanges,
  version: string | undefined,
): Promise<boolean> {
  if (replaces === undefined) {
    if (agreed && !(await stillAgreed(db, name, agreed, version))) return false
    await dropChanges(db, name)
    return true
  }
  if (replaces === null) return version === undefined
  const { stored, seq } = versionParts(replaces)
  if (stored !== version) return false
  const [last] = await db.rows<{ seq: number | null }>(
    'SELECT max(seq) AS seq FROM record_change WHERE entity = $1',
    name,
  )
  if (!keepsNewer && (last?.seq ?? 0) !== seq) return false
  await db.run('DELETE FROM record_change WHERE entity = $1 AND seq <= $2', name, seq)
  return true
}

async function stillAgreed(
  db: Queries,
  name: string,
  agreed: Agreed,
  version: string | undefined,
): Promise<boolean> {
  const { stored, seq } = agreedParts(agreed)
  if (stored !== version) return false
  const [newer] = await db.rows<{ count: number }>(
    'SELECT count(*)::int AS count FROM record_change WHERE entity = $1 AND seq > $2',
    name,
    seq,
  )
  return (newer?.count ?? 0) <= agreed.changes
}

export const dropChanges = (db: Queries, entity: string): Promise<number> =>
  db.run('DELETE FROM record_change WHERE entity = $1', entity)
