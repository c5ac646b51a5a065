import type { FilesPlace } from '../../config/files-place.ts'
import type { Files, FilesStore } from '../../files/files.ts'
import { openFiles } from '../../files/open-files.ts'
import { type Opened, openedFile } from '../../files/opened.ts'
import { WrongAnswer } from '../../lib/errors.ts'
import { version } from '../../lib/version.ts'
import type { Content } from '../../model/items.ts'
import type { Snapshot, TakeSnapshot } from '../../storage/copy/snapshot.ts'
import { snapshotsOfSqlite } from '../../storage/copy/snapshot-sqlite.ts'
import { contentsIn, countContents, forEachContent, holdersIn } from './contents.ts'
import { type BackedUpFile, currentFormat, type LostContent, type Manifest } from './manifest.ts'

/** The store to back up. */
export interface Source {
  readonly takeSnapshot: TakeSnapshot
  readonly files: Pick<Files, 'bucket' | 'open' | 'pauseSweeps'>
}

/** The destination of a backup: a folder or a stream. */
export interface Target {
  /** An empty folder for the files of the snapshot. */
  readonly staging: string
  /** Versions of entities that the target already has, by path. */
  readonly known: ReadonlyMap<string, Content>
  has(content: Content): Promise<boolean>
  /** @returns true if it has copied the content from there without reading it */
  copyFrom(files: Source['files'], content: Content): Promise<boolean>
  /**
   * Keeps a copy of the open file.
   * @param expected the content that it should have; undefined if that is not known yet
   * @returns the content that it has
   */
  keep(file: Opened, expected: Content | undefined): Promise<Content>
}

export interface Made {
  readonly manifest: Manifest
  /** Number and bytes of the items' contents that were copied. The target already had all others. */
  readonly copied: { readonly count: number; readonly bytes: number }
}

export type Progress = (step: string, share: number) => void

/**
 * Copies everything that a store holds at one moment. Any number of services and commands may use the store meanwhile.
 * @returns the manifest, which is to be written last
 */
export async function copyStore(source: Source, target: Target, progress: Progress): Promise<Made> {
  // This comes before the snapshot, so that every content that the snapshot names stays until the end.
  const release = await source.files.pauseSweeps()
  try {
    const made = new Date().toISOString()
    const snapshot = await source.takeSnapshot(target.staging, new Set(target.known.keys()), progress)
    try {
      const files = await copyFiles(snapshot, target, progress)
      const { copied, lost } = await copyContents(snapshot, source.files, target, progress)
      const { schema, storeId: store, exposed } = snapshot
      const contents = countContents(snapshot.db)
      return {
        manifest: {
          format: currentFormat,
          carrel: version,
          schema,
          store,
          made,
          files,
          contents,
          lost,
          exposed,
        },
        copied,
      }
    } finally {
      await snapshot.close()
    }
  } finally {
    await release()
  }
}

async function copyFiles(
  snapshot: Snapshot,
  target: Target,
  progress: Progress,
): Promise<readonly BackedUpFile[]> {
  const files: BackedUpFile[] = []
  for (const [at, { path, file }] of snapshot.files.entries()) {
    progress(path, at / snapshot.files.length)
    const content =
      file === undefined ? target.known.get(path) : await target.keep(await openedFile(file), undefined)
    if (content === undefined) throw new Error(`the snapshot has no ${path}`)
    files.push({ path, ...content })
  }
  return files
}

async function copyContents(
  { db }: Snapshot,
  store: Source['files'],
  target: Target,
  progress: Progress,
): Promise<{ copied: Made['copied']; lost: readonly LostContent[] }> {
  const copied = { count: 0, bytes: 0 }
  const failed: Content[] = []

  /** @returns false if the content is missing in the store or damaged */
  async function copy(content: Content): Promise<boolean> {
    if (await target.has(content)) return true
    // A copy that isn't the content may be one of a damaged content, which reading it tells.
    const isCopied = await target.copyFrom(store, content).catch(error => {
      if (error instanceof WrongAnswer) return false
      throw error
    })
    if (isCopied) {
      copied.count++
      copied.bytes += content.size
      return true
    }
    const file = await store.open(content.sha256)
    if (!file) return false
    try {
      const kept = await target.keep(file, content)
      if (kept.sha256 !== content.sha256) return false
      copied.count++
      copied.bytes += kept.size
      return true
    } finally {
      await file.close()
    }
  }

  const { bytes } = countContents(db)
  let done = 0
  await forEachContent(contentsIn(db), async content => {
    if (!(await copy(content))) failed.push(content)
    done += content.size
    progress('files', bytes === 0 ? 1 : done / bytes)
  })
  const lost: LostContent[] = []
  // A second attempt, because an ingest may have been about to put the content back at the first one.
  for (const content of failed)
    if (!(await copy(content))) lost.push({ sha256: content.sha256, files: holdersIn(db, content.sha256) })
  return { copied, lost }
}

interface Store {
  readonly database: { readonly kind: 'embedded' } | { readonly kind: 'postgres'; readonly url: string }
  readonly dataFolder: string
  readonly files: FilesPlace
}

/** Returns the store to back up. */
export async function sourceOf(config: Store, repository: FilesStore): Promise<Source> {
  const { database, dataFolder } = config
  const files = await openFiles(config.files, repository)
  if (database.kind === 'embedded') return { takeSnapshot: snapshotsOfSqlite(dataFolder), files }
  const { snapshotsOfPostgres } = await import('../../storage/copy/snapshot-postgres.ts')
  return { takeSnapshot: snapshotsOfPostgres(database.url), files }
}
