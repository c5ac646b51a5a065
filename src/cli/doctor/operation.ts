import { quantity } from '../../lib/quantities.ts'
import { nearlyFull } from '../../storage/trail.ts'
import { ago, type Check, day, duration, findingsAbout } from './finding.ts'

const administrator = findingsAbout('administrator')
const sessions = findingsAbout('sessions')
const accessTokens = findingsAbout('access tokens')
const backup = findingsAbout('backup')
const secret = findingsAbout('secret')
const schema = findingsAbout('schema')
const trail = findingsAbout('audit trail')
const snapshots = findingsAbout('snapshots')

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

/** Checks whether events that a client may repeat will be removed soon (D9). */
export const checkTrail: Check = function* ({ config: { eventsSize }, store }) {
  if (!store || store.repeatedEvents === null) return
  const said = `events that repeat take ${megabytes(store.repeatedEvents)} of ${megabytes(eventsSize)} MB`
  if (store.repeatedEvents > eventsSize * nearlyFull)
    yield trail.warning(
      `${said}; above that, the oldest of them are removed`,
      'raise CARREL_EVENTS_SIZE, or export events and prune them (`carrel events`)',
    )
  else yield trail.ok(said)
}

/** Checks whether there is room for all versions that snapshots may name (Q37). */
export const checkSnapshots: Check = function* ({ config: { keptVersions }, store }) {
  const { bytes, time } = keptVersions.held
  if (!store || store.heldVersions === null || time === 0) return
  const said = `replaced versions that are held for snapshots take ${megabytes(store.heldVersions)} of ${megabytes(bytes)} MB`
  if (store.heldVersions > bytes * nearlyFull)
    yield snapshots.warning(
      `${said}; above that, snapshots expire before CARREL_SNAPSHOT_TIME`,
      'raise CARREL_SNAPSHOT_SIZE, or lower CARREL_SNAPSHOT_TIME',
    )
  else yield snapshots.ok(said)
}

const megabytes = (bytes: number) => (bytes / 1024 ** 2).toLocaleString('en', { maximumFractionDigits: 1 })

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

/** Maximum number of addresses that a finding names. */
const mostNamed = 5

/** Lists access tokens of epersons who lack the factor that the setting demands: they go on (L17). */
export const checkAccessTokens: Check = function* ({ config: { secondFactor }, store }) {
  if (secondFactor !== 'administrators' && secondFactor !== 'everybody') return
  const found = (store?.tokensWithoutFactor ?? []).filter(
    ({ isAdministrator }) => secondFactor === 'everybody' || isAdministrator,
  )
  const names = found.slice(0, mostNamed).map(({ email }) => email)
  const more = found.length > names.length ? ` and ${found.length - names.length} more` : ''
  if (found.length > 0)
    yield accessTokens.note(
      `access tokens from before CARREL_SECOND_FACTOR=${secondFactor} go on, though no second factor is enrolled: ${names.join(', ')}${more}`,
      '`carrel access-token list` shows them, and `carrel access-token revoke` ends one',
    )
}

/**
 * Maximum age in ms. NIST SP 800-57 part 1, table 1: a symmetric key that authenticates is used for at most
 * two years.
 */
const longest = 2 * 365 * day
const usual = 365 * day

/** Checks the age of the secret that signs tokens (T7). */
export const checkSecret: Check = function* ({ config, store, now }) {
  if (config.tokenSecrets.length > 0) {
    yield secret.note(
      'CARREL_TOKEN_SECRET sets the secret; its age is unknown here',
      'replace it once a year: the new one and a comma before the old one',
    )
    return
  }
  if (!store || store.secretMade === null) return
  const age = now - store.secretMade
  const said = `the secret that signs tokens is ${quantity(Math.max(0, Math.floor(age / day)), 'day')} old`
  const advice = '`carrel secret rotate`; nobody is logged out'
  if (age > longest) yield secret.warning(said, advice)
  else if (age > usual) yield secret.note(said, advice)
  else yield secret.ok(said)
}
