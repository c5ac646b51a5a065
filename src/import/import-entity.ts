import { join } from 'node:path'
import type { AuditEvent } from '../model/audit-events.ts'
import { reservedEntities } from '../model/built-in-entities.ts'
import type { Field, ReadRule } from '../model/entities.ts'
import type { Entities } from '../storage/entities.ts'
import { csvColumns, readCsv } from './csv.ts'
import { type ReadRecord, readJsonArray, readNdjson } from './json-lines.ts'
import { ImportError, openSource, type Source } from './source.ts'
import { createStaging } from './staging.ts'

export interface ImportOptions {
  readonly name: string
  readonly key: string
  /** null: the rule that the entity has; a new entity is for administrators (D7). */
  readonly read: ReadRule | null
  /** Who did it, for the audit trail. */
  readonly event: AuditEvent
}

export interface ImportReport {
  readonly entity: string
  /** Who may read it now. */
  readonly read: ReadRule
  readonly records: number
  readonly fields: readonly (Field & { readonly nulls: number })[]
  readonly milliseconds: number
}

/** What the import is at, with the share of it that is done, 0 to 1. */
export type Progress = (step: 'reading' | 'sorting' | 'writing', share: number) => void

/**
 * Replaces the records of an entity with those of a file, whole or not at all (D2).
 * @param path NDJSON, a JSON array or CSV, gzip or not; `-`: standard input
 * @throws ImportError naming the line that is wrong; nothing has changed then
 */
export async function importFile(
  path: string,
  entities: Entities,
  options: ImportOptions,
  progress: Progress,
): Promise<ImportReport> {
  checkName(options.name)
  const source = await openSource(path, entities.scratchFolder, share => progress('reading', share))
  try {
    const declared = source.format === 'csv' ? await csvColumns(source) : []
    return await importRecords(readerOf(source), entities, options, progress, declared)
  } finally {
    source.close()
  }
}

/**
 * @param batches the records, some at a time
 * @param declared fields that the entity has even when there is no record
 */
export async function importRecords(
  batches: AsyncIterable<readonly ReadRecord[]>,
  entities: Entities,
  options: ImportOptions,
  progress: Progress,
  declared: readonly string[] = [],
): Promise<ImportReport> {
  checkName(options.name)
  const start = performance.now()
  const staging = createStaging(
    join(entities.scratchFolder, `import-${process.pid}-${Math.trunc(start)}.staging`),
  )
  try {
    staging.declare(declared)
    for await (const records of batches) staging.add(records)
    progress('sorting', 0)
    const { count, fields, nulls, records, ranks } = staging.finish(options.key)
    const { name, key, event } = options
    const read = await entities.publish(
      {
        name,
        key,
        read: options.read,
        fields,
        ranks: field => {
          progress('sorting', field / fields.length)
          return ranks(field)
        },
      },
      records(),
      event,
    )
    return {
      entity: name,
      read,
      records: count,
      fields: fields.map((field, at) => ({ ...field, nulls: nulls[at] ?? 0 })),
      milliseconds: Math.round(performance.now() - start),
    }
  } finally {
    staging.close()
  }
}

function readerOf(source: Source): AsyncIterable<ReadRecord[]> {
  if (source.format === 'csv') return readCsv(source)
  return source.format === 'json' ? readJsonArray(source.open()) : readNdjson(source.open())
}

/** @throws ImportError for what can't name an entity of the operator's */
export function checkName(name: string): void {
  if (!/^[a-z][a-z0-9_-]{0,62}$/.test(name))
    throw new ImportError(
      `${JSON.stringify(name)} can't name an entity: use a-z, 0-9, _ and -, beginning with a letter`,
    )
  if (reservedEntities.has(name)) throw new ImportError(`the entity ${name} is built in; choose another name`)
}
