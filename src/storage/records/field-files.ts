import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Client } from '../../lib/fair-queue.ts'
import { isLeftOver, processIdInName } from '../../lib/process-ids.ts'
import { closeStored, openStored, type StoredField } from '../columns/stored-field.ts'
import { openStoredWords, type StoredWords } from '../columns/word-index.ts'
import type { RecordEntity } from '../entities.ts'
import type { FieldCopies } from '../runtime/event-loops.ts'
import { whilePresent } from '../runtime/limits.ts'

/** Time after which a file that was missing is looked for again, in ms. */
const missingFor = 1_000

/** Time after which a file of no version was left by a process that died, in ms. */
const abandonedAfter = 3_600_000

/** @param folder of a version */
export const fieldPath = (folder: string, field: number): string => join(folder, `${field}`)

/** The path of the words of a field. @param path of the field */
export const wordsBeside = (path: string): string => `${path}.words`

/** True for the name of a file of a field or its words, and not of one that is being written. */
export const isFieldFile = (name: string): boolean => /^\d+(\.words)?$/.test(name)

/** Makes the folder of a new version, with a file that names the program: if that ends first, the folder is left over. */
export function markUnfinished(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, `writing.${processIdInName()}`), '', { mode: 0o600 })
}

/** The files of the fields of versions (docs/decisions/0070), each version's in a folder of its own. */
export interface FieldFiles {
  /** @returns undefined if the field has no file, or not yet */
  stored(entity: RecordEntity, field: number): StoredField | undefined
  /** @returns undefined if the field has no file of its words, or not yet */
  words(entity: RecordEntity, field: number): StoredWords | undefined
  /** Like `stored`, but brings the file from the place that nodes share, if this node lacks it. */
  fetch(entity: RecordEntity, field: number, client: Client): Promise<StoredField | undefined>
  fetchWords(entity: RecordEntity, field: number, client: Client): Promise<StoredWords | undefined>
  /** Shows a new file, and puts it where other nodes find it, in the background. @param path of the file */
  share(path: string): void
  /** The folder of the files of a version. */
  folderOf(version: string): string
  /** The path of the file that the field has or may get. */
  pathOf(entity: Versioned, field: number): string
  /** Moves a folder with files of a new version to its place, if that can be done. */
  place(version: string, from: string): void
  /** Forgets the files of all other versions. */
  keepOnly(isKept: (version: string) => boolean): void
  /** Removes the files of a version. */
  remove(version: string): void
  /** The versions with files of a program that has ended. Asked before the store, which has those that it published. */
  abandoned(): readonly string[]
  /** Removes files that belong to no version, an hour after they were written. */
  sweep(versions: ReadonlySet<string>): void
}

type Versioned = { readonly source: Pick<RecordEntity['source'], 'version'> }

interface Known<T> {
  readonly found: T | undefined
  /** When a missing file is looked for again. */
  readonly until: number
}

/** @param folder of all versions @param copies the files that nodes share, if they do */
export function createFieldFiles(folder: string, copies?: () => FieldCopies | undefined): FieldFiles {
  const known = new Map<string, { fields: Known<StoredField>[]; words: Known<StoredWords>[] }>()
  const filesOf = (version: string) => {
    const files = known.get(version) ?? { fields: [], words: [] }
    known.set(version, files)
    return files
  }
  function find<T>(files: Known<T>[], field: number, open: () => T | undefined): T | undefined {
    const before = files[field]
    if (before && (before.found || performance.now() < before.until)) return before.found
    const found = open()
    files[field] = { found, until: performance.now() + missingFor }
    return found
  }
  const pathOf = ({ source }: Versioned, field: number) => fieldPath(join(folder, source.version), field)
  const stored: FieldFiles['stored'] = (entity, field) =>
    find(filesOf(entity.source.version).fields, field, () =>
      openStored(pathOf(entity, field), entity.source.count),
    )
  const words: FieldFiles['words'] = (entity, field) =>
    find(filesOf(entity.source.version).words, field, () =>
      openStoredWords(wordsBeside(pathOf(entity, field))),
    )
  /** @returns true if the file was brought */
  const bring = async ({ source }: RecordEntity, name: string, client: Client): Promise<boolean> => {
    const shared = copies?.()
    const file = { version: source.version, name, most: mostBytes(source) }
    return shared ? whilePresent(client, stop => shared.fetch(file, stop)) : false
  }
  return {
    stored,
    words,
    fetch: async (entity, field, client) => {
      const found = stored(entity, field)
      if (found || !(await bring(entity, fieldPath('', field), client))) return found
      delete filesOf(entity.source.version).fields[field]
      return stored(entity, field)
    },
    fetchWords: async (entity, field, client) => {
      const found = words(entity, field)
      if (found || !(await bring(entity, wordsBeside(fieldPath('', field)), client))) return found
      delete filesOf(entity.source.version).words[field]
      return words(entity, field)
    },
    share: path => {
      const of = dirname(path)
      const [field, words] = basename(path).split('.')
      delete filesOf(basename(of))[words ? 'words' : 'fields'][Number(field)]
      copies?.()
        ?.send(basename(of), [basename(path)], of, 0)
        .catch(() => {})
    },
    folderOf: version => join(folder, version),
    pathOf,
    place: (version, from) => {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 })
        renameSync(from, join(folder, version))
      } catch {
        // The values are read from the records, as where no file was written.
      }
    },
    remove: version => rmSync(join(folder, version), { recursive: true, force: true }),
    keepOnly: isKept => {
      for (const version of known.keys()) if (!isKept(version)) known.delete(version)
      closeStored(path => known.has(basename(dirname(path))))
    },
    abandoned: () => namesIn(folder).filter(name => namesIn(join(folder, name)).some(isLeftOver)),
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

/**
 * Maximum size in bytes of the file of a field: ranks, numbers and places of values take up to 32 bytes a record, and
 * words refer to values at most once for every two bytes.
 */
const mostBytes = ({ count, bytes }: RecordEntity['source']): number => 65_536 + 40 * count + 6 * bytes

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
