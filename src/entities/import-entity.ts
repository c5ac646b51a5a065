import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Findings } from '../import/field-list.ts'
import { ImportError } from '../import/import-error.ts'
import type { ReadRecord } from '../import/json-lines.ts'
import type { Note } from '../import/notes.ts'
import { addAll, readInto } from '../import/read-into.ts'
import {
  type HowRead,
  nothingSeen,
  type ReadingOptions,
  type Seen,
  withLooks,
} from '../import/reading-options.ts'
import { declaredBy } from '../import/shapes.ts'
import { type GivenFile, openSource, unlessWrapped } from '../import/source.ts'
import { createStaging, type Staged, type Staging } from '../import/staging.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { reservedEntities } from '../model/built-in-entities.ts'
import type { Entity, Field, FieldType, ReadRule } from '../model/entities.ts'
import type { Recipe } from '../model/recipes.ts'
import type { Agreed, Entities, NewEntity } from '../storage/entities.ts'
import type { Differences } from './differences.ts'
import { heldBy } from './held.ts'
import { agreedTo, effectOf, type Loss, lossRefused } from './loss.ts'

export interface ImportOptions {
  readonly name: string
  /** The field, or combination of fields, that identifies a record. */
  readonly key: Entity['key']
  /** The read rule; null keeps that of the entity. A new entity is for administrators (D7). */
  readonly read: ReadRule | null
  /** Declared types of fields. The types of other fields are determined from their values. */
  readonly types?: ReadonlyMap<string, FieldType>
  /** Collations of text fields, as returned by `canonicalCollation`. */
  readonly collations?: ReadonlyMap<string, string>
  /** True if existing records and fields may be lost, however many (docs/decisions/0058). */
  readonly replace?: boolean
  /** Called before records or fields are lost. */
  readonly losing?: (loss: Loss) => void
  /** The fields with a declared type that are lists; if absent, their values decide. */
  readonly lists?: ReadonlySet<string>
  readonly reading?: ReadingOptions
  /** The recipe to keep with the entity; null: none; undefined: the one that it has. */
  readonly recipe?: Recipe | null
  /** The event for the audit trail, which says who imports. */
  readonly event: AuditEvent
  /** Aborts the import with the signal's reason, unless everything has been written. */
  readonly signal?: AbortSignal
}

export interface ImportReport {
  readonly entity: string
  readonly key: Entity['key']
  /** The read rule that applies now. */
  readonly read: ReadRule
  readonly records: number
  readonly fields: readonly (Field & Findings)[]
  /** The records and fields that were removed; undefined: there were no records before. */
  readonly loss?: Loss
  /** The changes; undefined: there were no records before, or they had another key. */
  readonly differences?: Differences
  /** Assumptions about the file; absent: none. */
  readonly notes?: readonly Note[]
  readonly milliseconds: number
}

/** Another version has replaced the version that was to be replaced. */
export class VersionReplaced extends Error {}

/** Called with the current step and the share of it that is done. Each step ends with 1. */
export type Progress = (step: 'reading' | 'sorting' | 'writing', share: number) => void

/**
 * Replaces the records of an entity with those of a file, completely or not at all (D2).
 * @param input NDJSON, a JSON array or CSV, gzip or not; `-`: standard input
 * @throws ImportError naming the faulty line, or the loss that is not allowed; then nothing has changed
 */
export async function importFile(
  input: string | GivenFile,
  entities: Entities,
  options: ImportOptions,
  progress: Progress,
): Promise<ImportReport & HowRead> {
  checkName(options.name)
  const source = await openSource(input, entities.scratchFolder, options.signal, options.reading?.encoding)
  try {
    let seen: Seen = nothingSeen
    const report = await unlessWrapped(source, options.key, () =>
      importStaged(
        async staging => {
          seen = await readInto(staging, source, options, share => progress('reading', share))
        },
        entities,
        options,
        progress,
      ),
    )
    const { encoding } = source
    return { ...report, fields: withLooks(report.fields, seen), encoding, delimiter: seen.delimiter }
  } finally {
    await source.close()
  }
}

/** Replaces the records of an entity with these. @param batches the records in several parts */
export const importRecords = (
  batches: AsyncIterable<readonly ReadRecord[]>,
  entities: Entities,
  options: ImportOptions & Pick<NewEntity, 'replaces' | 'declare'>,
  progress: Progress,
): Promise<ImportReport> =>
  importStaged(staging => addAll(staging, batches, options), entities, options, progress)

const declaredIn = ({ types = new Map(), collations = new Map(), lists, reading }: ImportOptions) => ({
  types,
  collations,
  ...(lists && { lists }),
  ...declaredBy(reading),
})

type Kept = Pick<NewEntity, 'keepsNewer' | 'declare' | 'uses' | 'relies'>

/** Picks the options that are stored with the new version. @param quoting how this file was read */
const keptOf = (
  { keepsNewer, relies, declare, uses, recipe }: Kept & Pick<ImportOptions, 'recipe'>,
  quoting: false | { readonly quote: 'none' },
) => ({
  ...(keepsNewer !== undefined && { keepsNewer }),
  ...(relies && { relies }),
  ...(declare && { declare }),
  ...(uses !== undefined && { uses }),
  ...(recipe !== undefined && { recipe: recipe && { ...recipe, ...quoting } }),
})

