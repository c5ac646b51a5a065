import { readReaders, type Viewer } from '../../model/readers.ts'
import { createAudiences, type Seen } from '../statements/audiences.ts'
import type { Database } from './driver.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'

/** @returns a function that gives the audiences that admit a viewer (docs/decisions/0011), including new ones */
export function sqliteAudiences(
  db: Database,
  snapshot: SharedSnapshot,
): (viewer: Viewer, how?: Seen) => readonly number[] {
  const audiences = createAudiences()
  let checkedState = -1
  return (viewer, how) => {
    const state = snapshot.enter()
    if (state !== checkedState)
      for (const { id, readers } of db.all<{ id: number; readers: string }>(
        'SELECT id, readers FROM audience WHERE id > ? ORDER BY id',
        audiences.lastId,
      ))
        audiences.add(id, readReaders(readers))
    checkedState = state
    return audiences.admitting(viewer, how)
  }
}
