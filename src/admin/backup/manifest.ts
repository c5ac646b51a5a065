import { hash } from 'node:crypto'
import { OperatorError } from '../../lib/errors.ts'
import { systemReason } from '../../lib/system-errors.ts'
import type { Content } from '../../model/items.ts'
import type { ExposedEntity } from '../../storage/copy/snapshot.ts'

/** The format of manifests that this version of Carrel writes and reads. */
export const currentFormat = 2

/**
 * The manifest of one backup (docs/decisions/0025). Everything that it names is on disk before the manifest gets its
 * final name, so a backup with a manifest is complete. The contents of its items are those that its `carrel.db` names.
 */
export interface Manifest {
  readonly format: number
  /** The version of Carrel that made the backup. */
  readonly carrel: string
  /** The schema version of `carrel.db`. */
  readonly schema: number
  /** The id of the store. */
  readonly store: string
  /** Beginning of the backup in RFC 3339. */
  readonly made: string
  /** `carrel.db`, `secret` and `entities/*.db`, as in a data folder. */
  readonly files: readonly BackedUpFile[]
  /** Number of distinct contents of its items, and their total size in bytes. */
  readonly contents: { readonly count: number; readonly bytes: number }
  /** Contents that were missing or damaged in the store, and so are not in the backup. */
  readonly lost: readonly LostContent[]
  readonly exposed: readonly ExposedEntity[]
}

export interface BackedUpFile extends Content {
  readonly path: string
}

export interface LostContent {
  readonly sha256: string
  /** Some of the files with this content, as `<identifier of the item>, <bundle>/<name>`. */
  readonly files: readonly string[]
}

/** The backup is damaged, or of a newer version of Carrel. */
export class BadBackup extends OperatorError {}

/** Returns the name of a backup. Names sort in the order of their times. */
export const backupName = ({ made }: Manifest): string => made.replaceAll(/[:.]/g, '-')

const sealed = (text: string): string => `${text}\n${hash('sha256', text)}\n`

/** Returns the manifest as JSON on one line, followed by the SHA-256 of that line on the next. */
export const manifestText = (manifest: Manifest): string => sealed(JSON.stringify(manifest))

/** @param path its place in messages @throws BadBackup if it is damaged, or of a newer version of Carrel */
export function readManifest(text: string, path: string): Manifest {
  const [line = ''] = text.split('\n')
  if (text !== sealed(line))
    throw new BadBackup(`${path} is damaged: its SHA-256 is not the one in its second line`)
  const manifest = JSON.parse(line) as Manifest
  if (manifest.format !== currentFormat)
    throw new BadBackup(
      `${path} was made by Carrel ${manifest.carrel}, in a format that this one doesn't know; use that version`,
    )
  return manifest
}

/** Returns the file of the backup that has this path in a data folder. @throws BadBackup if there is none */
export function fileNamed(manifest: Manifest, path: string): BackedUpFile {
  const file = manifest.files.find(one => one.path === path)
  if (!file) throw new BadBackup(`the backup of ${manifest.made} has no ${path}`)
  return file
}

/** One backup of a folder, as its manifest describes it. */
interface ListedBackup {
  readonly name: string
  /** True if its manifest is intact. Only `verifyBackups` reads the files that the manifest names. */
  readonly complete: boolean
  /** The reason why it is not complete; null if it is. */
  readonly fault: string | null
  readonly made: string | null
  readonly carrel: string | null
  /** Total size in bytes of all files that it names. Those shared by several backups are on disk once. */
  readonly bytes: number | null
  readonly contents: number | null
  /** Number of contents that the store itself had lost. */
  readonly lost: number | null
}

/** Maximum number of backups listed, because other programs may put files into the folder. */
const maxBackups = 1_000
/** Maximum size of a manifest in bytes. It has an entry for each entity, and for each lost content. */
const maxManifest = 64 * 1024 ** 2

/** The files in which the manifests of a folder or a bucket are. */
export interface Manifests {
  /** Returns the names of all files there; none if the place does not exist yet. */
  list(): Promise<readonly string[]>
  /** @param limit maximum size in bytes @returns undefined if it is larger */
  read(file: string, limit?: number): Promise<string | undefined>
}

/** Returns the names of the backups, oldest first. */
export const namesIn = async (manifests: Pick<Manifests, 'list'>): Promise<readonly string[]> =>
  (await manifests.list())
    .filter(name => name.endsWith('.json'))
    .map(name => name.slice(0, -'.json'.length))
    .toSorted()

/** Lists backups, newest first, without locking their place, so that it works during a backup. */
export async function listBackups(manifests: Manifests): Promise<readonly ListedBackup[]> {
  const names = (await namesIn(manifests)).toReversed().slice(0, maxBackups)
  const listed: ListedBackup[] = []
  for (const name of names) listed.push(await describe(manifests, name))
  return listed
}

async function describe(manifests: Manifests, name: string): Promise<ListedBackup> {
  try {
    const text = await manifests.read(`${name}.json`, maxManifest)
    if (text === undefined) throw new BadBackup('its manifest is too large')
    const { made, carrel, files, contents, lost } = readManifest(text, name)
    const bytes = files.reduce((total, { size }) => total + size, contents.bytes)
    return {
      name,
      complete: true,
      fault: null,
      made,
      carrel,
      bytes,
      contents: contents.count,
      lost: lost.length,
    }
  } catch (error) {
    const fault =
      error instanceof BadBackup ? 'its manifest is damaged, or of a newer Carrel' : systemReason(error)
    if (fault === undefined) throw error
    const unknown = { made: null, carrel: null, bytes: null, contents: null, lost: null }
    return { name, complete: false, fault, ...unknown }
  }
}
