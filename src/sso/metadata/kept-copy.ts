import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Version } from './fetch.ts'
import { maxMetadata } from './read.ts'

/**
 * The last good metadata from an address, on disk: it survives a restart, and days on which the server is
 * down.
 */
export interface KeptCopy {
  /** Undefined if there is no copy. */
  version(): Promise<KeptVersion | undefined>
  read(): AsyncIterable<Uint8Array>
  /**
   * Writes new metadata to a file of its own, which replaces the copy if it is good.
   * @param check throws if it isn't
   */
  replace<T>(
    body: AsyncIterable<Uint8Array>,
    version: Version,
    check: (read: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<T>
}

interface KeptVersion extends Version {
  readonly url: string
}

export function createKeptCopy(folder: string, url: string): KeptCopy {
  const name = createHash('sha256').update(url).digest('hex').slice(0, 32)
  const file = join(folder, `${name}.xml`)
  const about = join(folder, `${name}.json`)
  return {
    version: async () => {
      try {
        const kept = JSON.parse(await readFile(about, 'utf8')) as KeptVersion
        return kept.url === url ? kept : undefined
      } catch {
        return undefined
      }
    },
    read: () => createReadStream(file),
    replace: async (body, version, check) => {
      await mkdir(folder, { recursive: true })
      const part = join(folder, `${name}.${randomUUID()}.part`)
      try {
        await save(part, body)
        const checked = await check(createReadStream(part))
        // The version is removed first: after a crash between these steps, everything is fetched again.
        await rm(about, { force: true })
        await rename(part, file)
        await writeFile(about, JSON.stringify({ ...version, url }))
        return checked
      } finally {
        await rm(part, { force: true })
      }
    },
  }
}

async function save(part: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const out = await open(part, 'wx', 0o600)
  try {
    let bytes = 0
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > maxMetadata) throw new Error(`it is larger than ${maxMetadata / 1024 / 1024} MiB`)
      await out.appendFile(chunk)
    }
    await out.sync()
  } finally {
    await out.close()
  }
}
