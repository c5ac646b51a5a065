import { Lagging } from '../../lib/errors.ts'
import type { TakeLease } from '../../lib/hold.ts'
import type { Entity, Field } from '../../model/entities.ts'
import type { Entities, OpenVersion, RecordEntity } from '../entities.ts'
import { changesIn, changesOf } from './pending-changes.ts'
import { slotsOf } from './record-source.ts'

/**
 * Makes changes of single records part of a new version (docs/decisions/0041), in the background. The entity
 * has the same contents before and after, so records may be written meanwhile.
 */
interface Folding {
  close(): Promise<void>
}

interface Parts extends Pick<Entities, 'all' | 'openVersion' | 'revise' | 'publish'> {
  readonly lease: TakeLease
}

/** Time between two checks of all entities, in ms. */
const interval = 250
/** Time in ms after which another node folds the entity of a silent one. */
const silence = 10_000
/** Number of changes that is worth a new version: one in `share` records, from `fewest` to `most`. */
const share = 200
const fewest = 500
const most = 4_000
/** Size of changes that is worth a new version, in bytes. */
const mostBytes = 4 * 1024 * 1024

/** Maximum number and bytes of changes that wait to be folded. */
const maxChanges = 20_000
const maxChangedBytes = 16 * 1024 * 1024

/** @throws Lagging if new versions lag behind what is written */
export function requireRoom(entity: RecordEntity): void {
  const changed = changesOf(entity)
  if (!changed) return
  const bytes = entity.source.bytes - changed.base.source.bytes
  if (changed.changes.length < maxChanges && bytes < maxChangedBytes) return
  throw new Lagging(
    `Records of ${entity.name} are written faster than they can be put in order. Retry in a moment.`,
  )
}

export function foldChanges(parts: Parts): Folding {
  let running: Promise<void> | undefined
  let isClosed = false
  const closing = new AbortController()
  async function work(): Promise<void> {
    for (const entity of (await parts.all()).values())
      if (!isClosed && isDue(entity)) await foldAlone(entity.name, parts, closing.signal)
  }
  const timer = setInterval(() => {
    // A fold that fails is tried again; until then the changes stay where they are.
    running ??= work()
      .catch(() => {})
      .finally(() => {
        running = undefined
      })
  }, interval).unref()
  return {
    close: async () => {
      isClosed = true
      closing.abort()
      clearInterval(timer)
      await running
    },
  }
}

/** Folds an entity unless another node does. One that has lost its lease can't replace what the other has made. */
async function foldAlone(name: string, parts: Parts, closing: AbortSignal): Promise<void> {
  const lost = new AbortController()
  const lease = await parts.lease(`fold ${name}`, { silence, onWanted: () => lost.abort() })
  if (!lease) return
  try {
    // Another node may have folded it just before.
    const entity = (await parts.all()).get(name)
    if (entity && isDue(entity)) await fold(entity, parts, AbortSignal.any([closing, lost.signal]))
  } finally {
    await lease.release()
  }
}

function isDue(entity: Entity): entity is RecordEntity {
  const changed = entity.source.kind === 'records' ? changesOf(entity as RecordEntity) : undefined
  if (!changed) return false
  const { source } = changed.base
  return (
    changed.changes.length >= Math.min(most, Math.max(fewest, source.count / share)) ||
    (entity as RecordEntity).source.bytes - source.bytes >= mostBytes
  )
}

/** True if enough slots are of replaced records for a version without them to be worthwhile. */
const isSparse = (entity: RecordEntity): boolean => slotsOf(entity) > 1_000 + 1.2 * entity.source.count

/** Maximum number of records read at a time, and of bytes if each were as large as the largest. */
const maxRead = 1_000
const readBytes = 8 * 1024 * 1024

/**
 * The files of the fields are written before the version is shown, while the changes are still derived from the
 * files of their base: otherwise, the first question about each field would read all records.
 * @param signal ends the writing of these files; the version is made without the others
 * @returns false if another process has folded them, or the entity has been replaced
 */
export async function fold(
  entity: RecordEntity,
  { openVersion, revise, publish }: Pick<Parts, 'openVersion' | 'revise' | 'publish'>,
  signal: AbortSignal = new AbortController().signal,
): Promise<boolean> {
  const version = await openVersion(entity)
  try {
    const fields = await fieldsOf(entity, version)
    const { name, key, source } = entity
    const slots = await version.slots()
    const common = {
      ...({ name, key, fields, read: null, ranks: version.ranks, keepsNewer: changesIn(entity) } as const),
      writeFields: (made: string) => version.writeFields(made, undefined, signal),
    }
    if (!isSparse(entity))
      return (await revise({ ...common, of: entity, slots, added: [] }, null)) !== undefined
    const step = Math.max(1, Math.min(maxRead, Math.floor(readBytes / Math.max(source.largest, 1))))
    async function* records() {
      for (let from = 0; from < slots.length; from += step)
        yield await version.read(slots.subarray(from, from + step))
    }
    return (await publish({ ...common, replaces: source.version }, records(), null)) !== undefined
  } finally {
    await version.close()
  }
}

/** Returns the fields, `nullable` only if a record has null. */
async function fieldsOf({ fields }: RecordEntity, version: OpenVersion): Promise<readonly Field[]> {
  const found: Field[] = []
  for (const [at, field] of fields.entries()) {
    const distinct = await version.distinct?.(at)
    const ranks = await version.ranks(at)
    found.push(distinct === undefined ? field : { ...field, nullable: ranks.includes(distinct) })
  }
  return found
}
