import { randomBytes } from 'node:crypto'
import { OperatorError } from '../../lib/errors.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { stepLength } from '../../model/factors.ts'
import { keyringOf } from '../../model/keys.ts'
import { leftTables, refusedVersion } from '../schema.ts'
import { type Database, openDatabase, transaction } from '../sqlite/driver.ts'
import { recordEvent } from '../sqlite/events.ts'
import { databaseFile, migrate, versionIn } from '../sqlite/migrate.ts'
import { perform } from '../sqlite/perform.ts'
import { baseOf } from '../sqlite/record-versions.ts'
import { schema } from '../sqlite/schema.ts'
import { readSecrets } from '../sqlite/secrets.ts'
import { sessions } from '../statements/sessions.ts'
import { openTrail, signAll } from '../statements/trail.ts'
import { entityPath } from './snapshot.ts'

export { restoringFolder } from '../sqlite/migrate.ts'

/** Says why a snapshot of this schema can't be restored; undefined if it can. Those of earlier versions are migrated. */
export const refusedSnapshot = (version: number): string | undefined => refusedVersion(schema, version)

/**
 * Checks that a snapshot's database is sound and that every version of an entity is there.
 * @param paths those of the snapshot's files
 * @throws OperatorError that says what is wrong
 */
export function checkSnapshot(db: Database, schema: number, paths: readonly string[]): void {
  const found = versionIn(db)
  if (found !== schema)
    throw new OperatorError(`carrel.db has schema version ${found}, and its backup says ${schema}`)
  const [first] = db.all<{ quick_check: string }>('PRAGMA quick_check(1)')
  if (first?.quick_check !== 'ok') throw new OperatorError(`carrel.db is damaged: ${first?.quick_check}`)
  for (const { name, version } of db.all<{ name: string; version: string }>(
    'SELECT name, version FROM entity',
  ))
    for (const one of [baseOf(version) ?? version, version])
      if (!paths.includes(entityPath(one)))
        throw new OperatorError(
          `the records of the entity ${name} are not in the backup (${entityPath(one)})`,
        )
}

interface Renewal {
  /** True if everyone has to log in again. */
  readonly endSessions: boolean
  /** CARREL_TOKEN_SECRET, newest first. */
  readonly tokenSecrets: readonly string[]
  readonly event: AuditEvent
}

/**
 * Makes a store of the snapshot in this folder: brings it to this version's schema, and gives it an id of its
 * own, so that it removes nothing from the folder of files of the store that was backed up.
 */
export function renewSnapshot(folder: string, { endSessions, tokenSecrets, event }: Renewal): void {
  migrate(folder, false)
  const keyring = keyringOf(tokenSecrets, () => readSecrets(folder).map(({ secret }) => secret))
  const db = openDatabase(databaseFile(folder), { mode: 'write' })
  try {
    transaction(db, () => perform(db, openTrail(keyring())))
    transaction(db, () => {
      db.run('UPDATE state SET store = ?', randomBytes(16).toString('hex'))
      for (const { name } of leftTables) db.run(`DELETE FROM ${name}`)
      // Numbers of changes made after the backup, or after an earlier restore of it, are not given again
      // (docs/decisions/0082): no store makes as many changes as time has microseconds.
      db.run('UPDATE state SET records = max(records + 1000000000, ?)', Date.now() * 1000)
      // Codes may have been used since the backup, too: those of this moment are refused, and later ones aren't.
      db.run(
        "UPDATE factor SET counter = max(counter, ?) WHERE kind = 'totp'",
        Math.floor(Date.now() / stepLength) + 1,
      )
      if (endSessions) {
        perform(db, sessions.changes.endAll(event))
        // Tokens may have been revoked since the backup.
        db.run('DELETE FROM access_token')
      } else recordEvent(db, event)
      // From here on only the last chain grows.
      perform(db, signAll())
    })
    // One file, without a log beside it.
    db.exec('PRAGMA journal_mode = DELETE')
  } finally {
    db.close()
  }
}
