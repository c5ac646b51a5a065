import { quantity } from '../../lib/quantities.ts'
import type { Check } from './facts.ts'
import { findingsAbout } from './finding.ts'
import { ago, day, duration } from './words.ts'

const administrator = findingsAbout('administrator')
const sessions = findingsAbout('sessions')
const backup = findingsAbout('backup')
const schema = findingsAbout('schema')

const oldBackup = 7 * day

/** Checks whether there is an administrator who may log in. */
export const checkAdministrator: Check = function* ({ store }) {
  if (!store) return
  const { administrators } = store
  if (administrators > 0) yield administrator.ok(quantity(administrators, 'enabled administrator'))
  else
    yield administrator.warning('there is no enabled administrator', '`carrel eperson add <email> --admin`')
}

/** Checks whether a session ends although its user goes on (T11). */
export const checkSessions: Check = function* ({ config: { sessionLifetime } }) {
  if (sessionLifetime === null)
    yield sessions.note(
      'CARREL_SESSION_LIFETIME is not set: a token can be refreshed without end',
      'set it to 43200 (12 hours), so that everybody logs in once a day',
    )
  else yield sessions.ok(`a session ends ${duration(sessionLifetime)} after its login`)
}

/** Checks when the store was last backed up, as far as the audit trail knows. */
export const checkBackup: Check = function* ({ store, now }) {
  if (!store) return
  if (store.newestBackup === null) {
    yield backup.note(
      'no backup is known; backups by other means are not recorded here',
      'make sure that there is one, and that it can be restored',
    )
    return
  }
  const age = now - store.newestBackup
  const said = `the last backup was made ${ago(age)}`
  if (age > oldBackup) yield backup.warning(said, 'make one now, and see why none was made since')
  else yield backup.ok(said)
}

/** Checks whether the store has the schema of this program. */
export const checkSchema: Check = function* ({ store }) {
  if (!store) return
  const { migrationsMissing } = store
  if (migrationsMissing < 0)
    yield schema.error('a newer Carrel wrote this store, and this one refuses it', 'use the newer Carrel')
  else if (migrationsMissing > 0)
    yield schema.note(
      'an older Carrel wrote this store; the next start or command updates it, and the older one can no longer use it then',
      'make a backup first',
    )
  else yield schema.ok('the store has the schema of this Carrel')
}
