import { randomUUID } from 'node:crypto'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../lib/durable-names.ts'
import { unlessMissing } from '../lib/system-errors.ts'
import { graceMilliseconds, layoutOf, touch } from './layout.ts'

/**
 * Prefix of a file in `incoming/` that tells every sweep to delete nothing while a backup reads contents, for
 * longer than a sweep leaves them alone. The file is renewed every few minutes. After a SIGKILL it counts for
 * an hour, and the next sweep takes it for a leftover.
 */
const prefix = 'held-'

/** Time in ms between two renewals of the hold. */
const renewal = 5 * 60 * 1000

/**
 * Keeps sweeps on every node from deleting contents of this folder.
 * @returns a function that ends the hold
 */
export async function holdContents(folder: string): Promise<() => Promise<void>> {
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
export async function areContentsHeld(folder: string, now: number): Promise<boolean> {
  const { incoming } = layoutOf(folder)
  for (const name of (await unlessMissing(readdir(incoming))) ?? []) {
    if (!name.startsWith(prefix)) continue
    const found = await unlessMissing(stat(join(incoming, name)))
    if (found && now - found.mtimeMs <= graceMilliseconds) return true
  }
  return false
}
