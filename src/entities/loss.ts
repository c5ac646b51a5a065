import type { Staged } from '../import/staging.ts'
import { parseWritten } from '../lib/json.ts'
import type { Entity } from '../model/entities.ts'
import { keyValues } from '../model/record-changes.ts'
import type { Agreed, Entities, RecordEntity } from '../storage/entities.ts'
import { type Differences, differencesOf, recordsOf } from './differences.ts'

/** Records and fields that are removed when the records of an entity are replaced (D2, docs/decisions/0058). */
export interface Loss {
  readonly records: {
    readonly before: number
    readonly after: number
    /** Number of old records whose keys are not among the new ones. */
    readonly gone: number
    /** True if only a sample of the records was compared. */
    readonly isEstimate: boolean
  }
  readonly fields: {
    readonly before: number
    readonly after: number
    readonly gone: readonly string[]
  }
  /** True if the removed part is so large that the import needs `--replace`. */
  readonly needsReplace: boolean
}

/** The effect of an import on what there is. */
export interface Effect {
  readonly loss?: Loss
  readonly differences?: Differences
}

/**
 * Maximum number of records whose keys are looked up. If there are more, an evenly spread sample of this size is used.
 */
const maxSample = 20_000
/** Maximum bytes of all sampled keys, assuming that each is as large as the largest record. */
const sampleBytes = 256 * 1024 * 1024
/** An import needs `--replace` if it removes more than one record in this many. */
const share = 10

/** Compares what there is with the records that are to replace it. @returns no loss if there is nothing to lose */
export async function effectOf(
  before: Entity | undefined,
  staged: Staged,
  key: Entity['key'],
  entities: Pick<Entities, 'openVersion'>,
  signal: AbortSignal | undefined,
): Promise<Effect> {
  if (!isImported(before) || before.source.count === 0) return {}
  const differences = await differencesOf(before, staged, key, entities, signal)
  const { count } = before.source
  const names = new Set(staged.fields.map(field => field.name))
  const gone = before.fields.map(field => field.name).filter(name => !names.has(name))
  const counted = differences
    ? { gone: differences.counts.deleted, isEstimate: false }
    : await goneOf(before, staged, key, entities)
  const records = { before: count, after: staged.count, ...counted }
  return {
    loss: {
      records,
      fields: { before: before.fields.length, after: names.size, gone },
      needsReplace: records.gone * share > count || gone.length > 0,
    },
    ...(differences && { differences }),
  }
}

const isImported = (entity: Entity | undefined): entity is RecordEntity => entity?.source.kind === 'records'

/** Counts the records that go where the key or its type changes, so that the two can't be compared in order. */
async function goneOf(
  before: RecordEntity,
  staged: Staged,
  key: Entity['key'],
  { openVersion }: Pick<Entities, 'openVersion'>,
): Promise<Pick<Loss['records'], 'gone' | 'isEstimate'>> {
  const { count, largest } = before.source
  if (staged.count === 0) return { gone: count, isEstimate: false }
  const sample = Math.max(1, Math.min(count, maxSample, Math.floor(sampleBytes / Math.max(largest, 1))))
  const version = await openVersion(before)
  try {
    const slots = await version.slots()
    const some = Uint32Array.from({ length: sample }, (_, n) => slots[placeOf(n, sample, count)] as number)
    some.sort()
    const keys: (readonly unknown[])[] = []
    for await (const records of recordsOf(before, version, some))
      for (const json of records)
        keys.push(keyValues({ key }, parseWritten(json) as Readonly<Record<string, unknown>>))
    const missing = sample - staged.countKnown(keys)
    if (sample === count) return { gone: missing, isEstimate: false }
    // At least as many records are removed as the number of records decreases.
    const gone = Math.max(Math.round((missing / sample) * count), count - staged.count)
    return { gone, isEstimate: true }
  } finally {
    await version.close()
  }
}

/**
 * Picks one record from each of equally large parts, at a varying position, because the removed records may follow a
 * pattern, such as every second one. The picks depend only on the version, so that a preview and its import agree.
 */
function placeOf(n: number, sample: number, count: number): number {
  const within = (Math.imul(n + 1, 2_654_435_761) >>> 0) / 2 ** 32
  return sample === count ? n : Math.floor(((n + within) * count) / sample)
}

/**
 * Returns the limits within which a measured loss remains valid: for this version, and up to the number of
 * single records written that could change the result.
 * @param entity the entity that was examined
 */
export function agreedTo(entity: Entity | undefined, loss: Loss | undefined): Agreed {
  if (!isImported(entity)) return { version: null, changes: 0 }
  const { version } = entity.source
  if (!loss) return { version, changes: 0 }
  const { before, gone } = loss.records
  // Each single write removes at most one record, and increases the loss by at most one.
  return { version, changes: Math.max(0, Math.floor((before - share * gone) / (share + 1))) }
}

/** Maximum number of names listed, and maximum characters of each. */
const maxNames = 10
const maxName = 60

/** Describes a loss for the log, before it happens. */
export const lossInWords = (entity: string, loss: Loss): string =>
  `${entity} goes from ${inWords(loss, 'loses')}`

/** Describes a loss that was refused, and says how to accept it. */
export const lossRefused = (entity: string, loss: Loss): string =>
  `${entity} would go from ${inWords(loss, 'lose')}; nothing was imported. If that is right, import it with --replace`

function inWords({ records, fields }: Loss, lose: string): string {
  const { before, after, gone, isEstimate } = records
  const lost = [
    ...(gone > 0 ? [`${isEstimate ? 'about ' : ''}${inDigits(gone)} of them`] : []),
    ...(fields.gone.length > 0
      ? [`${fields.gone.length} of its ${fields.before} fields (${listed(fields.gone)})`]
      : []),
  ]
  const losing = lost.length === 0 ? '' : ` and ${lose} ${lost.join(' and ')}`
  return `${inDigits(before)} ${before === 1 ? 'record' : 'records'} to ${inDigits(after)}${losing}`
}

const inDigits = (n: number) => n.toLocaleString('en')

function listed(names: readonly string[]): string {
  const shown = names
    .slice(0, maxNames)
    .map(name => (name.length > maxName ? `${name.slice(0, maxName)}…` : name))
    .map(name => (/[\p{Cc}\p{Bidi_Control},()"]/u.test(name) ? JSON.stringify(name) : name))
  const more = names.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
