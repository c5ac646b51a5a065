import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isOutOfDescriptors } from './system-errors.ts'

/**
 * Returns a name for the running program by which others on the same machine can tell that it has
 * ended. A process id may be reused, even immediately in a container, but not together with the time at
 * which the process began.
 */
export const ownProcessId = (): string => JSON.stringify([hostname(), process.pid, begunAt(process.pid)])

/** Returns the running program's name, encoded for use in a file name. */
export const processIdInName = (): string => Buffer.from(ownProcessId()).toString('base64url')

/**
 * @param name a file name that ends with a dot and the `processIdInName` of its maker
 * @returns true if that program has certainly ended; false if the name has no such end
 */
export function isLeftOver(name: string): boolean {
  const program = /\.([\w-]+)$/.exec(name)?.[1]
  const text = program === undefined ? '' : Buffer.from(program, 'base64url').toString()
  return read(text) !== undefined && hasEnded(text)
}

type Program = readonly [host: string, pid: number, begun: string | null]

/**
 * @returns true if the program has certainly ended, or if the text names no program; false for a
 * program on another machine
 */
export function hasEnded(program: string): boolean {
  const named = read(program)
  if (!named) return true
  const [host, pid, begun] = named
  if (host !== hostname()) return false
  if (begun !== null && begunAt(process.pid) !== null) return begunAt(pid) !== begun
  return !isThere(pid)
}

/** @returns undefined for a text that was damaged, such as by a machine that failed */
function read(program: string): Program | undefined {
  try {
    const named: unknown = JSON.parse(program)
    return Array.isArray(named) && named.length === 3 ? (named as unknown as Program) : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the beginning of a process in ticks since the machine started (proc(5), field 22 of `stat`); null
 * if there is no such file or process.
 */
function begunAt(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The program's name is in parentheses, and may itself contain spaces and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch (error) {
    // A program whose file can't be opened for now must not pass for one that has ended.
    if (isOutOfDescriptors(error)) throw error
    return null
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // The process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The form of a folder's name: `<purpose>.<program>` and the suffix that `mkdtemp` adds. */
const pattern = /^(carrel-[a-z]+\.[\w-]+)\.\w{6}$/

/** Makes a folder among the system's temporary files. Its name says which program has to remove it. */
export const makeTemporaryFolder = (purpose: string): string =>
  mkdtempSync(join(tmpdir(), `carrel-${purpose}.${processIdInName()}.`))

/** Removes this user's temporary folders whose programs were killed. */
export function clearTemporaryFolders(): void {
  for (const name of readdirSync(tmpdir())) {
    const named = pattern.exec(name)?.[1]
    if (named === undefined || !isLeftOver(named)) continue
    const path = join(tmpdir(), name)
    const found = lstatSync(path, { throwIfNoEntry: false })
    // Every user may add files to the system's temporary folder.
    if (found?.isDirectory() && found.uid === process.getuid?.())
      rmSync(path, { recursive: true, force: true })
  }
}
