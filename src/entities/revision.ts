import { join } from 'node:path'
import { Faults } from '../import/faults.ts'
import { ImportError } from '../import/import-error.ts'
import type { Piece } from '../import/json-lines.ts'
import { type Note, Notes } from '../import/notes.ts'
import type { ReadingOptions } from '../import/reading-options.ts'
import type { GivenFile } from '../import/source.ts'
import { openSpool } from '../import/spool.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { fieldUses } from '../model/declared.ts'
import type { Entity, Field, ReadRule } from '../model/entities.ts'
import { revisedSlots } from '../storage/columns/rank-revision.ts'
import type { Entities, OpenVersion, RecordEntity, Revision } from '../storage/entities.ts'
import { changesIn } from '../storage/records/pending-changes.ts'
import { checkChanges, readChanges } from './change-file.ts'
import { type ChangeKind, type ChangePlan, type Counts, planOf } from './change-plan.ts'
import { requireHeld } from './held.ts'
import { type ImportReport, importStaged, type Progress, VersionReplaced } from './import-entity.ts'
import { declaredAs, reviseFields, rewrite } from './revision-fields.ts'

interface ReviseOptions {
  readonly name: string
  readonly kind: ChangeKind
  /** The key that the file is expected to have; if given, it must be that of the entity. */
  readonly key?: Entity['key']
  /** The read rule; null keeps that of the entity. */
  readonly read: ReadRule | null
  readonly reading?: ReadingOptions
  readonly event: AuditEvent
  readonly signal?: AbortSignal
}

export interface ReviseReport extends Counts {
  readonly entity: string
  readonly key: Entity['key']
  readonly read: ReadRule
  /** Number of records after the changes. */
  readonly records: number
  /** Assumptions about the file; absent: none. */
  readonly notes?: readonly Note[]
  readonly milliseconds: number
}

/**
 * Maximum number of attempts. Changes at the same time are made one after the other, and more than
 * this many are not expected.
 */
const maxAttempts = 20

/**
 * Changes some records of an imported entity, completely or not at all (D2, docs/decisions/0019).
 * @throws ImportError naming the faulty line; then nothing has changed
 */
export async function reviseFile(
  input: string | GivenFile,
  entities: Entities,
  options: ReviseOptions,
  progress: Progress,
): Promise<ReviseReport> {
  const { signal, reading } = options
  const { scratchFolder } = entities
  const start = performance.now()
  const read = (share: number) => progress('reading', share)
  const faults = new Faults()
  const before = await importedEntity(entities, options)
  const notes = new Notes()
  const records = await readChanges(input, before, { scratchFolder, signal, reading, faults, notes }, read)
  signal?.throwIfAborted()
  progress('reading', 1)
  return overVersion(entities, options, maxAttempts, async (entity, version) => {
    const changes = checkChanges(records, entity, options.kind === 'delete', faults)
    progress('sorting', 0)
    const { plan, counts, deleted } = await planOf(entity, version, changes, options.kind, faults)
    progress('sorting', 1)
    signal?.throwIfAborted()
    const relies = await requireHeld([...plan.written, ...deleted], entity, options.kind, entities)
    const rule = await publish(plan, entities, { ...options, relies }, progress)
    const milliseconds = Math.round(performance.now() - start)
    return {
      entity: entity.name,
      key: entity.key,
      read: rule,
      ...counts,
      records: plan.origins.length,
      ...notes.found(),
      milliseconds,
    }
  })
}

/**
 * Does work over the version that an entity has, and again if another has replaced it meanwhile.
 * @throws ImportError after the last attempt
 */
export async function overVersion<T>(
  entities: Entities,
  options: Pick<ReviseOptions, 'name' | 'key'>,
  attempts: number,
  work: (entity: RecordEntity, version: OpenVersion) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const entity = await importedEntity(entities, options)
    const version = await entities.openVersion(entity)
    try {
      return await work(entity, version)
    } catch (error) {
      if (!(error instanceof VersionReplaced)) throw error
    } finally {
      await version.close()
    }
  }
  throw new ImportError(`${options.name} is being changed by others all the time; try again later`)
}

export async function importedEntity(
  entities: Entities,
  { name, key }: Pick<ReviseOptions, 'name' | 'key'>,
): Promise<RecordEntity> {
  const entity = (await entities.all()).get(name)
  if (entity?.source.kind !== 'records')
    throw new ImportError(
      `there are no imported records called ${name} to change; import all of them first, without --update or --delete`,
    )
  if (key !== undefined && JSON.stringify([key].flat()) !== JSON.stringify([entity.key].flat()))
    throw new ImportError(
      `the key of ${name} is ${[entity.key].flat().join(', ')}; leave out --key, or import all records again with another one`,
    )
  return entity as RecordEntity
}

