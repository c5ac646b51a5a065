import type { Clock } from '../clock.ts'
import { createClock } from '../shared/clock.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'

interface Parts {
  readonly db: Database
  readonly snapshot: Pick<SharedSnapshot, 'known' | 'state'>
  readonly write: Write
}

/** Time in ms after which the store is looked at for a new mark if no request has looked at it. */
const lookAgainAfter = 1_000

/** The clock of the embedded store, whose mark all processes and event loops share. */
export function sqliteClock({ db, snapshot, write }: Parts): Clock {
  let mark = 0
  let read = -1
  let lookedAt = Number.NEGATIVE_INFINITY
  return createClock({
    read: at => {
      // Looking up a token's session has just looked at the store; a second look would be a system call for each request.
      const isOld = at - lookedAt > lookAgainAfter
      if (isOld) lookedAt = at
      const state = isOld ? snapshot.state() : snapshot.known()
      if (state !== read) {
        read = state
        mark = db.get<{ mark: number }>('SELECT mark FROM state')?.mark ?? 0
      }
      return mark
    },
    raise: (to, from) => write('raiseMark', to, from),
  })
}
