import { quantity } from '../../lib/quantities.ts'
import { maxSkew } from '../../storage/storage.ts'
import { type Check, findingsAbout } from './finding.ts'

const clock = findingsAbout('clock')
const load = findingsAbout('load')

const seconds = (ms: number) => `${(Math.abs(ms) / 1000).toFixed(1)} s`

/** Compares the clock of this machine with the database's, and with the newest event of the trail. */
export const checkClock: Check = function* ({ store, now }) {
  if (!store) return
  const advice = 'set the clock by NTP on every machine (timedatectl set-ntp true)'
  const ahead = store.server?.clockAhead
  if (ahead !== undefined && Math.abs(ahead) > maxSkew)
    yield clock.warning(
      `this clock is ${seconds(ahead)} ${ahead > 0 ? 'behind' : 'ahead of'} the database's, which Carrel goes by: times in its log are wrong, and single sign-on may fail`,
      advice,
    )
  else if (ahead !== undefined) yield clock.ok("this clock and the database's agree within a second")
  if (store.newestEvent !== null && store.newestEvent > now + maxSkew)
    yield clock.error(
      `this clock is ${seconds(store.newestEvent - now)} behind the newest event of the audit trail: it was set back, or a node's clock is ahead. Events may be in the wrong order, and access rules with a date may hold too long`,
      advice,
    )
  else if (store.newestEvent !== null) yield clock.ok('this clock is not behind the audit trail')
}

/** Approximate time of one hash on one processor, in seconds (docs/performance.md). */
const hashTime = 0.05
/** Time in seconds after which browsers and proxies commonly give up. */
const patience = 30

/** Checks whether the settings of threads, queues and memory fit this machine. */
export const checkLoad: Check = function* ({ config, machine }) {
  const { passwordConcurrency, passwordQueue, workers, cacheSize } = config
  const { processors, memory } = machine
  const advice = (key: string) => `set ${key}=automatic, or leave it out`
  let isRight = true
  if (passwordConcurrency > processors) {
    isRight = false
    yield load.warning(
      `CARREL_PASSWORD_CONCURRENCY is ${passwordConcurrency}, on a machine with ${quantity(processors, 'processor')}: a burst of logins takes all of them, and other requests wait`,
      advice('CARREL_PASSWORD_CONCURRENCY'),
    )
  }
  const wait = Math.round((passwordQueue / Math.min(passwordConcurrency, processors)) * hashTime)
  if (wait > patience) {
    isRight = false
    yield load.warning(
      `CARREL_PASSWORD_QUEUE is ${passwordQueue}: the last login in a full queue waits for about ${wait} s`,
      `set it to ${Math.floor((patience / hashTime) * Math.min(passwordConcurrency, processors))} or less: a client that gets 503 tries again`,
    )
  }
  if (workers > processors) {
    isRight = false
    yield load.note(
      `CARREL_WORKERS is ${workers}, on a machine with ${quantity(processors, 'processor')}: more threads only cost memory`,
      advice('CARREL_WORKERS'),
    )
  }
  if (cacheSize > memory / 2) {
    isRight = false
    yield load.warning(
      `CARREL_CACHE_SIZE is ${Math.round(cacheSize / 1024 ** 2)} MB, more than half of this machine's memory`,
      'set it to a quarter of the memory or less',
    )
  }
  if (isRight) yield load.ok(`threads, queues and cache fit ${quantity(processors, 'processor')}`)
}