/**
 * Limits of a revision: the number of changes, and the number of slots. Beyond them, it isn't worthwhile to
 * keep changes separate from the other records.
 */
const maxRevised = 20_000
const maxSlots = (records: number) => 1_000 + 1.2 * records

async function publish(
  plan: ChangePlan,
  entities: Entities,
  options: ReviseOptions & Required<Pick<Revision, 'relies'>>,
  progress: Progress,
): Promise<ReadRule> {
  const { entity, origins, written, slots } = plan
  const { read, event, signal, relies } = options
  const before = entity.source.slots ?? entity.source.count
  const isUnchanged = written.length === 0 && origins.length === slots.length
  if (isUnchanged && read === null) {
    progress('writing', 1)
    return entity.read
  }
  if (written.length > maxRevised || before + written.length > maxSlots(origins.length))
    return rewrite(plan, entities, options, progress)
  const spool = openSpool(join(entities.scratchFolder, `import-${process.pid}-revision.staging`))
  let isWritten = false
  try {
    const { fields, ranks } = await reviseFields(plan, spool.descriptor, share => {
      progress('writing', share / 2)
      signal?.throwIfAborted()
    })
    const revised = {
      fields,
      edits: plan.edits,
      written: written.map(({ record }) => ({ record, json: JSON.stringify(record) })),
    }
    const rule = await entities.revise(
      {
        of: entity,
        name: entity.name,
        key: entity.key,
        read,
        fields,
        // A new rule alone is no other version of the records.
        ...(isUnchanged && { keepsNewer: changesIn(entity) }),
        relies,
        uses: fieldUses(entity),
        slots: slotsOf(plan),
        added: revised.written.map(({ json }) => json),
        writeFields: version =>
          plan.version.writeFields(version, revised, signal ?? new AbortController().signal),
        ranks: field => {
          signal?.throwIfAborted()
          isWritten = field === fields.length - 1
          progress('writing', 0.5 + (field + 1) / fields.length / 2)
          return ranks(field)
        },
      },
      event,
    )
    if (rule === undefined) throw new VersionReplaced(entity.name)
    return rule
  } catch (error) {
    // Engines may wrap the error with which the ranks were aborted.
    if (!isWritten) signal?.throwIfAborted()
    throw error
  } finally {
    spool.close()
  }
}

/** Returns the slots of the new version. The written records follow all others. */
function slotsOf({ entity, edits, slots, written }: ChangePlan): Uint32Array {
  const first = entity.source.slots ?? entity.source.count
  const behind = written.map((_, n) => first + n)
  return revisedSlots(slots, slots.length, edits, behind)
}

interface RecollateOptions {
  readonly name: string
  /** Collations by names of fields; null: sort by code point. Other fields keep theirs. */
  readonly collations: ReadonlyMap<string, string | null>
  readonly event: AuditEvent
  readonly signal?: AbortSignal
}

/** Number of records read at a time. */
const readStep = 4_000
/** Maximum number of attempts to recollate, because records may be imported or changed concurrently. */
const recollations = 5

/** Changes the collations of text fields: writes the records of an entity again, with the same types. */
export async function recollate(
  entities: Entities,
  options: RecollateOptions,
  progress: Progress,
): Promise<ImportReport> {
  const { name, event, signal } = options
  return overVersion(entities, { name }, recollations, (entity, version) =>
    importStaged(
      async staging => {
        staging.declare(entity.fields.map(field => field.name))
        await staging.read(piecesOf(entity, version, progress), signal)
      },
      entities,
      {
        name,
        key: entity.key,
        read: null,
        event,
        replaces: entity.source.version,
        // Records written one by one meanwhile stay, because this doesn't change any values.
        keepsNewer: changesIn(entity),
        ...declaredAs(recollated(entity, options)),
        ...(signal && { signal }),
      },
      progress,
    ),
  )
}

const recollated = ({ fields }: RecordEntity, { collations }: RecollateOptions): readonly Field[] =>
  fields.map(({ collation, ...field }) => {
    const wanted = collations.has(field.name) ? collations.get(field.name) : collation
    return wanted === undefined || wanted === null ? field : { ...field, collation: wanted }
  })

/** Reads the records of a version as lines, which are changed on the way. */
export async function* piecesOf(
  { source: { count } }: RecordEntity,
  version: OpenVersion,
  progress: Progress,
  change: (json: string) => string = json => json,
): AsyncIterable<Piece> {
  const slots = await version.slots()
  for (let from = 0; from < slots.length; from += readStep) {
    const records = await version.read(slots.subarray(from, from + readStep))
    progress('reading', from / Math.max(count, 1))
    yield { kind: 'lines', first: from + 1, bytes: Buffer.from(records.map(change).join('\n')) }
  }
}
