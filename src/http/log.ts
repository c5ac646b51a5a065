import { writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import type { FastifyBaseLogger } from 'fastify'

/** The descriptor of standard output; a worker thread's own stream has none. */
const standardOutput = 1

const key = 'carrel: whether the last line of the log was cut off'

/** 1 if the last line was cut off, 0 otherwise. Shared, because all event loops write to one output. */
const isCut = new Int32Array(
  (getEnvironmentData(key) as unknown as SharedArrayBuffer | undefined) ??
    new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
)

/** Tells the threads started from now on about lines that others have cut off. */
export const shareLog = (): void => setEnvironmentData(key, isCut.buffer as never)

/**
 * Writes a line to standard output. One that can't be written, because the disk is full or the reader has
 * gone, is lost, and the service goes on; a stream would end or block the process.
 */
export function writeLine(line: string): void {
  // A cut-off line stays a line of its own.
  const bytes = Buffer.from(Atomics.load(isCut, 0) === 0 ? line : `\n${line}`)
  try {
    const written = writeSync(process.stdout.fd ?? standardOutput, bytes)
    Atomics.store(isCut, 0, written < bytes.length ? 1 : 0)
  } catch {}
}

/** Levels as pino numbers them (https://getpino.io/#/docs/api?id=logger-level). */
export const levels = { info: 30, warn: 40, error: 50, silent: 100 } as const

/** Members of every line of the log. */
export const originOf = (level: number) => ({
  level,
  time: Date.now(),
  pid: process.pid,
  hostname: hostname(),
})

/**
 * Creates the log: a line of JSON for each entry, in pino's form. The framework would watch every response
 * for a logger of its own, which takes a twentieth of the time of a short request.
 */
export function createLog(least: keyof typeof levels): FastifyBaseLogger {
  const at = (level: number) =>
    level < levels[least]
      ? () => {}
      : function (this: { readonly request?: string } | undefined, given: unknown, text?: string) {
          const request = this?.request
          const members = given instanceof Error ? { err: given } : typeof given === 'object' ? given : {}
          const msg = typeof given === 'string' ? given : (text ?? (members as { err?: Error })?.err?.message)
          writeLine(
            `${printed({ ...originOf(level), ...(request !== undefined && { request }), ...members, msg })}\n`,
          )
        }
  const [info, warn, error, none] = [at(levels.info), at(levels.warn), at(levels.error), () => {}]
  const log: FastifyBaseLogger = {
    level: least,
    info,
    warn,
    error,
    fatal: error,
    debug: none,
    trace: none,
    silent: none,
    child: () => log,
  }
  return log
}

/** The log as one request writes to it: each line has the id of the request. A class, because each request makes one. */
class LogOfRequest {
  readonly base: FastifyBaseLogger
  readonly request: string
  constructor(base: FastifyBaseLogger, request: string) {
    this.base = base
    this.request = request
  }
  get level(): string {
    return this.base.level
  }
  info(given: unknown, text?: string): void {
    this.base.info.call(this, given, text)
  }
  warn(given: unknown, text?: string): void {
    this.base.warn.call(this, given, text)
  }
  error(given: unknown, text?: string): void {
    this.base.error.call(this, given, text)
  }
  fatal(given: unknown, text?: string): void {
    this.base.error.call(this, given, text)
  }
  debug(): void {}
  trace(): void {}
  silent(): void {}
  child(): FastifyBaseLogger {
    return this
  }
}

export const logOf = (base: FastifyBaseLogger, request: string): FastifyBaseLogger =>
  new LogOfRequest(base, request)

/** Returns the function by which both a log and those of requests that belong to it write warnings. */
export const writerOf = (log: Pick<FastifyBaseLogger, 'warn'>): FastifyBaseLogger['warn'] =>
  log instanceof LogOfRequest ? log.base.warn : log.warn

/** Prints a line. What can't be printed, such as objects in a circle, is left out: a log must not throw. */
function printed(line: ReturnType<typeof originOf> & { readonly msg?: string | undefined }): string {
  try {
    return JSON.stringify(line, withErrors)
  } catch {
    const { level, time, pid, hostname, msg } = line
    return JSON.stringify({ level, time, pid, hostname, msg })
  }
}

/** Errors have no members that JSON would show. */
function withErrors(_name: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause } = value
  return { type: name, message, stack, cause }
}
