import type { Content } from '../model/items.ts'
import type { Repository } from '../storage/repository.ts'
import { type FileStore, readThrough } from './file-store.ts'

export interface VerifyReport {
  readonly checked: number
  readonly bytes: number
  /** SHA-256 of contents that bitstreams have and the folder has not. */
  readonly missing: readonly Missing[]
  readonly damaged: readonly Damage[]
}

export interface Missing {
  readonly sha256: string
  /** Some of the files that it is, as `<identifier of the item>, <bundle>/<name>`. */
  readonly files: readonly string[]
}

export interface Damage extends Content, Missing {
  /** What is wrong with it. */
  readonly reason: string
}

const contentsAtOnce = 1_000
/** As many reads are under way as Node does at once. */
const readers = 4

/** Reads every content that a bitstream has, and holds it against its SHA-256. */
export async function verify(
  files: Pick<FileStore, 'open'>,
  repository: Pick<Repository, 'contents' | 'contentsInUse' | 'holders'>,
  progress: (share: number) => void = () => {},
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
      // Its last bitstream may have been deleted since the store was asked, and a sweep have passed.
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
      // A disk that can't read it any more.
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
      Array.from({ length: readers }, async () => {
        for (const content of next) await check(content)
      }),
    )
    after = last.sha256
    // They come in the order of SHA-256, of which one is as likely as another.
    progress(Number.parseInt(after.slice(0, 8), 16) / 2 ** 32)
  }
}
