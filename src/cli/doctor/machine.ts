import type { Finding } from '../../lib/findings.ts'
import { maxSkew } from '../../storage/storage.ts'
import { type Check, findingsAbout } from './finding.ts'

const clock = findingsAbout('clock')
const load = findingsAbout('load')

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
