import { quantity } from '../../lib/quantities.ts'
import type { Check } from './facts.ts'
import { findingsAbout } from './finding.ts'

const { ok, note, warning } = findingsAbout('load')

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
    yield warning(
      `CARREL_PASSWORD_CONCURRENCY is ${passwordConcurrency}, on a machine with ${quantity(processors, 'processor')}: a burst of logins takes all of them, and other requests wait`,
      advice('CARREL_PASSWORD_CONCURRENCY'),
    )
  }
  const wait = Math.round((passwordQueue / Math.min(passwordConcurrency, processors)) * hashTime)
  if (wait > patience) {
    isRight = false
    yield warning(
      `CARREL_PASSWORD_QUEUE is ${passwordQueue}: the last login in a full queue waits for about ${wait} s`,
      `set it to ${Math.floor((patience / hashTime) * Math.min(passwordConcurrency, processors))} or less: a client that gets 503 tries again`,
    )
  }
  if (workers > processors) {
    isRight = false
    yield note(
      `CARREL_WORKERS is ${workers}, on a machine with ${quantity(processors, 'processor')}: more threads only cost memory`,
      advice('CARREL_WORKERS'),
    )
  }
  if (cacheSize > memory / 2) {
    isRight = false
    yield warning(
      `CARREL_CACHE_SIZE is ${Math.round(cacheSize / 1024 ** 2)} MB, more than half of this machine's memory`,
      'set it to a quarter of the memory or less',
    )
  }
  if (isRight) yield ok(`threads, queues and cache fit ${quantity(processors, 'processor')}`)
}
