import type { Clock } from '../clock.ts'
import { createClock } from '../shared/clock.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'

/** How often the mark is read, in ms: another process may have reset it. */
const readAgainAfter = 1_000

/** The clock of the embedded store, whose mark all processes and event loops share. */
export function sqliteClock({ db, write }: { readonly db: Database; readonly write: Write }): Clock {
  let mark = 0
  let readAt = Number.NEGATIVE_INFINITY
  return createClock({
    read: at => {
      if (at - readAt > readAgainAfter) {
        readAt = at
        mark = db.get<{ mark: number }>('SELECT mark FROM state')?.mark ?? 0
      }
      return mark
    },
    raise: (to, from) => write('raiseMark', to, from),
  })
}
