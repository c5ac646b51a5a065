import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../http/problems.ts'
import { hasEnded, ownProcessId } from '../../lib/process-ids.ts'
import { isMissing, unlessMissing } from '../../lib/system-errors.ts'

/**
 * A lock on an upload: only one request at a time adds to it, in whichever event loop. A client whose
 * connection broke tries again before the service has noticed: then the older request has to stop.
 */
export interface Lock {
  /** @param release called when another request wants the lock */
  lock(release: () => void): Promise<void>
  unlock(): Promise<void>
}

/** Interval in ms between two attempts, and between two signs of life of a holder. */
const step = 100
const beat = 500
/** Time in ms after which a silent holder counts as ended, even if its program runs on. */
const silence = 30_000
/** Time in ms that the holder has to stop. */
const patience = 5_000

export function lockOf(folder: string, id: string): Lock {
  const path = join(folder, id, 'lock')
  const wanted = join(folder, id, 'wanted')
  let own: string | null = null
  let beating: NodeJS.Timeout | undefined

  async function take(): Promise<string | null> {
    try {
      return await holdExclusively(path, silence)
    } catch (error) {
      if (isMissing(error)) throw new Problem('not-found', 'There is no upload with this id.')
      throw error
    }
  }

  return {
    lock: async release => {
      const begun = performance.now()
      for (own = await take(); own === null; own = await take()) {
        if (performance.now() - begun > patience)
          throw new Problem(
            'upload-in-use',
            'Another request is sending this upload. Try again when it has ended.',
            {
              headers: { 'retry-after': '1' },
            },
          )
        await writeFile(wanted, '', { mode: 0o600 }).catch(() => {})
        await delay(step)
      }
      await rm(wanted, { force: true })
      const held = own
      beating = setInterval(() => {
        const now = new Date()
        void utimes(held, now, now).catch(() => {})
        void stat(wanted).then(release, () => {})
      }, beat).unref()
    },
    unlock: async () => {
      clearInterval(beating)
      if (own !== null) await rm(own, { force: true })
      own = null
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
  if (await someHold(before, silence)) return null
  const own = `${path}.${1 + Math.max(0, ...before.map(numberOf))}`
  if (!(await isMade(own))) return null
  const others = (await filesOf(path)).filter(each => each !== own)
  if (await someHold(others, silence)) {
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

const someHold = async (files: readonly string[], silence: number): Promise<boolean> =>
  (await Promise.all(files.map(file => isHeld(file, silence)))).includes(true)

/** Time in ms after which an empty file counts as left by a program that ended while writing it. */
const writingTakes = 10_000

async function isHeld(file: string, silence: number): Promise<boolean> {
  const found = await unlessMissing(Promise.all([readFile(file, 'utf8'), stat(file)]))
  if (!found) return false
  const [owner, { mtimeMs }] = found
  const age = Date.now() - mtimeMs
  return owner === '' ? age <= writingTakes : age <= silence && !hasEnded(owner)
}
