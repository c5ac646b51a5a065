import type { KeptVersionLimits } from '../../model/kept-versions.ts'
import type { Entities, NewEntity } from '../entities.ts'
import type { OwnCopies } from '../records/field-copies.ts'
import type { RecordSource } from '../records/record-source.ts'
import { shareFiles } from '../records/version-files.ts'
import type { Shared } from '../runtime/event-loops.ts'
import type { entities } from '../statements/entities.ts'
import { forgetRetired, keepRetired, storedVersions } from '../statements/kept-versions.ts'
import type { Offered } from '../statements/statements.ts'
import type { Connection, Pool } from './driver.ts'
import { publishEntity, reviseEntity } from './entity-changes.ts'
import { perform, withConnection } from './perform.ts'
import { baseOf, recordTable } from './record-versions.ts'

/** New versions of entities, and the removal of those that nothing needs. */

/** Interval in ms at which unused versions are removed, and those still being read are marked as used. */
const sweepInterval = 20_000
/** Time in ms after the start at which leftovers of killed programs are first removed. */
const firstSweepAfter = 1_000

export interface PublishingParts {
  readonly pool: Pool
  readonly changes: Offered<typeof entities>
  readonly records: RecordSource & { readonly openVersions: ReadonlyMap<string, number> }
  readonly keptVersions: KeptVersionLimits
  readonly shared: Shared
  /** Opens a connection without time limits, for long-running work. */
  readonly connect: () => Promise<Connection>
  /** Files of fields that nodes share, on the loop that looks after the store. */
  readonly copies: OwnCopies | undefined
}

/**
 * Removes replaced versions that no listing reads any more.
 * @param current returns the versions whose files of fields stay
 */
async function sweep(
  { copies, pool, changes, keptVersions, records, shared }: PublishingParts,
  current: () => ReadonlySet<string>,
): Promise<void> {
  const reading = [...records.openVersions.keys()]
  if (reading.length > 0) await perform(pool, keepRetired(reading))
  if (await changes.hasOldKept(keptVersions)) await changes.trim(keptVersions)
  const abandoned = shared.loop === null ? records.fieldFiles.abandoned() : []
  const stored = await perform(pool, storedVersions())
  for (const { version } of stored.filter(({ state }) => state === 'old')) {
    const isRemoved = await pool.transaction(async db => {
      // If several nodes try, the one that deletes the row removes the version.
      if ((await perform(db, forgetRetired([version]))) === 0) return false
      await removeVersion(db, version)
      return true
    })
    if (isRemoved) copies?.erase(version)
  }
  if (shared.loop !== null) return
  const versions = new Set([...current(), ...stored.map(({ version }) => version)])
  for (const version of abandoned) if (!versions.has(version)) records.fieldFiles.remove(version)
  records.fieldFiles.sweep(versions)
  copies?.sweep(versions)
}

async function removeVersion(db: Connection, version: string): Promise<void> {
  await db.run('DELETE FROM rank WHERE version = $1', version)
  // A table belongs to a version and all its revisions.
  const tables = ['entity', 'kept_version', 'held_version', 'retired']
  const uses = tables.map(table => `SELECT 1 FROM ${table} WHERE split_part(version, '.', 1) = $1`)
  const [used] = await db.rows(uses.join(' UNION ALL '), baseOf(version))
  if (!used) await db.exec(`DROP TABLE IF EXISTS ${recordTable(version)}`)
}

type ThenSweep = <T>(work: Promise<T>) => Promise<T>

/** Sweeps after the start, now and then, and after work that replaces a version. */
function keepSweeping(sweep: () => Promise<void>) {
  // A failed removal is retried later.
  const trySweep = () => sweep().catch(() => {})
  const sweeping = setInterval(() => void trySweep(), sweepInterval).unref()
  const firstSweep = setTimeout(() => void trySweep(), firstSweepAfter).unref()
  const thenSweep: ThenSweep = async work => {
    const done = await work
    await trySweep()
    return done
  }
  const endSweeping = () => {
    clearInterval(sweeping)
    clearTimeout(firstSweep)
  }
  return { thenSweep, endSweeping }
}

/**
 * Writes a new version, whose files other nodes find before it is shown. If another was published meanwhile, what was
 * written of this one is removed at once.
 * @param isFold false for the work of an operator
 * @param write returns undefined if the version was not published
 */
async function written<T extends Pick<NewEntity, 'writeFields'>, R>(
  { copies, pool, records }: PublishingParts,
  given: T,
  isFold: boolean,
  write: (given: T) => Promise<R | undefined>,
): Promise<R | undefined> {
  const { writeFields } = given
  let version: string | undefined
  const noted = async (made: string) => {
    version = made
    const folder = (await writeFields?.(made)) ?? ''
    if (copies) await shareFiles(records.fieldFiles, copies, { version: made, folder, isFold })
    return folder
  }
  // A commit may have arrived although its answer has not.
  const isStored = async () =>
    (await perform(pool, storedVersions())).some(({ version: stored }) => stored === version)
  const discard = async () => {
    const lost = version
    if (lost === undefined) return
    records.fieldFiles.remove(lost)
    copies?.erase(lost)
    await pool.transaction(async db => {
      if ((await db.run('DELETE FROM retired WHERE version = $1', lost)) > 0) await removeVersion(db, lost)
    })
  }
  try {
    const done = await write(writeFields ? { ...given, writeFields: noted } : given)
    if (done === undefined) await discard().catch(() => {})
    return done
  } catch (error) {
    if (!(await isStored().catch(() => true))) await discard().catch(() => {})
    throw error
  }
}

/**
 * Limits of the connection on which a revision is written, which keeps others waiting: the server ends it when its node
 * is suspended, or cut off.
 */
const whileRevising = `SET idle_in_transaction_session_timeout = '2min'; SET tcp_keepalives_idle = 5;
  SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`

/** Writes new versions, on connections of their own, and removes those that nothing needs. */
export function createPublishing(parts: PublishingParts, current: () => ReadonlySet<string>) {
  const { pool, connect, keptVersions } = parts
  const { thenSweep, endSweeping } = keepSweeping(() => sweep(parts, current))
  const publish: Entities['publish'] = (entity, lines, event) => {
    const write = (given: NewEntity) =>
      withConnection(connect, db => publishEntity(pool, db, given, lines, event, keptVersions))
    return thenSweep(written(parts, entity, event === null, write))
  }
  const revise: Entities['revise'] = (revision, event) => {
    const write = (given: typeof revision) =>
      withConnection(connect, async db => {
        await db.exec(whileRevising)
        return reviseEntity(pool, db, given, event, keptVersions)
      })
    return thenSweep(written(parts, revision, event === null, write))
  }
  return { publish, revise, thenSweep, endSweeping }
}
