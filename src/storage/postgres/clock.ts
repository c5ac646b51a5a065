import type { Clock } from '../clock.ts'
import { createClock } from '../statements/clock.ts'
import { raiseMark } from './clock-changes.ts'
import type { Pool } from './driver.ts'

/** The clock of all nodes, whose mark comes with every look-up. */
export interface PostgresClock extends Clock {
  refresh(mark: number): void
}

export function postgresClock(pool: Pool): PostgresClock {
  let current = 0
  const clock = createClock({
    read: () => current,
    raise: (to, from) => raiseMark(pool, to, from),
  })
  return {
    ...clock,
    refresh: mark => {
      current = mark
    },
  }
}
