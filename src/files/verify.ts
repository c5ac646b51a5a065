import { StoreUnavailable, WrongAnswer } from '../lib/errors.ts'
import type { Content } from '../model/items.ts'
import type { ContentStore } from './content-statements.ts'
import type { FileStore } from './file-store.ts'
import { type Opened, readThrough } from './opened.ts'

export interface VerifyReport {
  readonly checked: number
  readonly bytes: number
  /** Contents that bitstreams have but the folder doesn't. */
  readonly missing: readonly Missing[]
  readonly damaged: readonly Damage[]
}

export interface Missing {
  readonly sha256: string
  /** Some of the files with this content, as `<identifier of the item>, <bundle>/<name>`. */
  readonly files: readonly string[]
}

export interface Damage extends Content, Missing {
  /** A clause such as `has 6 bytes`. */
  readonly reason: string
}

const contentsAtOnce = 1_000
/** Number of contents that are read at the same time, which is that of Node's thread pool. */
const maxReads = 4

/**
 * Does some work for each content that a bitstream has, with a few running at once.
 * @throws the reason of the signal when it aborts
 */
export async function eachContent(
  repository: Pick<ContentStore, 'contents'>,
  work: (content: Content) => Promise<void>,
  progress: (share: number) => void = () => {},
  signal?: AbortSignal,
): Promise<void> {
  for (let after = ''; ; ) {
    const contents = await repository.contents(after, contentsAtOnce)
    const last = contents.at(-1)
    if (!last) return
    const next = contents.values()
    await Promise.all(
      Array.from({ length: maxReads }, async () => {
        for (const content of next) {
          signal?.throwIfAborted()
          await work(content)
        }
      }),
    )
    after = last.sha256
    // Contents come in the order of their SHA-256 values, which are evenly distributed.
    progress(Number.parseInt(after.slice(0, 8), 16) / 2 ** 32)
  }
}

/**
 * Reads every content that a bitstream has, and compares it with its SHA-256.
 * @throws the reason of the signal when it aborts
 */
export async function verify(
  files: Pick<FileStore, 'open'>,
  repository: Known,
  progress: (share: number) => void = () => {},
  signal?: AbortSignal,
): Promise<VerifyReport> {
  const report = { checked: 0, bytes: 0, missing: [] as Missing[], damaged: [] as Damage[] }
  const check = async (content: Content): Promise<void> => {
    const found = await examine(files, content)
    if (!found) {
      const missing = await missingOf(repository, content)
      if (missing) report.missing.push(missing)
      return
    }
    report.checked++
    report.bytes += found.bytes
    if (found.reason !== undefined) report.damaged.push(await damageOf(repository, content, found.reason))
  }
  await eachContent(repository, check, progress, signal)
  return report
}

type Known = Pick<ContentStore, 'contents' | 'contentsInUse' | 'holders'>

/**
 * Reads a content and compares it with its SHA-256.
 * @returns undefined if it is missing; otherwise what is wrong with it, if anything is
 * @throws StoreUnavailable if the place can't be read at all
 */
export async function examine(
  files: Pick<FileStore, 'open'>,
  { sha256, size }: Content,
): Promise<{ readonly bytes: number; readonly reason: string | undefined } | undefined> {
  let file: Opened | undefined
  try {
    file = await files.open(sha256)
    if (!file) return undefined
    const found = await readThrough(file)
    const bytes = found.size
    if (bytes !== size) return { bytes, reason: `has ${bytes} bytes` }
    return { bytes, reason: found.sha256 === sha256 ? undefined : `hashes to ${found.sha256}` }
  } catch (error) {
    if (error instanceof StoreUnavailable && !(error instanceof WrongAnswer)) throw error
    // A disk error, or something else in place of the content.
    return { bytes: 0, reason: `can't be read: ${(error as Error).message}` }
  } finally {
    await file?.close()
  }
}

/** @returns undefined if no bitstream has the content any more, so that a sweep may have removed it */
export async function missingOf(
  repository: Pick<Known, 'contentsInUse' | 'holders'>,
  { sha256 }: Content,
): Promise<Missing | undefined> {
  if (!(await repository.contentsInUse([sha256])).has(sha256)) return undefined
  return { sha256, files: await repository.holders(sha256) }
}

export const damageOf = async (
  repository: Pick<Known, 'holders'>,
  content: Content,
  reason: string,
): Promise<Damage> => ({ ...content, files: await repository.holders(content.sha256), reason })
