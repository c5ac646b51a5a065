import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasEnded, ownProcessId } from '../../lib/process-ids.ts'
import { unlessMissing } from '../../lib/system-errors.ts'

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
