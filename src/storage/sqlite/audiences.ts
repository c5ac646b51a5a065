import type { Viewer } from '../../model/readers.ts'
import { createAudiences, type Seen } from '../statements/audiences.ts'
import type { Database } from './driver.ts'
import { perform } from './perform.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'

/**
 * @returns a function that gives the audiences that admit a viewer (docs/decisions/0011), including new ones
 */
export function sqliteAudiences(
  db: Database,
  snapshot: SharedSnapshot,
): (viewer: Viewer, how?: Seen) => readonly number[] {
  const audiences = createAudiences()
  let checkedState = -1
  return (viewer, how) => {
    const state = snapshot.enter()
    if (state !== checkedState) perform(db, audiences.readNew())
    checkedState = state
    return audiences.admitting(viewer, how)
  }
}
