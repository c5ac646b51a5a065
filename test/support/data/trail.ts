import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { commandEvent, openStore } from '../../../src/cli/store.ts'
import { toConfig } from '../../../src/config/config.ts'
import type { Store } from '../../../src/features.ts'
import { type Verdict, verifyTrail } from '../../../src/storage/statements/verify-trail.ts'
import type { StoredEvent } from '../../../src/storage/trail.ts'
import { databaseOf, runSqlIn, storeSettings } from '../service/engines.ts'

/**
 * Changes the audit trail past the service, like an attacker with access to the database but not to the
 * secret.
 */

/**
 * Runs SQL on the tables of the store with their triggers disabled. @returns the rows of the last statement
 */
export async function tamper<T = Record<string, unknown>>(dataFolder: string, sql: string): Promise<T[]> {
  if ((await databaseOf(dataFolder)) !== undefined)
    return runSqlIn<T>(
      dataFolder,
      `SET search_path TO carrel; SET session_replication_role TO replica; ${sql}`,
    )
  const db = new DatabaseSync(join(dataFolder, 'carrel.db'), { timeout: 5_000 })
  try {
    db.exec('DROP TRIGGER IF EXISTS event_is_append_only_1; DROP TRIGGER IF EXISTS event_is_append_only_2')
    const statements = sql.split(';').filter(one => one.trim() !== '')
    let rows: unknown[] = []
    for (const one of statements) rows = db.prepare(one).all()
    return rows as T[]
  } finally {
    db.close()
  }
}

/** Records this number of events, one after another. */
export async function addEvents({ trail }: Store, count: number): Promise<void> {
  for (let at = 0; at < count; at++) await trail.record(commandEvent('group.add', `group ${at}`))
}

export const verify = ({ trail }: Store, kept: string | null = null, maxFaults = 100): Promise<Verdict> =>
  trail.read(reader => verifyTrail(reader, { maxFaults, kept }, () => {}))

/** Opens the store of the folder, and closes it when the work is done. */
export async function withStorage<T>(
  dataFolder: string,
  work: (storage: Store) => Promise<T>,
  env: Readonly<Record<string, string>> = {},
): Promise<T> {
  const storage = await openStore(toConfig({ ...(await storeSettings(dataFolder)), ...env }), {
    create: true,
  })
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

export const storedEvents = ({ trail }: Store): Promise<StoredEvent[]> =>
  trail.read(async reader => {
    const events: StoredEvent[] = []
    for await (const event of reader.events({ since: null, until: null })) events.push(event)
    return events
  })
