import { readThrough } from '../../files/opened.ts'
import { OperatorError } from '../../lib/errors.ts'
import type { Database } from '../../lib/sqlite.ts'
import type { Content } from '../../model/items.ts'
import { checkSnapshot } from '../../storage/copy/restored.ts'
import { contentsIn, digitsOfParts, forEachContent, holdersIn } from './contents.ts'
import { type BackupFolder, openBackedUp, openToRead } from './folder.ts'
import type { Progress } from './make.ts'
import { BadBackup, type LostContent } from './manifest.ts'

export interface VerifiedBackup {
  readonly name: string
  /** Damaged or missing parts, each as a clause. */
  readonly problems: readonly string[]
  /** Contents that the store itself had lost when it was backed up. */
  readonly lost: readonly LostContent[]
  /** Number of contents of its items. */
  readonly contents: number
}

/** A backup whose own files are intact. */
interface Opened {
  readonly db: Database
  readonly lost: ReadonlySet<string>
  readonly problems: string[]
}

/**
 * Reads all backups of a folder again, and compares every file with its SHA-256. A file that several
 * backups share is read once.
 * @throws BadBackup if the folder holds no backup
 */
export async function verifyBackups(path: string, progress: Progress): Promise<readonly VerifiedBackup[]> {
  const folder = await openToRead(path)
  const opened: Opened[] = []
  try {
    const names = await folder.names()
    if (names.length === 0) throw new BadBackup(`${path} holds no backup that was completed`)
    const verified: VerifiedBackup[] = []
    for (const [at, name] of names.entries()) {
      progress(name, at / names.length)
      verified.push(await verifyFiles(folder, name, opened))
    }
    for (const [part, digits] of digitsOfParts.entries()) {
      progress('files', part / digitsOfParts.length)
      await verifyContents(folder, digits, opened)
    }
    return verified
  } finally {
    for (const { db } of opened) db.close()
    folder.close()
  }
}

/**
 * Checks a backup without the contents of its items.
 * @param opened receives the backup if its files are intact
 */
async function verifyFiles(folder: BackupFolder, name: string, opened: Opened[]): Promise<VerifiedBackup> {
  const problems: string[] = []
  try {
    const manifest = await folder.manifest(name)
    const { lost, schema, files } = manifest
    for (const { path, ...content } of files) {
      const problem = await problemOf(folder, content)
      if (problem !== undefined) problems.push(`${problem} (${path})`)
    }
    if (problems.length === 0) {
      const db = openBackedUp(folder, manifest)
      opened.push({ db, lost: new Set(lost.map(({ sha256 }) => sha256)), problems })
      checkSnapshot(
        db,
        schema,
        files.map(({ path }) => path),
      )
    }
    return { name, problems, lost, contents: manifest.contents.count }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    problems.push(error.message)
    return { name, problems, lost: [], contents: 0 }
  }
}

/** Checks the contents whose SHA-256 begins with these digits, each once. */
async function verifyContents(
  folder: BackupFolder,
  digits: string,
  opened: readonly Opened[],
): Promise<void> {
  const results = new Map<string, string | undefined>()
  for (const { db, lost, problems } of opened)
    await forEachContent(contentsIn(db, digits), async content => {
      const { sha256 } = content
      if (lost.has(sha256)) return
      if (!results.has(sha256)) results.set(sha256, await problemOf(folder, content))
      const problem = results.get(sha256)
      if (problem !== undefined) problems.push(`${problem} (${holdersIn(db, sha256).join('; ')})`)
    })
}

/** @returns a message that says what is wrong with a content; undefined if it is intact */
export async function problemOf(
  { layout, contents }: BackupFolder,
  { sha256, size }: Content,
): Promise<string | undefined> {
  const place = layout.placeOf(sha256)
  const file = await contents.open(sha256)
  if (!file) return `${place} is missing`
  try {
    const found = await readThrough(file)
    if (found.size !== size) return `${place} has ${found.size} bytes instead of ${size}`
    return found.sha256 === sha256 ? undefined : `${place} is damaged: it hashes to ${found.sha256}`
  } catch (error) {
    // The disk reported an error.
    return `${place} can't be read: ${(error as Error).message}`
  } finally {
    await file.close()
  }
}
