import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isLeftOver } from '../../lib/process-ids.ts'
import type { RecordEntity } from '../entities.ts'
import { closeStored, openStored, type StoredField } from './stored-field.ts'

/** Time after which a file that was missing is looked for again, in ms. */
const missingFor = 1_000

/** The files of the fields of versions (docs/decisions/0070), each version's in a folder of its own. */
export interface FieldFiles {
  /** @returns undefined if the field has no file, or not yet */
  stored(entity: RecordEntity, field: number): StoredField | undefined
  /** The path of the file that the field has or may get. */
  pathOf(entity: RecordEntity, field: number): string
  /** Forgets the files of all other versions. */
  keepOnly(versions: ReadonlySet<string>): void
  /** Removes the files of all other versions. */
  sweep(versions: ReadonlySet<string>): void
}

interface Known {
  readonly found: StoredField | undefined
  readonly until: number
}

/** The folder with the files of a version. @param folder of all versions */
export const fieldFolder = (folder: string, version: string): string => join(folder, `${version}.fields`)

/** @param folder of all versions */
export function createFieldFiles(folder: string): FieldFiles {
  const known = new Map<string, Known[]>()
  const pathOf = ({ source }: RecordEntity, field: number) =>
    join(fieldFolder(folder, source.version), `${field}`)
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
    keepOnly: versions => {
      for (const version of known.keys()) if (!versions.has(version)) known.delete(version)
      closeStored(path => known.has(versionOf(dirname(path))))
    },
    sweep: versions => {
      for (const name of namesIn(folder)) {
        const path = join(folder, name)
        if (!versions.has(versionOf(name))) rmSync(path, { recursive: true, force: true })
        else for (const file of namesIn(path)) if (isLeftOver(file)) rmSync(join(path, file), { force: true })
      }
    },
  }
}

const versionOf = (folder: string): string => basename(folder, '.fields')

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
