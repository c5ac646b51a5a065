import type { Check } from './facts.ts'
import { findingsAbout } from './finding.ts'

const day = 24 * 3_600_000
const oldBackup = 7 * day

/** Whether somebody can administer the service. */
export const checkAdministrator: Check = function* ({ store }) {
  if (!store) return
  const { ok, warning } = findingsAbout('administrator')
  const { administrators } = store
  if (administrators > 0)
    yield ok(`${administrators} enabled administrator${administrators === 1 ? '' : 's'}`)
  else yield warning('there is no enabled administrator', '`carrel eperson add <email> --admin`')
}

/** Whether a session ends if its user goes on (T11). */
export const checkSessions: Check = function* ({ config: { sessionLifetime } }) {
  const { ok, note } = findingsAbout('sessions')
  if (sessionLifetime === null)
    yield note(
      'CARREL_SESSION_LIFETIME is not set: a token can be refreshed without end',
      'set it to 43200 (12 hours), so that everybody logs in once a day',
    )
  else yield ok(`a session ends ${sessionLifetime / 3_600} hours after its login`)
}

/** When the store was last backed up, as far as the audit trail knows. */
export const checkBackup: Check = function* ({ store, now }) {
  if (!store) return
  const { ok, note, warning } = findingsAbout('backup')
  if (store.newestBackup === null) {
    yield note(
      'no backup is known; backups by other means are not recorded here',
      'make sure that there is one, and that it can be restored',
    )
    return
  }
  const days = Math.max(0, Math.floor((now - store.newestBackup) / day))
  const said = `the last backup was made ${days === 0 ? 'less than a day' : `${days} days`} ago`
  if (now - store.newestBackup > oldBackup)
    yield warning(said, 'make one now, and see why none was made since')
  else yield ok(said)
}

/** Whether store and program fit. */
export const checkSchema: Check = function* ({ store }) {
  if (!store) return
  const { ok, note, error } = findingsAbout('schema')
  const { migrationsMissing } = store
  if (migrationsMissing < 0)
    yield error('a newer Carrel wrote this store, and this one refuses it', 'use the newer Carrel')
  else if (migrationsMissing > 0)
    yield note(
      'an older Carrel wrote this store; the next start or command updates it, and the older one can no longer use it then',
      'make a backup first',
    )
  else yield ok('the store has the schema of this Carrel')
}
