import { rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Files, storeToBe } from '../../files/files.ts'
import { openFiles } from '../../files/open-files.ts'
import { makeFolder, syncToDisk } from '../../lib/durable-names.ts'
import { unlessMissing } from '../../lib/system-errors.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { checkSnapshot, refusedSnapshot, renewSnapshot } from '../../storage/copy/restored.ts'
import type { Backups } from './backups.ts'
import { contentsIn, copyTo, countContents, forEachContent } from './contents.ts'
import type { Progress } from './make.ts'
import { BadBackup, type Manifest } from './manifest.ts'
import { type ClaimedPlace, claimPlace, type Place } from './place.ts'
import { problemOf } from './verify.ts'

interface RestoreOptions {
  /** Name of the backup; undefined: the newest. */
  readonly name: string | undefined
  /** True if all users have to log in again. */
  readonly endSessions: boolean
  /** CARREL_TOKEN_SECRET, newest first. These secrets decrypt the keys of the audit trail. */
  readonly tokenSecrets: readonly string[]
  /** A template for the event in the restored store's trail. Its `object` is filled in. */
  readonly event: AuditEvent
}

export interface RestoreReport {
  readonly name: string
  readonly manifest: Manifest
}

/**
 * Makes a store from a backup, in an empty place. A restore that is killed at any moment leaves nothing that
 * opens as a store, and can be repeated.
 * @param openBackups opens the backups; `work` is a folder for its temporary files
 * @throws OperatorError if the place is not empty
 * @throws BadBackup if there is no such backup, it is damaged, or a newer Carrel made it; nothing
 * remains of the restore then
 */
export async function restore(
  openBackups: (work: string) => Promise<Backups>,
  place: Place,
  { name: wanted, event, ...options }: RestoreOptions,
  progress: Progress,
): Promise<RestoreReport> {
  const claimed = await claimPlace(place)
  const staging = join(claimed.work, 'store')
  let report: RestoreReport
  try {
    report = await stage(await openBackups(claimed.work), staging, claimed, place, wanted, progress)
    renewSnapshot(staging, { ...options, event: { ...event, object: report.name } })
    if (place.kind === 'embedded') await moveInto(place.dataFolder, staging)
    else {
      const { loadIntoEmpty } = await import('../../storage/copy/to-postgres.ts')
      await loadIntoEmpty(place.url, staging, progress)
    }
  } catch (error) {
    // Files that can't be removed stay marked, and the next restore removes them. The original error
    // explains why they are there.
    await claimed.abandon().catch(() => {})
    throw error
  }
  await claimed.finish()
  return report
}

/** Copies a backup to a staging folder, and the contents of its items to their final place. */
async function stage(
  backups: Backups,
  staging: string,
  claimed: ClaimedPlace,
  { files }: Place,
  wanted: string | undefined,
  progress: Progress,
): Promise<RestoreReport> {
  try {
    const name = wanted ?? (await newest(backups))
    const manifest = await choose(backups, name)
    await copyFiles(backups, manifest, staging, progress)
    await claimed.begin()
    await copyContents(backups, manifest, await openFiles(files, storeToBe), progress)
    return { name, manifest }
  } finally {
    await backups.close()
  }
}

async function newest(backups: Backups): Promise<string> {
  const name = (await backups.names()).at(-1)
  if (name === undefined) throw new BadBackup(`${backups.place} holds no backup that was completed`)
  return name
}

async function choose(backups: Backups, name: string): Promise<Manifest> {
  const names = await backups.names()
  if (!names.includes(name))
    throw new BadBackup(`${backups.place} has no backup ${name}; it has ${names.join(', ') || 'none'}`)
  const manifest = await backups.manifest(name)
  const refused = refusedSnapshot(manifest.schema)
  if (refused !== undefined)
    throw new BadBackup(`the backup ${name} was made by Carrel ${manifest.carrel} and ${refused}`)
  return manifest
}

/** Copies everything but the contents of items to a staging folder, and checks it. */
async function copyFiles(
  backups: Backups,
  manifest: Manifest,
  staging: string,
  progress: Progress,
): Promise<void> {
  for (const [at, { path, ...content }] of manifest.files.entries()) {
    progress(path, at / manifest.files.length)
    if (!/^(carrel\.db|secret|entities\/[\w.-]+\.db)$/.test(path))
      throw new BadBackup(`the backup names a file that no store has: ${JSON.stringify(path)}`)
    const to = join(staging, path)
    makeFolder(dirname(to))
    const from = await backups.contents.open(content.sha256)
    const found = from && (await copyTo(from, to))
    syncToDisk(dirname(to))
    if (found?.sha256 !== content.sha256)
      throw new BadBackup(`${await problemOf(backups, content)} (${path})`)
  }
  const db = await backups.openDatabase(manifest)
  try {
    checkSnapshot(
      db,
      manifest.schema,
      manifest.files.map(({ path }) => path),
    )
  } finally {
    db.close()
  }
}

/** Maximum number of damaged contents that an error names. */
const maxNamed = 5

async function copyContents(
  backups: Backups,
  manifest: Manifest,
  store: Pick<Files, 'keepOpened'>,
  progress: Progress,
): Promise<void> {
  const lost = new Set(manifest.lost.map(({ sha256 }) => sha256))
  const problems: string[] = []
  const db = await backups.openDatabase(manifest)
  try {
    const { bytes } = countContents(db)
    let done = 0
    await forEachContent(contentsIn(db), async content => {
      if (lost.has(content.sha256) || problems.length >= maxNamed) return
      const file = await backups.contents.open(content.sha256)
      try {
        const kept = file && (await store.keepOpened(file))
        if (kept?.sha256 !== content.sha256) problems.push(String(await problemOf(backups, content)))
      } finally {
        await file?.close()
      }
      done += content.size
      progress('files', bytes === 0 ? 1 : done / bytes)
    })
  } finally {
    db.close()
  }
  if (problems.length > 0)
    throw new BadBackup(
      `nothing was restored: ${problems.join('; ')}; \`carrel backup verify\` lists all that is damaged`,
    )
}

/** Moves the restored files into the data folder. The database comes last, because without it there is no store. */
async function moveInto(dataFolder: string, staging: string): Promise<void> {
  for (const name of ['entities', 'secret', 'carrel.db']) {
    if (!(await unlessMissing(stat(join(staging, name))))) continue
    await rename(join(staging, name), join(dataFolder, name))
    syncToDisk(dataFolder)
  }
}
