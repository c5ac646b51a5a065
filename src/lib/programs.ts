import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * Names a running program, so that another on the same machine can tell that it has ended. The number of a process may be
 * given again, even at once in a container; together with the time at which it began, it is not.
 */
export const ownProgram = (): string => JSON.stringify([hostname(), process.pid, begunAt(process.pid)])

/** The running program's name, encoded as a part of a file name. */
export const programInName = (): string => Buffer.from(ownProgram()).toString('base64url')

/**
 * @param name of a file, which ends with a dot and what `programInName` gave its maker
 * @returns whether that program has certainly ended; false where the name has no such end
 */
export function isLeftOver(name: string): boolean {
  const program = /\.([\w-]+)$/.exec(name)?.[1]
  const text = program === undefined ? '' : Buffer.from(program, 'base64url').toString()
  return read(text) !== undefined && hasEnded(text)
}

type Program = readonly [host: string, pid: number, begun: string | null]

/** @returns whether the program has certainly ended: false of one on another machine, true of a text that names none */
export function hasEnded(program: string): boolean {
  const named = read(program)
  if (!named) return true
  const [host, pid, begun] = named
  if (host !== hostname()) return false
  if (begun !== null && begunAt(process.pid) !== null) return begunAt(pid) !== begun
  return !isThere(pid)
}

/** @returns undefined for what a machine that failed has left of the text */
function read(program: string): Program | undefined {
  try {
    const named: unknown = JSON.parse(program)
    return Array.isArray(named) && named.length === 3 ? (named as unknown as Program) : undefined
  } catch {
    return undefined
  }
}

/** In ticks since the machine began (proc(5), field 22 of `stat`); null where there is no such file, or no such process. */
function begunAt(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name of the program is in parentheses, and may have spaces and parentheses itself.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // It is there, but somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