/** Measures what becomes of the records that there are. */
function measuring(
  options: ImportOptions,
  staged: Staged,
  held: ReturnType<typeof heldBy> | undefined,
  entities: Entities,
) {
  const { name, key, replace, losing, signal } = options
  let effect: Partial<Awaited<ReturnType<typeof effectOf>>> = {}
  const measure = async (): Promise<Agreed> => {
    const before = (await entities.all()).get(name)
    effect = await effectOf(before, staged, key, entities, signal)
    const { loss } = effect
    signal?.throwIfAborted()
    if (loss?.needsReplace && !replace) throw new ImportError(lossRefused(name, loss))
    if (loss && (loss.records.gone > 0 || loss.fields.gone.length > 0)) losing?.(loss)
    const relies = await held?.requireReferences(staged, entities)
    const agreed = agreedTo(before, loss)
    return {
      ...agreed,
      // With `replace`, the loss is only reported.
      ...(replace && { changes: Number.MAX_SAFE_INTEGER }),
      ...(held && { declared: held.declared }),
      ...(relies && { relies }),
    }
  }
  return { measure, effect: () => effect }
}

/**
 * Replaces the records of an entity with those that `fill` adds.
 * @param fill adds the records
 * @throws VersionReplaced if the version to replace has been replaced by another
 */
export async function importStaged(
  fill: (staging: Staging) => Promise<void>,
  entities: Entities,
  options: ImportOptions & Kept & Pick<NewEntity, 'replaces'>,
  progress: Progress,
): Promise<ImportReport> {
  const { name, key, read, replaces, replace = false, event, signal } = options
  checkName(name)
  const start = performance.now()
  // Records that are written again have been checked before.
  const held =
    replaces === undefined ? heldBy(await entities.all(), name, options.types ?? new Map()) : undefined
  const staging = createStaging(
    temporaryName(entities),
    { ...declaredIn(options), ...held?.declarations },
    [key].flat(),
    entities.keepsFields,
  )
  let isWritten = false
  try {
    await fill(staging)
    progress('reading', 1)
    const sorted = (share: number) => {
      progress('sorting', share)
      signal?.throwIfAborted()
    }
    sorted(0)
    const staged = await staging.finish(sorted)
    sorted(1)
    // The next file is read as this one, whatever quotes it has.
    const quoting = staging.notes.has('quotes-are-text') && ({ quote: 'none' } as const)
    const written = (share: number) => {
      signal?.throwIfAborted()
      isWritten = share === 1
      progress('writing', share)
    }
    const { effect, measure } = measuring(options, staged, held, entities)
    const agrees = !replace || held?.isConstrained === true
    if (replaces === undefined && !agrees) await measure()
    const rule = await entities.publish(
      {
        name,
        key,
        read,
        fields: staged.fields,
        ranks: ranksWith(written, staged),
        ...(entities.keepsFields && { writeFields: staged.writeFields }),
        ...(replaces !== undefined ? { replaces } : agrees ? { agree: measure } : {}),
        ...keptOf(options, quoting),
      },
      // The records are compared again if the entity changes before they are published.
      recordsWith(written, staged, replaces !== undefined || replace),
      event,
    )
    if (rule === undefined) {
      if (replaces !== undefined) throw new VersionReplaced(name)
      throw new ImportError(`${name} is being changed by others all the time; try again later`)
    }
    const findings = await staged.findings()
    return {
      entity: name,
      key,
      read: rule,
      records: staged.count,
      fields: staged.fields.map((field, at) => ({ ...field, ...(findings[at] ?? { nulls: 0 }) })),
      ...effect(),
      ...staging.notes.found(),
      milliseconds: Math.round(performance.now() - start),
    }
  } catch (error) {
    // Engines may wrap the error with which the records were aborted.
    if (!isWritten) signal?.throwIfAborted()
    throw error
  } finally {
    await staging.close()
  }
}

/**
 * Returns a prefix for the names of temporary files. It is unique, because threads of one process may
 * import at the same time.
 */
export const temporaryName = ({ scratchFolder }: Pick<Entities, 'scratchFolder'>): string =>
  join(scratchFolder, `import-${process.pid}-${randomUUID()}`)

/** Number of records between two reports of progress. */
const reportStep = 1_000

/**
 * Iterates over the records and reports progress. All records together count as much as the ranks of one
 * field, which are written after them.
 */
function* recordsWith(written: (share: number) => void, { count, fields, records }: Staged, isLast: boolean) {
  let n = 0
  for (const record of records(isLast)) {
    if (n++ % reportStep === 0) written(n / Math.max(count, 1) / (fields.length + 1))
    yield record
  }
}

const ranksWith =
  (written: (share: number) => void, { fields, ranks }: Staged) =>
  async (field: number) => {
    const found = await ranks(field)
    written((field + 2) / (fields.length + 1))
    return found
  }

/** @throws ImportError for a name that imported and exposed entities can't have */
export function checkName(name: string): void {
  if (!/^[a-z][a-z0-9_-]{0,62}$/.test(name))
    throw new ImportError(
      `${JSON.stringify(name)} can't name an entity: use a-z, 0-9, _ and -, begin with a letter, and use at most 63 characters`,
    )
  if (reservedEntities.has(name)) throw new ImportError(`the entity ${name} is built in; choose another name`)
}
