import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from '../storage/repository.ts'
import {
  graceMilliseconds,
  isSha256,
  type Layout,
  layoutOf,
  move,
  orUndefined,
  ownName,
  restoreOrphan,
  touch,
} from './layout.ts'
import { claim, OtherStore } from './owner.ts'

export interface SweepReport {
  /** Contents that nothing refers to, out of the way since now. */
  readonly setAside: number
  /** Contents that have been out of the way, and something refers to them again. */
  readonly broughtBack: number
  readonly deleted: number
  /** What broken-off ingests have left of half-written files. */
  readonly leftovers: number
}

/**
 * Clears away contents that no bitstream has, while others ingest. Between asking the store and deleting a file,
 * somebody may keep the same content again and commit; so a content goes in steps, each a rename:
 *
 * 1. Older than an hour and not referred to: it becomes young, moves to `orphans/`, and the store is asked again. From
 *    there it is still delivered, and whoever keeps the same content takes it back.
 * 2. In `orphans/` for an hour: it moves to a name that only this sweep knows, so that nobody can take it back any more.
 *    Only then is the store asked for the last time, and the file deleted if nobody has made it young meanwhile.
 *
 * Killed anywhere, it leaves a file in `orphans/`, where the next sweep finds it. An ingest makes every content that it
 * relies on young, and looks after each commit whether all are in place: it still has the files to put them back.
 *
 * @param store the one that the folder belongs to, or from now on does
 * @param now as Date.now() gives it
 * @throws OtherStore when it belongs to another
 */
export async function sweep(
  folder: string,
  store: Pick<Repository, 'storeId' | 'contents' | 'contentsInUse'>,
  progress: (share: number) => void = () => {},
  now: number = Date.now(),
): Promise<SweepReport> {
  const layout = layoutOf(folder)
  const isOld = async (path: string) => {
    const found = await orUndefined(stat(path))
    return found !== undefined && now - found.mtimeMs > graceMilliseconds
  }
  const unused = async (names: readonly string[]) => {
    const used = await store.contentsInUse(names)
    return names.filter(name => !used.has(name))
  }
  const report = { setAside: 0, broughtBack: 0, deleted: 0, leftovers: 0 }
  if (!(await orUndefined(stat(folder)))) return report
  if (!(await claim(folder, store))) throw new OtherStore(folder)

  for (const name of (await orUndefined(readdir(layout.incoming))) ?? []) {
    const path = join(layout.incoming, name)
    if (!(await isOld(path))) continue
    await rm(path, { force: true })
    report.leftovers++
  }

  for (const name of (await orUndefined(readdir(layout.orphans))) ?? []) {
    const path = join(layout.orphans, name)
    const sha256 = name.slice(0, 64)
    if (!isSha256(sha256)) continue
    const [isUnused] = await unused([sha256])
    if (isUnused === undefined) {
      if (await returnTo(layout, path, sha256)) report.broughtBack++
      continue
    }
    if (!(await isOld(path))) continue
    const own = ownName(layout.orphans, `${sha256}.`)
    if (!(await move(path, own))) continue
    const [isStillUnused] = await unused([sha256])
    if (isStillUnused === undefined || !(await isOld(own))) {
      if (await returnTo(layout, own, sha256)) report.broughtBack++
      continue
    }
    await rm(own, { force: true })
    report.deleted++
  }

  for await (const names of namesIn(layout, progress))
    for (const name of await unused(names)) {
      const place = layout.placeOf(name)
      if (!(await isOld(place)) || !(await touch(place)) || !(await move(place, layout.orphanOf(name))))
        continue
      const [isStillUnused] = await unused([name])
      if (isStillUnused === undefined) await restoreOrphan(layout, name)
      else report.setAside++
    }
  return report
}

/** Back into its place from wherever it was put aside. */
async function returnTo(layout: Layout, path: string, sha256: string): Promise<boolean> {
  const orphan = layout.orphanOf(sha256)
  if (path !== orphan && !(await move(path, orphan))) return false
  return restoreOrphan(layout, sha256)
}

const namesAtOnce = 500

/** The contents that are in place, some at a time. A SHA-256 is as likely here as there: its begin is the share that is done. */
async function* namesIn(layout: Layout, progress: (share: number) => void): AsyncIterable<string[]> {
  let names: string[] = []
  for (const outer of await foldersIn(layout.folder))
    for (const inner of await foldersIn(join(layout.folder, outer))) {
      progress(Number.parseInt(outer + inner, 16) / 65_536)
      names.push(...(await readdir(join(layout.folder, outer, inner))).filter(isSha256))
      if (names.length < namesAtOnce) continue
      yield names
      names = []
    }
  yield names
}

const foldersIn = async (folder: string): Promise<string[]> =>
  ((await orUndefined(readdir(folder))) ?? []).filter(name => /^[0-9a-f]{2}$/.test(name)).sort()
