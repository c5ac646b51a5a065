import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** Transfers of files as clients on bad lines see them, and what the operating system says of the other side. */
export type Headers = Readonly<Record<string, string>>

/** @returns an answer of which nothing is read yet, on a connection of its own */
export async function begin(url: string, headers: Headers = {}): Promise<IncomingMessage> {
  const request = get(url, { agent: false, headers })
  // Told to the answer, too.
  request.on('error', () => {})
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  return answer
}

/** Reads on to the end. @returns the bytes; undefined when the connection broke off before all were there */
export async function finish(answer: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of answer) chunks.push(chunk as Buffer)
  } catch {
    return undefined
  }
  return answer.complete ? Buffer.concat(chunks) : undefined
}

/** The same for what is too much to be kept. @returns its SHA-256 */
export async function finishHashed(answer: IncomingMessage): Promise<string> {
  const sum = createHash('sha256')
  for await (const chunk of answer) sum.update(chunk as Buffer)
  return answer.complete ? sum.digest('hex') : 'broken off'
}

/** Reads at least so many bytes, if there are as many, and goes away. */
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

/** How many descriptors the process has open on files whose path holds this text (proc(5)). */
export const openOn = (pid: number, text: string): number =>
  readdirSync(`/proc/${pid}/fd`).filter(name => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`).includes(text)
    } catch {
      // Closed meanwhile.
      return false
    }
  }).length

/** Resident memory, in bytes. */
export const residentOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

const hasRead = (pid: number) => Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])

/** Waits until the process reads no more files: all its clients hold it up. */
export async function untilHeldUp(pid: number): Promise<void> {
  for (let before = -1, now = hasRead(pid); now - before > 64 * 1024; now = hasRead(pid)) {
    before = now
    await sleep(500)
  }
}
