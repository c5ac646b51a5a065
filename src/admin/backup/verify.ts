import { readThrough } from '../../files/opened.ts'
import { OperatorError } from '../../lib/errors.ts'
import type { Database } from '../../lib/sqlite.ts'
import type { Content } from '../../model/items.ts'
import { checkSnapshot } from '../../storage/copy/restored.ts'
import type { Backups } from './backups.ts'
import { contentsIn, digitsOfParts, forEachContent, holdersIn } from './contents.ts'
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
 * Reads all backups of a place again, and compares every file with its SHA-256. A file that several
 * backups share is read once.
 * @throws BadBackup if there is none
 */
export async function verifyBackups(
  backups: Backups,
  progress: Progress,
): Promise<readonly VerifiedBackup[]> {
  const opened: Opened[] = []
  try {
    const names = await backups.names()
    if (names.length === 0) throw new BadBackup(`${backups.place} holds no backup that was completed`)
    const verified: VerifiedBackup[] = []
    for (const [at, name] of names.entries()) {
      progress(name, at / names.length)
      verified.push(await verifyFiles(backups, name, opened))
    }
    for (const [part, digits] of digitsOfParts.entries()) {
      progress('files', part / digitsOfParts.length)
      await verifyContents(backups, digits, opened)
    }
    return verified
  } finally {
    for (const { db } of opened) db.close()
    await backups.close()
  }
}

/**
 * Checks a backup without the contents of its items.
 * @param opened receives the backup if its files are intact
 */
async function verifyFiles(backups: Backups, name: string, opened: Opened[]): Promise<VerifiedBackup> {
  const problems: string[] = []
  try {
    const manifest = await backups.manifest(name)
    const { lost, schema, files } = manifest
    for (const { path, ...content } of files) {
      const problem = await problemOf(backups, content)
      if (problem !== undefined) problems.push(`${problem} (${path})`)
    }
    if (problems.length === 0) {
      const db = await backups.openDatabase(manifest)
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
async function verifyContents(backups: Backups, digits: string, opened: readonly Opened[]): Promise<void> {
  const results = new Map<string, string | undefined>()
  for (const { db, lost, problems } of opened)
    await forEachContent(contentsIn(db, digits), async content => {
      const { sha256 } = content
      if (lost.has(sha256)) return
      if (!results.has(sha256)) results.set(sha256, await problemOf(backups, content))
      const problem = results.get(sha256)
      if (problem !== undefined) problems.push(`${problem} (${holdersIn(db, sha256).join('; ')})`)
    })
}

/** @returns a message that says what is wrong with a content; undefined if it is intact */
export async function problemOf(
  { contents, placeOf }: Backups,
  { sha256, size }: Content,
): Promise<string | undefined> {
  const place = placeOf(sha256)
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
