import { statSync } from 'node:fs'
import { join } from 'node:path'
import { StoreUnavailable } from '../../lib/errors.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import { versionParts } from '../records/pending-changes.ts'
import type { PublishedEntity } from '../statements/entities.ts'
import type { StoredWrite } from '../statements/record-writes.ts'
import type { Database } from './driver.ts'
import { lookAgainAfter } from './files-in-place.ts'
import { baseOf, openRecords, recordReader, unreadable } from './record-versions.ts'

/** Maximum number of entities per look, and of those whose files are opened because they have changed. */
const [maxLooked, maxOpened] = [500, 25]
/** Maximum number of versions that are known to be as they were written. */
const maxKnown = 10_000

interface Stored {
  readonly name: string
  readonly version: string
  readonly count: number
}

const selectStored = "SELECT name, version, definition ->> '$.source.count' AS count FROM entity"

const selectKept = "SELECT version, definition ->> '$.source.count' AS count FROM kept_version WHERE id = ?"

/**
 * The files of the versions that entities have, as far as requests and changes need them.
 * @param db the store @param folder with the files of entities
 */
export function createBases(db: Database, folder: string) {
  const fileOf = (version: string) => join(folder, `${version}.db`)
  /** Device, inode, size and time of change of the files of each version that was read. */
  const known = new RecentlyUsed<string, string>(maxKnown)
  let looked = Number.NEGATIVE_INFINITY
  let last = ''
  let found: { readonly name: string; readonly error: StoreUnavailable } | undefined

  const stored = (name: string) =>
    db.get<Stored & Record<string, unknown>>(`${selectStored} WHERE name = ?`, name)

  /** @returns true if files were opened */
  function require({ version, count }: Omit<Stored, 'name'>): boolean {
    const files = [version, baseOf(version)].filter(one => one !== undefined).map(fileOf)
    const now = files.map(stateOf).join()
    if (known.get(version) === now) return false
    readSome(fileOf, version, count)
    known.add(version, now)
    return true
  }

  /** Goes on where the last look ended, so that the time of a look doesn't grow with the number of entities. */
  function look(): void {
    looked = performance.now()
    const lost = found && stored(found.name)
    const error = lost && lossIn(() => require(lost))
    found = lost && error && { name: lost.name, error }
    if (found) return
    const some = db.all<Stored & Record<string, unknown>>(
      `${selectStored} WHERE name > ? ORDER BY name LIMIT ?`,
      last,
      maxLooked,
    )
    last = ''
    let opened = 0
    for (const entity of some) {
      const error = lossIn(() => {
        if (require(entity)) opened++
      })
      if (error) {
        found = { name: entity.name, error }
        return
      }
      if (opened === maxOpened || entity === some[maxLooked - 1]) {
        last = entity.name
        return
      }
    }
  }

  return {
    /** Checks some of the files, at most once a second. @throws StoreUnavailable for the first that can't be read */
    requireSome: (): void => {
      if (performance.now() - looked >= lookAgainAfter) look()
      if (found) throw found.error
    },
    /** @throws StoreUnavailable if a change is made over a version whose file can't be read */
    requireFor: (name: string, args: readonly unknown[]): void => {
      if (name === 'entities.restore') {
        const kept = db.get<Stored & Record<string, unknown>>(selectKept, args[1] as number)
        if (kept) require(kept)
        return
      }
      const needed = versionsFor(name, args)
      if (needed === undefined) return
      const entity = stored(needed.entity)
      if (entity && needed.version === entity.version) require(entity)
      if (needed.made) require(needed.made)
    },
  }
}

export type Bases = ReturnType<typeof createBases>

function lossIn(look: () => void): StoreUnavailable | undefined {
  try {
    look()
  } catch (error) {
    if (error instanceof StoreUnavailable) return error
    throw error
  }
  return undefined
}

/** @returns the version that a change is made over, and the one that it makes of it */
function versionsFor(name: string, [change]: readonly unknown[]) {
  if (name === 'entities.writeRecord') {
    const { entity, version } = change as StoredWrite
    return { entity, version, made: undefined }
  }
  if (name === 'entities.writeTogether') {
    const [first] = change as readonly StoredWrite[]
    return first && { entity: first.entity, version: first.version, made: undefined }
  }
  if (name !== 'entities.point') return undefined
  const { name: entity, replaces, version, count } = change as PublishedEntity
  return { entity, version: versionParts(replaces ?? '').stored, made: { version, count } }
}

/** Device, inode, size, and time of the last change, permissions included. */
function stateOf(file: string): string {
  try {
    const { dev, ino, size, ctimeNs } = statSync(file, { bigint: true })
    return `${dev}:${ino}:${size}:${ctimeNs}`
  } catch {
    // Opening the file reports the reason.
    return ''
  }
}

/** Reads the ends of each part of a version. @param count the number of its records @throws StoreUnavailable */
function readSome(fileOf: (version: string) => string, version: string, count: number): void {
  const db = openRecords(fileOf, version, { cache: 100 })
  try {
    const parts = db.all<{ length: number }>(
      `SELECT length(ranks) AS length FROM rank${baseOf(version) === undefined ? '' : ' UNION ALL SELECT length(slots) FROM slot'}`,
    )
    const last = db.get<{ n: number | null }>('SELECT max(n) AS n FROM main.record')?.n ?? null
    const isWhole = baseOf(version) !== undefined || (last ?? -1) + 1 === count
    if (!isWhole || parts.some(({ length }) => length !== count * Uint32Array.BYTES_PER_ELEMENT))
      throw unreadable(fileOf(version), 'has other records than those that were written')
    if (last !== null) recordReader(db)(last)
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error
    throw unreadable(fileOf(version), 'is damaged', error)
  } finally {
    db.close()
  }
}
