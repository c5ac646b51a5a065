import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../service/waiting.ts'

/**
 * Headers of a transfer. Files are read here as clients on bad connections do, and the operating system is
 * asked about the server.
 */
export type Headers = Readonly<Record<string, string>>

/** @returns an answer of which nothing has been read yet, on a connection of its own */
export async function begin(url: string, headers: Headers = {}): Promise<IncomingMessage> {
  const request = get(url, { agent: false, headers })
  // The answer reports the error, too.
  request.on('error', () => {})
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  return answer
}

/** Reads an answer to its end. @returns the bytes, or undefined if the connection broke before */
export async function finish(answer: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of answer) chunks.push(chunk as Buffer)
  } catch {
    return undefined
  }
  return answer.complete ? Buffer.concat(chunks) : undefined
}

/** Reads an answer that is too large to be kept. @returns its SHA-256 */
export async function finishHashed(answer: IncomingMessage): Promise<string> {
  const sum = createHash('sha256')
  for await (const chunk of answer) sum.update(chunk as Buffer)
  return answer.complete ? sum.digest('hex') : 'broken off'
}

/** Reads at least this number of bytes, if there are as many, and closes the connection. */
export async function cutAfter(answer: IncomingMessage, count: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  if (count > 0)
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= count) break
    }
  answer.destroy()
  return Buffer.concat(chunks)
}

/** Returns the number of the process's open descriptors of files whose path contains the text (proc(5)). */
export const openOn = (pid: number, text: string): number =>
  readdirSync(`/proc/${pid}/fd`).filter(name => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`).includes(text)
    } catch {
      // The descriptor was closed meanwhile.
      return false
    }
  }).length

/** Returns the resident memory in bytes. */
export const residentOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

/**
 * Waits until a process keeps at most some bytes more than before. Garbage that waits to be collected is no part of
 * what it keeps.
 *
 * @returns the bytes that it has more
 */
export const keepsAtMost = (most: number, pid: number, before: number): Promise<number> =>
  until(
    `at most ${most} bytes more than before`,
    () => residentOf(pid) - before,
    grown => grown <= most,
  )

const hasRead = (pid: number) => Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])

/** Waits until the process stops reading files because all its clients have stalled. */
export async function untilHeldUp(pid: number): Promise<void> {
  for (let before = -1, now = hasRead(pid); now - before > 64 * 1024; now = hasRead(pid)) {
    before = now
    await sleep(500)
  }
}
