import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { readThrough } from '../files/file-store.ts'
import { layoutOf } from '../files/layout.ts'
import { makeTemporaryFolder } from '../lib/temporary-folder.ts'
import { type BackupFolder, openToRead } from './folder.ts'
import { copyStore, type Made, type Progress, type Source } from './make.ts'
import { backupName, manifestText } from './manifest.ts'
import { createTar, unpackTar } from './tar.ts'

/** Writes a backup as a tar archive of a folder of backups: unpacked, it is one. The manifest comes last. */
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
        keep: async (file, expected) => {
          // Read twice: the name and the size come before the bytes.
          const content = await readThrough(file)
          if (expected === undefined || expected.sha256 === content.sha256)
            await tar.addFile(placeOf(content.sha256), file, content.size)
          return content
        },
      },
      progress,
    )
    const name = backupName(made.manifest)
    await tar.addText(`backups/${name}.json`, manifestText(made.manifest))
    await tar.end()
    return { ...made, name }
  } finally {
    staging.remove()
  }
}

/** A folder that goes when the process ends, after a signal or because nobody reads its output, too. It holds secrets. */
function temporaryFolder() {
  const path = makeTemporaryFolder('backup')
  const clear = () => rmSync(path, { recursive: true, force: true })
  const end = (signal: NodeJS.Signals) => {
    clear()
    // It ends the process now, because this was the only listener.
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

/** Unpacks such an archive. @param work an empty folder */
export async function openStream(input: AsyncIterable<Buffer>, work: string): Promise<BackupFolder> {
  const folder = join(work, 'unpacked')
  await unpackTar(input, folder)
  return openToRead(folder)
}
