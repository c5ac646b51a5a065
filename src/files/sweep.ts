import { randomUUID } from 'node:crypto'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../lib/durable-names.ts'
import { isLeftOver } from '../lib/process-ids.ts'
import { unlessMissing } from '../lib/system-errors.ts'
import type { FilesStore, SweepReport } from './files.ts'
import {
  graceMilliseconds,
  isSha256,
  type Layout,
  layoutOf,
  move,
  restoreOrphan,
  touch,
  uniqueName,
} from './layout.ts'
import { claimFiles, OtherStore, ownedFolder } from './owner.ts'

/**
 * Removes contents that no bitstream has, while ingests run. Between the query to the store and the deletion,
 * an ingest may add the same content and commit. So a content is removed in steps, each a rename:
 *
 * 1. If it is older than an hour and unreferenced, its time is set to now, it moves to `orphans/`, and the
 *    store is asked again. From there it is still delivered, and an ingest of the same content moves it back.
 * 2. After an hour in `orphans/` it moves to a name that only this sweep knows, so that no ingest can move it
 *    back. Then the store is asked a last time, and the file is deleted unless its time was changed meanwhile.
 *
 * A sweep that is killed leaves the file in `orphans/`, where the next one finds it. An ingest sets the time
 * of every content that it relies on, and checks after each commit that all are in place: it can still copy
 * them again. While a backup reads the folder, nothing is deleted (hold.ts).
 *
 * @param store owns the folder, or becomes its owner
 * @param now milliseconds, as from Date.now()
 * @throws OtherStore if another store owns the folder
 */
export async function sweep(
  folder: string,
  store: Pick<FilesStore, 'storeId' | 'copiedFrom' | 'contents' | 'contentsInUse'>,
  progress: (share: number) => void = () => {},
  now: number = Date.now(),
): Promise<SweepReport> {
  const layout = layoutOf(folder)
  const isOld = async (path: string) => {
    const found = await unlessMissing(stat(path))
    return found !== undefined && now - found.mtimeMs > graceMilliseconds
  }
  const unused = async (names: readonly string[]) => {
    const used = await store.contentsInUse(names)
    return names.filter(name => !used.has(name))
  }
  const report = { setAside: 0, broughtBack: 0, deleted: 0, leftovers: 0 }
  if (!(await unlessMissing(stat(folder)))) return report
  if (!(await claimFiles(ownedFolder(folder), store))) throw new OtherStore(folder)

  report.leftovers = await clearIncoming(folder, now)

  for (const name of (await unlessMissing(readdir(layout.orphans))) ?? []) {
    const path = join(layout.orphans, name)
    const sha256 = name.slice(0, 64)
    if (!isSha256(sha256)) continue
    const [isUnused] = await unused([sha256])
    if (isUnused === undefined) {
      if (await returnTo(layout, path, sha256)) report.broughtBack++
      continue
    }
    if (!(await isOld(path)) || (await areSweepsPaused(folder, now))) continue
    const taken = uniqueName(layout.orphans, `${sha256}.`)
    if (!(await move(path, taken))) continue
    const [isStillUnused] = await unused([sha256])
    if (isStillUnused === undefined || !(await isOld(taken))) {
      if (await returnTo(layout, taken, sha256)) report.broughtBack++
      continue
    }
    await rm(taken, { force: true })
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

/**
 * Time in ms that a half-written file is left alone although its program seems to have ended: it may run in
 * another container.
 */
const quiet = 60_000

/** Removes files that were being written when their program was killed. @returns their number */
export async function clearIncoming(folder: string, now: number = Date.now()): Promise<number> {
  const { incoming } = layoutOf(folder)
  let removed = 0
  for (const name of (await unlessMissing(readdir(incoming))) ?? []) {
    const path = join(incoming, name)
    const found = await unlessMissing(stat(path))
    if (!found || now - found.mtimeMs <= (isLeftOver(name) ? quiet : graceMilliseconds)) continue
    await rm(path, { force: true })
    removed++
  }
  return removed
}

/** Moves a content back to its place from wherever the sweep had moved it. */
async function returnTo(layout: Layout, path: string, sha256: string): Promise<boolean> {
  const orphan = layout.orphanOf(sha256)
  if (path !== orphan && !(await move(path, orphan))) return false
  return restoreOrphan(layout, sha256)
}

const namesAtOnce = 500

/** Lists the contents in place, in batches. SHA-256 values are evenly distributed, so the prefix tells the progress. */
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
  ((await unlessMissing(readdir(folder))) ?? []).filter(name => /^[0-9a-f]{2}$/.test(name)).sort()

/**
 * Prefix of a file in `incoming/` that tells every sweep to delete nothing while a backup reads contents, for
 * longer than a sweep leaves them alone. The file is renewed every few minutes. After a SIGKILL it counts for
 * an hour, and the next sweep takes it for a leftover.
 */
const prefix = 'held-'

/** Time in ms between two renewals of the hold. */
const renewal = 5 * 60 * 1000

/** Keeps sweeps on every node from deleting contents of this folder. @returns a function that ends the hold */
export async function pauseSweeps(folder: string): Promise<() => Promise<void>> {
  // Without the folder there is nothing to delete.
  if (!(await unlessMissing(stat(folder)))) return async () => {}
  const { incoming } = layoutOf(folder)
  makeFolder(incoming)
  const hold = join(incoming, `${prefix}${randomUUID()}`)
  const write = () => writeFile(hold, '', { mode: 0o600 })
  // A sweep takes the file for a leftover when this process has been stopped for an hour.
  const renew = async () => {
    if (!(await touch(hold))) await write()
  }
  await write()
  let renewed: Promise<void> = Promise.resolve()
  const renewing = setInterval(() => {
    renewed = renew().catch(() => {})
  }, renewal)
  renewing.unref()
  return async () => {
    clearInterval(renewing)
    await renewed
    await rm(hold, { force: true })
  }
}

/** True if a backup reads the folder. @param now in ms, as from Date.now() */
async function areSweepsPaused(folder: string, now: number): Promise<boolean> {
  const { incoming } = layoutOf(folder)
  for (const name of (await unlessMissing(readdir(incoming))) ?? []) {
    if (!name.startsWith(prefix)) continue
    const found = await unlessMissing(stat(join(incoming, name)))
    if (found && now - found.mtimeMs <= graceMilliseconds) return true
  }
  return false
}
