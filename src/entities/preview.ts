import { openTable, type Table } from '../import/csv.ts'
import type { Evidence } from '../import/evidence.ts'
import { type Fault, Faults, foundIn } from '../import/faults.ts'
import type { Findings } from '../import/field-list.ts'
import { arrayPieces, ndjsonPieces, recordsOf } from '../import/json-lines.ts'
import { type Note, Notes, noteInWords } from '../import/notes.ts'
import { readInto } from '../import/read-into.ts'
import { type HowRead, nothingSeen, type Seen, withLooks } from '../import/reading-options.ts'
import { declaredBy } from '../import/shapes.ts'
import { type Format, type GivenFile, openSource, type Source, unlessWrapped } from '../import/source.ts'
import { createStaging } from '../import/staging.ts'
import { OperatorError, StoreUnavailable } from '../lib/errors.ts'
import type { Entity, Field } from '../model/entities.ts'
import type { Entities } from '../storage/entities.ts'
import { checkChanges, readChanges } from './change-file.ts'
import { type ChangeKind, type Counts, planOf } from './change-plan.ts'
import { type Differences, differencesOfPlan } from './differences.ts'
import { heldBy, requireHeld } from './held.ts'
import { type ImportOptions, type Progress, temporaryName } from './import-entity.ts'
import { type Effect, effectOf, type Loss } from './loss.ts'
import { importedEntity } from './revision.ts'

/** The effect that an import of a file would have, or the faults that prevent it. */
export interface Preview {
  readonly entity: string
  /** null if no part of the file can be read. */
  readonly format: Format | null
  /** null if no part of the file can be read. */
  readonly encoding: HowRead['encoding'] | null
  readonly delimiter: HowRead['delimiter']
  readonly key: Entity['key']
  /** Number of records read: all of them, unless a fault ended the reading. */
  readonly records: number
  /** The fields found so far; all of them, unless a fault ended the reading. */
  readonly fields: readonly PreviewField[]
  /** The first records as they are in the file; cells of CSV are texts. */
  readonly sample: readonly Readonly<Record<string, unknown>>[]
  /** The numbers of records that would change, unless there are none yet. */
  readonly changes?: Counts
  /**
   * The loss that an import of all records would cause; undefined if there are no records
   * yet, or the file has faults.
   */
  readonly loss?: Loss
  /** Changes that would be made; absent if there are no records yet, or they have another key. */
  readonly differences?: Differences
  /** Assumptions about the file. */
  readonly notes: readonly (Note & { readonly message: string })[]
  /** The first faults, in the order of the file. */
  readonly faults: readonly Fault[]
  /** Number of further faults. */
  readonly moreFaults: number
}

export type PreviewField = Field &
  Partial<Findings> &
  Partial<Evidence> & {
    /** The name in the file, if the recipe renames it. */
    readonly from?: string
  }

interface PreviewOptions
  extends Pick<ImportOptions, 'name' | 'key' | 'types' | 'collations' | 'reading' | 'signal'> {
  /** The kind of change; undefined: the file has all records. */
  readonly kind?: ChangeKind
}

/** Maximum number of records that a preview shows, and maximum characters of all of them. */
const maxSample = 10
const maxShown = 100_000

/** Reads and checks the whole file as an import does, but changes nothing. */
export async function preview(
  input: string | GivenFile,
  entities: Entities,
  options: PreviewOptions,
  progress: Progress,
): Promise<Preview> {
  const { name: entity, key, signal } = options
  try {
    const source = await openSource(input, entities.scratchFolder, signal, options.reading?.encoding)
    try {
      const { sample, delimiter } = await sampleOf(source, options)
      const found =
        options.kind === undefined
          ? await ofAll(source, entities, options, progress)
          : await ofChanges(input, entities, { ...options, kind: options.kind }, progress)
      return { entity, key, format: source.format, encoding: source.encoding, delimiter, sample, ...found }
    } finally {
      await source.close()
    }
  } catch (error) {
    signal?.throwIfAborted()
    // The file can't be read at all, for example because it can't be unpacked.
    return {
      entity,
      key,
      format: null,
      encoding: null,
      delimiter: null,
      sample: [],
      records: 0,
      fields: [],
      notes: [],
      ...faultsIn(error),
    }
  }
}

type Found = Pick<
  Preview,
  'records' | 'fields' | 'changes' | 'loss' | 'differences' | 'notes' | 'faults' | 'moreFaults'
>

