import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Layout, modesIn, syncFolder } from './layout.ts'

/** Creates folders and syncs their parents before they are used. Once per process, because no folder is ever removed. */
export function createFolders(layout: Layout) {
  const made = new Map<string, Promise<void>>()

  function once(folder: string, make: () => Promise<void>): Promise<void> {
    const known = made.get(folder)
    if (known) return known
    const making = make()
    made.set(folder, making)
    // After a failure, such as a full disk, the next call tries again.
    making.catch(() => made.delete(folder))
    return making
  }

  async function makeIn(parent: string, folder: string): Promise<void> {
    const { folder: mode } = await modesIn(layout.folder)
    await mkdir(folder, { recursive: true, mode })
    await syncFolder(parent)
  }

  const ready = () =>
    once(layout.folder, async () => {
      await mkdir(layout.folder, { recursive: true, mode: 0o700 })
      await syncFolder(dirname(layout.folder))
      await makeIn(layout.folder, layout.incoming)
      await makeIn(layout.folder, layout.orphans)
    })

  return {
    ready,
    of: async (place: string) => {
      const inner = dirname(place)
      const outer = dirname(inner)
      await once(outer, () => makeIn(layout.folder, outer))
      await once(inner, () => makeIn(outer, inner))
    },
  }
}
