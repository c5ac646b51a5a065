import type { Content } from '../model/items.ts'
import type { Repository } from '../storage/repository.ts'
import type { FileStore } from './file-store.ts'
import { readThrough } from './opened.ts'

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
 * Reads every content that a bitstream has, and compares it with its SHA-256.
 * @throws the reason of the signal when it aborts
 */
export async function verify(
  files: Pick<FileStore, 'open'>,
  repository: Pick<Repository, 'contents' | 'contentsInUse' | 'holders'>,
  progress: (share: number) => void = () => {},
  signal?: AbortSignal,
): Promise<VerifyReport> {
  const report = { checked: 0, bytes: 0, missing: [] as Missing[], damaged: [] as Damage[] }

  const named = async (sha256: string): Promise<Missing> => ({
    sha256,
    files: await repository.holders(sha256),
  })

  async function check(content: Content): Promise<void> {
    const { sha256, size } = content
    const file = await files.open(sha256)
    if (!file) {
      // The last bitstream may have been deleted since the query, and a sweep may have removed the content.
      if ((await repository.contentsInUse([sha256])).has(sha256)) report.missing.push(await named(sha256))
      return
    }
    report.checked++
    const damaged = async (reason: string) => {
      report.damaged.push({ ...content, ...(await named(sha256)), reason })
    }
    try {
      const found = await readThrough(file)
      report.bytes += found.size
      if (found.size !== size) await damaged(`has ${found.size} bytes`)
      else if (found.sha256 !== sha256) await damaged(`hashes to ${found.sha256}`)
    } catch (error) {
      // A disk error.
      await damaged(`can't be read: ${(error as Error).message}`)
    } finally {
      await file.close()
    }
  }

  for (let after = ''; ; ) {
    const contents = await repository.contents(after, contentsAtOnce)
    const last = contents.at(-1)
    if (!last) return report
    const next = contents.values()
    await Promise.all(
      Array.from({ length: maxReads }, async () => {
        for (const content of next) {
          signal?.throwIfAborted()
          await check(content)
        }
      }),
    )
    after = last.sha256
    // Contents come in the order of their SHA-256 values, which are evenly distributed.
    progress(Number.parseInt(after.slice(0, 8), 16) / 2 ** 32)
  }
}
