import { rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { layoutOf } from '../../files/layout.ts'
import { chunksOf, readThrough } from '../../files/opened.ts'
import { makeFolder } from '../../lib/durable-names.ts'
import { makeTemporaryFolder } from '../../lib/process-ids.ts'
import { createTar, readTar } from '../../lib/tar.ts'
import type { Backups } from './backups.ts'
import { openToRead } from './folder.ts'
import { copyStore, type Made, type Progress, type Source } from './make.ts'
import { BadBackup, backupName, manifestText } from './manifest.ts'

/** Writes a backup as a tar archive, which unpacks to a folder of backups. The manifest comes last. */
export async function backUpToStream(
  out: Writable,
  source: Source,
  progress: Progress,
): Promise<Made & { readonly name: string }> {
  const staging = temporaryFolder()
  const { placeOf } = layoutOf('contents')
  const tar = createTar(out)
  try {
    const made = await copyStore(
      source,
      {
        staging: staging.path,
        known: new Map(),
        has: async () => false,
        copyFrom: async () => false,
        keep: async (file, expected) => {
          // The file is read twice, because a tar entry has the name and size before the bytes.
          const content = await readThrough(file)
          if (expected === undefined || expected.sha256 === content.sha256)
            await tar.add(placeOf(content.sha256), content.size, chunksOf(file))
          return content
        },
      },
      progress,
    )
    const name = backupName(made.manifest)
    const manifest = Buffer.from(manifestText(made.manifest))
    await tar.add(`backups/${name}.json`, manifest.length, [manifest])
    await tar.end()
    return { ...made, name }
  } finally {
    staging.remove()
  }
}

/**
 * Creates a folder for secrets, which is removed when the process ends, even after a signal or because its
 * output is no longer read.
 */
export function temporaryFolder() {
  const path = makeTemporaryFolder('backup')
  const clear = () => rmSync(path, { recursive: true, force: true })
  const end = (signal: NodeJS.Signals) => {
    clear()
    // The signal now ends the process, because this was its only listener.
    process.kill(process.pid, signal)
  }
  process.once('exit', clear).once('SIGINT', end).once('SIGTERM', end)
  return {
    path,
    remove: () => {
      process.off('exit', clear).off('SIGINT', end).off('SIGTERM', end)
      clear()
    },
  }
}

/** Paths that a backup consists of. All others are refused, so that nothing is written elsewhere. */
const expected = /^(contents\/[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{64}|backups\/[\w-]+\.json)$/

/**
 * Unpacks such an archive.
 * @param work an empty folder
 * @throws BadBackup if it is something else, or ends early
 */
export async function openStream(input: Readable, work: string): Promise<Backups> {
  const folder = join(work, 'unpacked')
  const broken = (why: string, cause?: Error) =>
    new BadBackup(`what was read is not a backup, or ends early: ${why}`, { cause })
  for await (const { name, kind, content } of readTar({ input, whole: true, broken })) {
    if (!expected.test(name) || kind !== 'file') throw broken(`it has ${JSON.stringify(name)}`)
    const path = join(folder, name)
    makeFolder(dirname(path))
    const file = await open(path, 'w', 0o600)
    try {
      for await (const chunk of content()) await file.writeFile(chunk)
    } finally {
      await file.close()
    }
  }
  return openToRead(folder)
}
