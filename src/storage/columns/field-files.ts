import { readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isLeftOver } from '../../lib/process-ids.ts'
import type { RecordEntity } from '../entities.ts'
import { closeStored, openStored, type StoredField } from './stored-field.ts'

/** Time after which a file that was missing is looked for again, in ms. */
const missingFor = 1_000

/** Time after which a file of no version was left by a process that died, in ms. */
const abandonedAfter = 3_600_000

/** The files of the fields of versions (docs/decisions/0070), each version's in a folder of its own. */
export interface FieldFiles {
  /** @returns undefined if the field has no file, or not yet */
  stored(entity: RecordEntity, field: number): StoredField | undefined
  /** The path of the file that the field has or may get. */
  pathOf(entity: Versioned, field: number): string
  /** Forgets the files of all other versions. */
  keepOnly(versions: ReadonlySet<string>): void
  /** Removes the files of a version. */
  remove(version: string): void
  /** Removes files that belong to no version, an hour after they were written. */
  sweep(versions: ReadonlySet<string>): void
}

type Versioned = { readonly source: Pick<RecordEntity['source'], 'version'> }

interface Known {
  readonly found: StoredField | undefined
  readonly until: number
}

/** @param folder of all versions */
export function createFieldFiles(folder: string): FieldFiles {
  const known = new Map<string, Known[]>()
  const pathOf = ({ source }: Versioned, field: number) =>
    join(folder, source.version, `${field}`)
  return {
    stored: (entity, field) => {
      const { version, count } = entity.source
      const fields = known.get(version) ?? []
      const before = fields[field]
      if (before && (before.found || performance.now() < before.until)) return before.found
      known.set(version, fields)
      const found = openStored(pathOf(entity, field), count)
      fields[field] = { found, until: performance.now() + missingFor }
      return found
    },
    pathOf,
    remove: version => rmSync(join(folder, version), { recursive: true, force: true }),
    keepOnly: versions => {
      for (const version of known.keys()) if (!versions.has(version)) known.delete(version)
      closeStored(path => known.has(basename(dirname(path))))
    },
    sweep: versions => {
      for (const name of namesIn(folder)) {
        const path = join(folder, name)
        const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
        if (!versions.has(name)) {
          if (Date.now() - written > abandonedAfter) rmSync(path, { recursive: true, force: true })
        } else
          for (const file of namesIn(path)) if (isLeftOver(file)) rmSync(join(path, file), { force: true })
      }
    },
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
