import type { Finding } from '../../lib/findings.ts'
import { maxSkew } from '../../storage/storage.ts'
import { nearlyFull } from '../../storage/trail.ts'
import { type Check, day, daysOf, findingsAbout } from './finding.ts'

const administrator = findingsAbout('administrator')
const sessions = findingsAbout('sessions')
const accessTokens = findingsAbout('access tokens')
const backup = findingsAbout('backup')
const secret = findingsAbout('secret')
const schema = findingsAbout('schema')
const trail = findingsAbout('audit trail')
const snapshots = findingsAbout('snapshots')
const clock = findingsAbout('clock')
const load = findingsAbout('load')

const oldBackup = 7 * day

/** Checks whether there is an administrator who may log in. */
export const checkAdministrator: Check = function* ({ store }) {
  if (!store) return
  const { administrators } = store
  if (administrators > 0) yield administrator.ok('administrators', { administrators })
  else yield administrator.warning('administrators-none')
}

/** Checks whether a session ends although its user goes on (T11). */
export const checkSessions: Check = function* ({ config: { sessionLifetime } }) {
  if (sessionLifetime === null) yield sessions.note('sessions-endless')
  else yield sessions.ok('sessions-end', { seconds: sessionLifetime })
}

/** Checks when the store was last backed up, as far as the audit trail knows. */
export const checkBackup: Check = function* ({ store, now }) {
  if (!store) return
  if (store.newestBackup === null) {
    yield backup.note('backup-unknown')
    return
  }
  const age = now - store.newestBackup
  yield backup[age > oldBackup ? 'warning' : 'ok']('backup-age', { days: daysOf(age) })
}

/** Checks whether events that a client may repeat will be removed soon (D9). */
export const checkTrail: Check = function* ({ config: { eventsSize }, store }) {
  if (!store || store.repeatedEvents === null) return
  const size = { takenBytes: store.repeatedEvents, maxBytes: eventsSize }
  if (size.takenBytes > eventsSize * nearlyFull) yield trail.warning('trail-nearly-full', size)
  else yield trail.ok('trail-size', size)
}

/** Checks whether there is room for all versions that snapshots may name (Q37). */
export const checkSnapshots: Check = function* ({ config: { keptVersions }, store }) {
  const { bytes, time } = keptVersions.held
  if (!store || store.heldVersions === null || time === 0) return
  const size = { takenBytes: store.heldVersions, maxBytes: bytes }
  if (size.takenBytes > bytes * nearlyFull) yield snapshots.warning('snapshots-nearly-full', size)
  else yield snapshots.ok('snapshots-size', size)
}

/** Checks whether the store has the schema of this program. */
export const checkSchema: Check = function* ({ store }) {
  if (!store) return
  const { migrationsMissing } = store
  if (migrationsMissing < 0) yield schema.error('schema-newer')
  else if (migrationsMissing > 0) yield schema.note('schema-older')
  else yield schema.ok('schema-current')
}

/** Maximum number of addresses that a finding names. */
const mostNamed = 5

/** Lists access tokens of epersons who lack the factor that the setting demands: they go on (L17). */
export const checkAccessTokens: Check = function* ({ config: { secondFactor }, store }) {
  if (secondFactor !== 'administrators' && secondFactor !== 'everybody') return
  const found = (store?.tokensWithoutFactor ?? []).filter(
    ({ isAdministrator }) => secondFactor === 'everybody' || isAdministrator,
  )
  const emails = found.slice(0, mostNamed).map(({ email }) => email)
  const more = found.length - emails.length
  if (found.length > 0)
    yield accessTokens.note('access-tokens-without-factor', { secondFactor, emails, more })
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
    yield secret.note('secret-set')
    return
  }
  if (!store || store.secretMade === null) return
  const age = now - store.secretMade
  const level = age > longest ? 'warning' : age > usual ? 'note' : 'ok'
  yield secret[level]('secret-age', { days: daysOf(age) })
}

/** Compares the clock of this machine with the database's, and with the newest event of the trail. */
export const checkClock: Check = function* ({ store, now }) {
  if (!store) return
  const ahead = store.server?.clockAhead
  if (ahead !== undefined && Math.abs(ahead) > maxSkew)
    yield clock.warning(ahead > 0 ? 'clock-behind-database' : 'clock-ahead-of-database', {
      seconds: Math.abs(ahead) / 1000,
    })
  else if (ahead !== undefined) yield clock.ok('clock-as-database')
  if (store.newestEvent !== null && store.newestEvent > now + maxSkew)
    yield clock.error('clock-behind-trail', { seconds: (store.newestEvent - now) / 1000 })
  else if (store.newestEvent !== null) yield clock.ok('clock-not-behind-trail')
}

/** Approximate time of one hash on one processor, in seconds (docs/performance.md). */
const hashTime = 0.05
/** Time in seconds after which browsers and proxies commonly give up. */
const patience = 30

/** Checks whether the settings of threads, queues and memory fit this machine. */
export const checkLoad: Check = function* ({ config, machine }) {
  const { passwordConcurrency, passwordQueue, workers, cacheSize } = config
  const { processors, memory } = machine
  const hashes = Math.min(passwordConcurrency, processors)
  const seconds = Math.round((passwordQueue / hashes) * hashTime)
  const fitting = Math.floor((patience / hashTime) * hashes)
  const found: Finding[] = []
  if (passwordConcurrency > processors)
    found.push(load.warning('hashes-many', { concurrency: passwordConcurrency, processors }))
  if (seconds > patience)
    found.push(load.warning('login-queue-long', { queue: passwordQueue, seconds, fitting }))
  if (workers > processors) found.push(load.note('workers-many', { workers, processors }))
  if (cacheSize > memory / 2) found.push(load.warning('cache-large', { cacheBytes: cacheSize }))
  yield* found.length > 0 ? found : [load.ok('load-right', { processors })]
}