async function ofAll(
  source: Source,
  entities: Entities,
  options: PreviewOptions,
  progress: Progress,
): Promise<Found> {
  const { key, types = new Map(), collations = new Map(), reading, signal } = options
  let effect: Effect = {}
  let whole: readonly Findings[] | undefined
  const held = heldBy(await entities.all(), options.name, types)
  const staging = createStaging(
    temporaryName(entities),
    { collations, ...declaredBy(reading), ...held.declarations },
    [key].flat(),
  )
  try {
    let seen: Seen = nothingSeen
    const read = async () => {
      seen = await readInto(staging, source, options, share => progress('reading', share))
      const staged = await staging.finish(share => {
        progress('sorting', share)
        signal?.throwIfAborted()
      })
      progress('sorting', 1)
      effect = await effectOf((await entities.all()).get(options.name), staged, key, entities, signal)
      whole = await staged.findings()
      await held.requireReferences(staged, entities)
    }
    const faults = await faultsOf(signal, () => unlessWrapped(source, key, read))
    const { count, fields, findings: early } = staging.found()
    const findings = whole ?? early
    const evidence = staging.evidence(source.format === 'csv')
    const inFile = new Map(
      [...(reading?.fields ?? [])].flatMap(([name, { rename }]) =>
        rename === undefined || rename === name ? [] : [[rename, name] as const],
      ),
    )
    return {
      records: count,
      fields: withLooks(
        fields.map((field, at) => {
          const from = inFile.get(field.name)
          return {
            ...field,
            ...(findings[at] ?? { nulls: 0 }),
            ...evidence[at],
            ...(from !== undefined && { from }),
          }
        }),
        seen,
      ),
      notes: withMessages(staging.notes),
      ...faults,
      ...effect,
      ...(effect.differences && { changes: effect.differences.counts }),
    }
  } finally {
    await staging.close()
  }
}

async function ofChanges(
  input: string | GivenFile,
  entities: Entities,
  { name, key, kind, reading, signal }: PreviewOptions & { readonly kind: ChangeKind },
  progress: Progress,
): Promise<Found> {
  const entity = await importedEntity(entities, { name, key })
  let records = 0
  const notes = new Notes()
  let differences: Differences | undefined
  const faults = await faultsOf(signal, async () => {
    const { scratchFolder } = entities
    const faults = new Faults()
    const read = await readChanges(input, entity, { scratchFolder, signal, reading, faults, notes }, share =>
      progress('reading', share),
    )
    progress('reading', 1)
    records = read.length
    const checked = checkChanges(read, entity, kind === 'delete', faults)
    const version = await entities.openVersion(entity)
    try {
      const { plan, counts, deleted } = await planOf(entity, version, checked, kind, faults)
      differences = differencesOfPlan(plan, counts, deleted)
      await requireHeld([...plan.written, ...deleted], entity, kind, entities)
    } finally {
      await version.close()
    }
  })
  return {
    records,
    fields: entity.fields,
    notes: withMessages(notes),
    ...faults,
    ...(differences && { changes: differences.counts, differences }),
  }
}

const withMessages = (notes: Notes) => notes.first().map(note => ({ ...note, message: noteInWords(note) }))

type WhatIsWrong = Pick<Preview, 'faults' | 'moreFaults'>

async function faultsOf(signal: AbortSignal | undefined, work: () => Promise<void>): Promise<WhatIsWrong> {
  try {
    await work()
    return { faults: [], moreFaults: 0 }
  } catch (error) {
    signal?.throwIfAborted()
    return faultsIn(error)
  }
}

/** @throws the error, unless it is a fault of the file */
function faultsIn(error: unknown): WhatIsWrong {
  if (!(error instanceof OperatorError) || error instanceof StoreUnavailable) throw error
  const { faults, more } = foundIn(error)
  return { faults, moreFaults: more }
}

/**
 * Reads the first valid records, and the delimiter of a table. Faults are ignored here, because the
 * full reading reports them.
 */
async function sampleOf(
  source: Source,
  { key, reading }: PreviewOptions,
): Promise<Pick<Preview, 'sample' | 'delimiter'>> {
  const sample: Readonly<Record<string, unknown>>[] = []
  let delimiter: Preview['delimiter'] = null
  let shown = 0
  try {
    const table = source.format === 'csv' ? await openTable(source, [key].flat(), reading) : undefined
    delimiter = table?.delimiter ?? null
    for await (const record of table ? rowsOf(table) : elementsOf(source)) {
      shown += JSON.stringify(record).length
      if (shown > maxShown) break
      sample.push(record)
      if (sample.length === maxSample) break
    }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
  }
  return { sample, delimiter }
}

async function* elementsOf(source: Source): AsyncIterable<Readonly<Record<string, unknown>>> {
  const pieces = source.format === 'json' ? arrayPieces : ndjsonPieces
  for await (const piece of pieces(source.open()))
    for (const { record } of recordsOf(piece, () => {})) yield record
}

async function* rowsOf(table: Table): AsyncIterable<Readonly<Record<string, unknown>>> {
  let isHeader = true
  for await (const rows of table.rows())
    for (const cells of rows) {
      if (!isHeader) yield Object.fromEntries(table.names.map((name, at) => [name, cells[at] ?? '']))
      isHeader = false
    }
}
