import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { MisconfiguredFiles, StoreUnavailable, UnknownRequest, WrongAnswer } from '../lib/errors.ts'
import type { BucketClient } from './bucket-client.ts'
import { putAndCheck, requireKept, type Sent } from './bucket-parts.ts'
import type { Probed } from './files.ts'

/** Sizes in bytes of a part, the least that S3 takes, and of the whole probe. */
const partSize = 5 * 1024 * 1024
const size = partSize + 1_000

/**
 * Writes objects, copies them at once and in parts, reads them again, whole and in part, lists them, and removes them: all
 * that uploads, downloads and moves rely on.
 * @param prefix of all keys, which ends with a slash @param newKey makes a key of what is being written
 */
export async function probe(client: BucketClient, prefix: string, newKey: () => string): Promise<Probed> {
  const wrong: string[] = []
  const lacking: string[] = []
  const bytes = randomBytes(size)
  const [head, tail] = [bytes.subarray(0, partSize), bytes.subarray(partSize)]
  const content = { sha256: hash('sha256', bytes), size }
  const sent = { size, partSize, sums: [crc32(head), crc32(tail)] }
  const keys: string[] = []
  const key = () => {
    const made = newKey()
    keys.push(made)
    return made
  }

  /** @returns undefined if it has failed */
  async function attempt<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || error instanceof MisconfiguredFiles) throw error
      const clauses = error instanceof UnknownRequest ? lacking : wrong
      clauses.push(`${what}: ${error.message}`)
      return undefined
    }
  }

  try {
    const small = key()
    await attempt('an object that was put', () => putAndCheck(client, small, tail))
    await attempt('the list of an object', () => list(client, small))
    await attempt('the list of uploads', () => client.uploads(`${prefix}incoming/`).next())
    const source = await attempt('an object that was sent in parts', () =>
      sendInParts(client, key(), bytes, sent),
    )
    if (source !== undefined) {
      await attempt('a part of an object', () => readRange(client, source, bytes))
      for (const [what, length] of [
        ['a copy', undefined],
        ['a copy in parts', partSize],
      ] as const)
        await attempt(what, async () => {
          const to = key()
          await client.copy(source, to, content, undefined, length)
          await requireKept(client, to, sent)
        })
    }
  } finally {
    for (const one of keys) await client.remove([one]).catch(() => {})
  }
  await attempt('an object that was deleted', async () => {
    for (const one of keys)
      if ((await client.size(one)) !== undefined) throw new WrongAnswer(`${one} is still there`)
  })
  return { wrong, lacking }
}

async function sendInParts(client: BucketClient, to: string, bytes: Buffer, sent: Sent): Promise<string> {
  const [head, tail] = [bytes.subarray(0, partSize), bytes.subarray(partSize)]
  const id = await client.begin(to)
  try {
    const tags = [await client.sendPart(to, id, 1, head), await client.sendPart(to, id, 2, tail)]
    await client.complete(to, id, tags, bytes.length)
  } catch (error) {
    await client.abort(to, id).catch(() => {})
    throw error
  }
  await requireKept(client, to, sent)
  return to
}

async function readRange(client: BucketClient, from: string, bytes: Buffer): Promise<void> {
  const range = { start: partSize - 10, end: partSize + 9 }
  const part = await client.read(from, range)
  if (!part?.bytes.equals(bytes.subarray(range.start, range.end + 1)))
    throw new WrongAnswer('it has other bytes')
  if (part.before > 0)
    throw new WrongAnswer(
      'it ignores the range and sends the whole object, so that parts of large files are answered with 503',
    )
}

async function list(client: BucketClient, small: string): Promise<void> {
  const found: string[] = []
  for await (const page of client.list(small)) found.push(...page.map(one => one.key))
  if (found.join() !== small) throw new WrongAnswer(`it has ${found.length} objects in place of one`)
}
