import { readReaders, type Viewer } from '../../model/readers.ts'
import { createAudiences } from '../shared/audiences.ts'
import type { Database } from './driver.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'

/** @returns the audiences that admit a viewer (docs/decisions/0011); new ones are read before each answer */
export function sqliteAudiences(
  db: Database,
  snapshot: SharedSnapshot,
): (viewer: Viewer) => readonly number[] {
  const audiences = createAudiences()
  const lastAudience = db.prepare('SELECT max(id) FROM audience')
  return viewer => {
    snapshot.enter()
    if (lastAudience.get()?.[0] !== audiences.last)
      for (const { id, readers } of db.all<{ id: number; readers: string }>(
        'SELECT id, readers FROM audience WHERE id > ? ORDER BY id',
        audiences.last,
      ))
        audiences.add(id, readReaders(readers))
    return audiences.of(viewer)
  }
}
