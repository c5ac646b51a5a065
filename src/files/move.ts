import { randomBytes } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { type FilesPlace, placeText } from '../config/files-place.ts'
import { OperatorError, WrongAnswer } from '../lib/errors.ts'
import { unlessMissing } from '../lib/system-errors.ts'
import type { Content } from '../model/items.ts'
import type { ContentStore } from './content-statements.ts'
import type { Files, SweepReport } from './files.ts'
import { type Damage, damageOf, eachContent, examine, type Missing, missingOf } from './verify.ts'

export interface MoveReport {
  /** Number of contents that bitstreams have. */
  readonly contents: number
  /** Those that this run copied, read again and found intact. */
  readonly copied: { readonly count: number; readonly bytes: number }
  /** Number of those that this run removed from the old place. */
  readonly removed: number
  /** Contents of the old place that no bitstream has, if it is being emptied: a later run deletes what this one sets aside. */
  readonly unused?: Pick<SweepReport, 'setAside' | 'deleted'>
  /** Contents that neither place has. */
  readonly missing: readonly Missing[]
  /** Contents that are damaged in the old place, or can't be read again in the new one. */
  readonly damaged: readonly Damage[]
}

interface Moving {
  readonly from: Files
  readonly to: Files
  readonly repository: Pick<ContentStore, 'contents' | 'contentsInUse' | 'holders'>
  /** True to remove each content from the old place once it was read in the new one. */
  readonly remove: boolean
}

/**
 * Copies the contents of all bitstreams to another place (docs/decisions/0083), while files are added. What the
 * other place has is not copied again, so an interrupted move goes on when it is repeated.
 */
export async function moveFiles(
  moving: Moving,
  progress: (share: number) => void = () => {},
  signal?: AbortSignal,
): Promise<MoveReport> {
  const { from, to, repository, remove } = moving
  await from.require()
  for (const files of [from, to])
    if (!(await files.claim()))
      throw new OperatorError(`nothing was moved: ${files.place} belongs to another store`)
  await requireApart(from, to)
  const { report, copied, copy, repair } = createCopying(moving)
  await eachContent(
    repository,
    async content => {
      report.contents++
      const isMoved = (await to.holds(content)) ? !remove || (await repair(content)) : await copy(content)
      if (isMoved && remove && (await from.remove(content.sha256))) report.removed++
    },
    progress,
    signal,
  )
  if (!remove) return { ...report, copied }
  const { setAside, deleted } = await from.sweep()
  // No node that uses the new place looks for them again.
  for await (const page of from.derived.list()) await from.derived.remove(page.map(({ name }) => name))
  return { ...report, copied, unused: { setAside, deleted } }
}

/** Copies contents, and reports what it found. */
function createCopying({ from, to, repository }: Moving) {
  const report = { contents: 0, removed: 0, missing: [] as Missing[], damaged: [] as Damage[] }
  const copied = { count: 0, bytes: 0 }

  async function addDamage(content: Content, reason: string): Promise<void> {
    report.damaged.push(await damageOf(repository, content, reason))
  }

  /**
   * Reads a content in the new place. If it is damaged there and intact in the old place, it is copied again.
   * @returns true if the new place then has the content, intact
   */
  async function repair(content: Content): Promise<boolean> {
    const there = await examine(to, content)
    if (there?.reason === undefined) return there !== undefined
    const here = await examine(from, content)
    if (here && here.reason === undefined) {
      await to.remove(content.sha256)
      return copy(content)
    }
    await addDamage(content, `${there.reason} in ${to.place}`)
    return false
  }

  /** @returns true if the new place then has the content, intact */
  async function copy(content: Content): Promise<boolean> {
    try {
      return (await to.copyFrom(from, content)) ? await isCopied(content) : await copyByReading(content)
    } catch (error) {
      if (!(error instanceof WrongAnswer)) throw error
      // Otherwise, a repeated move would take it for copied.
      const there = await examine(to, content)
      if (there?.reason !== undefined) await to.remove(content.sha256)
      await addDamage(content, `can't be copied: ${error.message}`)
      return false
    }
  }

  async function copyByReading(content: Content): Promise<boolean> {
    const file = await from.open(content.sha256)
    if (!file) {
      // A node that uses the new place already may have received it meanwhile.
      if (await to.holds(content)) return true
      const missing = await missingOf(repository, content)
      if (missing) report.missing.push(missing)
      return false
    }
    try {
      const kept = await to.keepOpened(file)
      if (kept.sha256 !== content.sha256) {
        await addDamage(content, `hashes to ${kept.sha256} in ${from.place}`)
        return false
      }
    } finally {
      await file.close()
    }
    return isCopied(content)
  }

  async function isCopied(content: Content): Promise<boolean> {
    const found = await examine(to, content)
    if (!found) return false
    if (found.reason !== undefined) {
      // Otherwise, a repeated move would take it for copied.
      await to.remove(content.sha256)
      await addDamage(content, `${found.reason} in ${to.place}`)
      return false
    }
    copied.count++
    copied.bytes += content.size
    return true
  }

  return { report, copied, copy, repair }
}

/** Refuses places that are one: a content is put into one, and must not be in the other. @throws OperatorError */
async function requireApart(from: Files, to: Files): Promise<void> {
  const { sha256, size } = await to.receive(
    (async function* () {
      yield randomBytes(32)
    })(),
  )
  try {
    if (!(await from.holds({ sha256, size }))) return
  } finally {
    await to.remove(sha256)
  }
  throw new OperatorError(`nothing was moved: ${from.place} and ${to.place} are the same place`)
}

/** @throws OperatorError if one of the places is in the other, or both are the same by their names */
export async function refuseNested(one: FilesPlace, other: FilesPlace): Promise<void> {
  const [here, there] = await Promise.all([addressOf(one), addressOf(other)])
  if (!here.startsWith(there) && !there.startsWith(here)) return
  const [first, second] = [placeText(one), placeText(other)]
  throw new OperatorError(
    here === there
      ? `nothing was moved: ${first} and ${second} are the same place`
      : `nothing was moved: of ${first} and ${second}, one is in the other`,
  )
}

/** An address that ends with a slash, by which places can be compared. */
async function addressOf(place: FilesPlace): Promise<string> {
  if (place.kind === 'folder') return `${await realPathOf(place.folder)}${sep}`
  return `${new URL(place.endpoint ?? 'https://s3.amazonaws.com').origin} ${place.bucket}/${place.prefix}`
}

/** Follows links as far as there are folders. */
async function realPathOf(path: string): Promise<string> {
  const found = await unlessMissing(realpath(path))
  if (found !== undefined) return found
  return join(await realPathOf(dirname(path)), basename(path))
}
