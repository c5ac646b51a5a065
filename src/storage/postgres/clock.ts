import type { Clock } from '../clock.ts'
import { createClock, type Mark } from '../statements/clock.ts'

/** The clock of all nodes, whose mark comes with every look-up. */
export interface PostgresClock extends Clock {
  refresh(mark: number): void
}

export function postgresClock(raise: Mark['raise']): PostgresClock {
  let current = 0
  return {
    ...createClock({ read: () => current, raise }),
    refresh: mark => {
      current = mark
    },
  }
}
