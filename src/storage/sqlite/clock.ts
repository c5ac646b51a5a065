import type { Clock } from '../clock.ts'
import { createClock, type Mark } from '../statements/clock.ts'
import type { Database } from './driver.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'

interface Parts {
  readonly db: Database
  readonly snapshot: Pick<SharedSnapshot, 'known' | 'state'>
  readonly raise: Mark['raise']
}

/** The clock of the embedded store, whose mark all processes and event loops share. */
export function sqliteClock({ db, snapshot, raise }: Parts): Clock {
  let mark = 0
  let read = -1
  return createClock({
    read: hasLooked => {
      const state = hasLooked ? snapshot.known() : snapshot.state()
      if (state !== read) {
        read = state
        mark = db.get<{ mark: number }>('SELECT mark FROM state')?.mark ?? 0
      }
      return mark
    },
    raise,
  })
}
