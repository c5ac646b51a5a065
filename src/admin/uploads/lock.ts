import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../http/problems.ts'
import type { Hold, HoldOptions } from '../../lib/hold.ts'
import { hasEnded, ownProcessId } from '../../lib/process-ids.ts'
import { unlessMissing } from '../../lib/system-errors.ts'
import type { UploadPlace } from './place.ts'

interface Waiting extends HoldOptions {
  /** Maximum time in ms to wait. */
  readonly patience: number
  /** Time in ms between two attempts. */
  readonly step: number
  /** The problem of a caller who has waited that long. */
  busy(): Problem
}

/** Waits until something is free, and holds it. @throws Problem 404 if it isn't there */
export async function waitForHold(
  place: UploadPlace,
  name: string,
  { patience, step, busy, ...options }: Waiting,
): Promise<Hold> {
  for (const begun = performance.now(); ; ) {
    const hold = await place.hold(name, options)
    if (hold === 'gone') throw new Problem('not-found', place.absent)
    if (hold !== 'held') return hold
    if (performance.now() - begun > patience) throw busy()
    // Two that try at the same moment both give way.
    await delay(step * (0.5 + Math.random()))
  }
}

/**
 * Waits for the lock on an upload: only one request at a time adds to it, in whichever event loop. A client whose
 * connection broke tries again before the service has noticed: then the older request has to stop.
 * @param onWanted called when another request wants the lock, or has taken it
 */
export const lockUpload = (place: UploadPlace, id: string, onWanted: () => void): Promise<Hold> =>
  waitForHold(place, `${id}/lock`, {
    // The holder learns of it by its next beat, and then has to stop.
    silence: 30_000,
    onWanted,
    patience: 7_000,
    step: 100,
    busy: () =>
      new Problem('upload-in-use', 'Another request is sending this upload. Try again when it has ended.', {
        headers: { 'retry-after': '1' },
      }),
  })

/**
 * Holds a resource that only one program can have, until the returned file is removed. A resource held by a
 * program that has ended counts as free.
 *
 * A file left by another program is never replaced, because a third program may have replaced it meanwhile
 * and hold the resource. Each caller makes a file of its own, and only then checks if it is the only one. Of
 * two callers, the one that checks last sees the other.
 * @param silence in ms: a holder whose file was not touched for that long counts as ended, even if its
 *   program runs on
 * @returns the path of the file; null if the resource is held, or wanted by another caller at the same moment
 * @throws ENOENT if the folder is missing
 */
export async function holdExclusively(
  path: string,
  silence = Number.POSITIVE_INFINITY,
): Promise<string | null> {
  const before = await filesOf(path)
  if (await someHold(before, silence, Date.now())) return null
  // A time where there is no number: none comes back, so none who was silent takes the file of another for its own.
  const own = `${path}.${before.length === 0 ? Date.now() : 1 + Math.max(0, ...before.map(numberOf))}`
  if (!(await isMade(own))) return null
  const files = await filesOf(path)
  // Fails if a holder has moved the folder away, whose file the list may lack. The clock of a file server may differ.
  const { mtimeMs } = await stat(own)
  const others = files.filter(each => each !== own)
  if (await someHold(others, silence, mtimeMs)) {
    await rm(own, { force: true })
    return null
  }
  await Promise.all(others.map(each => rm(each, { force: true })))
  return own
}

const numberOf = (file: string): number => Number(/\.(\d+)$/.exec(file)?.[1] ?? 0)

async function filesOf(path: string): Promise<readonly string[]> {
  const folder = dirname(path)
  const names = await readdir(folder)
  return names.filter(name => name.startsWith(`${basename(path)}.`)).map(name => join(folder, name))
}

async function isMade(file: string): Promise<boolean> {
  try {
    await writeFile(file, ownProcessId(), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

const someHold = async (files: readonly string[], silence: number, now: number): Promise<boolean> =>
  (await Promise.all(files.map(file => isHeld(file, silence, now)))).includes(true)

/** Time in ms after which an empty file counts as left by a program that ended while writing it. */
const writingTakes = 10_000

async function isHeld(file: string, silence: number, now: number): Promise<boolean> {
  const found = await unlessMissing(Promise.all([readFile(file, 'utf8'), stat(file)]))
  if (!found) return false
  const [owner, { mtimeMs }] = found
  const age = Math.abs(now - mtimeMs)
  return owner === '' ? age <= writingTakes : age <= silence && !hasEnded(owner)
}
