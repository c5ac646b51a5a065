import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../http/problems.ts'
import { hasEnded, ownProcessId } from '../../lib/process-ids.ts'
import { unlessMissing } from '../../lib/system-errors.ts'
import type { Hold, UploadPlace } from './place.ts'

/**
 * A lock on an upload: only one request at a time adds to it, in whichever event loop. A client whose
 * connection broke tries again before the service has noticed: then the older request has to stop.
 */
export interface Lock {
  /** @param release called when another request wants the lock */
  lock(release: () => void): Promise<void>
  unlock(): Promise<void>
}

/** Interval in ms between two attempts. */
const step = 100
/** Time in ms after which a silent holder counts as ended, even if its program runs on. */
const silence = 30_000
/** Time in ms that the holder has to stop, besides its beat. */
const patience = 5_000

export function lockOf(place: UploadPlace, id: string): Lock {
  let own: Hold | undefined
  let beating: NodeJS.Timeout | undefined
  return {
    lock: async release => {
      for (const begun = performance.now(); !own; ) {
        const hold = await place.hold(`${id}/lock`, silence, true)
        if (hold === 'gone') throw new Problem('not-found', place.absent)
        if (hold !== 'held') own = hold
        else if (performance.now() - begun > patience + place.beat)
          throw new Problem(
            'upload-in-use',
            'Another request is sending this upload. Try again when it has ended.',
            {
              headers: { 'retry-after': '1' },
            },
          )
        // Two that try at the same moment both give way.
        else await delay(step * (0.5 + Math.random()))
      }
      const held = own
      const beat = () =>
        held.beat().then(
          mustEnd => mustEnd && release(),
          () => {},
        )
      beating = setInterval(() => void beat(), place.beat).unref()
    },
    unlock: async () => {
      clearInterval(beating)
      await own?.release()
      own = undefined
    },
  }
}

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
  const own = `${path}.${1 + Math.max(0, ...before.map(numberOf))}`
  if (!(await isMade(own))) return null
  // The clock of a file server may differ from this machine's.
  const [files, { mtimeMs }] = await Promise.all([filesOf(path), stat(own)])
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
