import type { AuditEvent } from '../model/audit-events.ts'
import type { Entities, OpenVersion, RecordEntity } from '../storage/entities.ts'
import { type ImportReport, importStaged, type Progress, VersionReplaced } from './import-entity.ts'
import { ImportError } from './import-error.ts'
import type { Piece } from './json-lines.ts'
import { importedEntity } from './revise-entity.ts'
import { listsOf } from './rewrite.ts'

export interface RecollateOptions {
  readonly name: string
  /** Collations by names of fields; null: sort by code point. Other fields keep theirs. */
  readonly collations: ReadonlyMap<string, string | null>
  readonly event: AuditEvent
  readonly signal?: AbortSignal
}

/** Number of records read at a time. */
const readStep = 4_000
/** Maximum number of attempts, because records may be imported or changed concurrently. */
const maxAttempts = 5

/** Changes the collations of text fields: writes the records of an entity again, with the same types. */
export async function recollate(
  entities: Entities,
  options: RecollateOptions,
  progress: Progress,
): Promise<ImportReport> {
  const { name, event, signal } = options
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const entity = await importedEntity(entities, { name })
    const version = await entities.openVersion(entity)
    try {
      return await importStaged(
        async staging => {
          staging.declare(entity.fields.map(field => field.name))
          await staging.read(piecesOf(entity, version, progress), signal)
        },
        entities,
        {
          ...{ name, key: entity.key, read: null, event, replaces: entity.source.version },
          // Records written one by one meanwhile stay, because this doesn't change any values.
          keepsNewer: true,
          types: new Map(entity.fields.map(field => [field.name, field.type])),
          collations: collationsOf(entity, options),
          lists: listsOf(entity),
          ...(signal && { signal }),
        },
        progress,
      )
    } catch (error) {
      if (!(error instanceof VersionReplaced)) throw error
    } finally {
      await version.close()
    }
  }
  throw new ImportError(`${name} is being changed by others all the time; try again later`)
}

function collationsOf({ fields }: RecordEntity, { collations }: RecollateOptions) {
  return new Map(
    fields.flatMap(({ name, collation }) => {
      const wanted = collations.has(name) ? collations.get(name) : collation
      return wanted === undefined || wanted === null ? [] : [[name, wanted] as const]
    }),
  )
}

async function* piecesOf(
  { source: { count } }: RecordEntity,
  version: OpenVersion,
  progress: Progress,
): AsyncIterable<Piece> {
  const slots = await version.slots()
  for (let from = 0; from < slots.length; from += readStep) {
    const records = await version.read(slots.subarray(from, from + readStep))
    progress('reading', from / Math.max(count, 1))
    // The line numbers are irrelevant, because all records were checked when they were imported.
    yield { kind: 'lines', first: 1, bytes: Buffer.from(records.join('\n')) }
  }
}
