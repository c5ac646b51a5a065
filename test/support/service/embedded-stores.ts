import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../../src/storage/sqlite/driver.ts'
import { databaseFile, migrate } from '../../../src/storage/sqlite/migrate.ts'
import { scratch } from './postgres-server.ts'

let template: Uint8Array | undefined

/**
 * Puts the database of a new store into an empty folder. It is created once in a process and copied, which
 * takes a tenth of the time.
 */
export function createEmbeddedStore(dataFolder: string): void {
  if (!isEmpty(dataFolder)) return
  template ??= createTemplate()
  const file = databaseFile(dataFolder)
  writeFileSync(file, template, { mode: 0o600 })
  // Gives the store its own identity.
  const db = openDatabase(file, { mode: 'write' })
  db.run('UPDATE epersongroup SET uuid = ?, created = ?', randomUUID(), new Date().toISOString())
  db.run('UPDATE state SET store = ?', randomBytes(16).toString('hex'))
  db.close()
}

function createTemplate(): Uint8Array {
  const folder = mkdtempSync(join(scratch, 'carrel-test-template-'))
  try {
    migrate(folder, true)
    return readFileSync(databaseFile(folder))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** True for an existing, empty folder. The store creates a missing one itself. */
function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0
  } catch {
    return false
  }
}
