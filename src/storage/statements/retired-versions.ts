import { type Change, clock, type Read, rows, run } from './statements.ts'

/** Versions that nothing needs any more, but that a request may just have looked up. */

/** Retires a version that no entity has. It is removed once no request reads it, and it is neither kept nor held. */
export function* retire(version: string): Change<void> {
  yield* run(
    `INSERT INTO retired (version, at) SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT)
     WHERE NOT EXISTS (SELECT 1 FROM kept_version WHERE version = $1)
       AND NOT EXISTS (SELECT 1 FROM held_version WHERE version = $1)
     ON CONFLICT DO NOTHING`,
    version,
    yield* clock(),
  )
}

/** Marks retired versions as in use, because they are being read or pointed at again. */
export function* keepRetired(versions: readonly string[]): Change<void> {
  yield* run('UPDATE retired SET at = $1 WHERE version = ANY($2)', yield* clock(), versions)
}

/** Time in ms for which a replaced version is kept for requests that have just looked it up. */
const retiredGrace = 60_000

/** Forgets those of these versions that are old. @returns the number of forgotten versions */
export function* forgetRetired(versions: readonly string[]): Change<number> {
  const sql = 'DELETE FROM retired WHERE version = ANY($1) AND at < $2'
  return yield* run(sql, versions, (yield* clock()) - retiredGrace)
}

export interface StoredVersion {
  readonly version: string
  /** `old`: retired, and no request can still look it up. */
  readonly state: 'used' | 'retired' | 'old'
}

/**
 * All versions that are not to be removed yet, or are: those of entities, those kept or held, and retired ones. One
 * statement sees one moment of the store, so none that is restored meanwhile is overlooked.
 */
export function* storedVersions(): Read<readonly StoredVersion[]> {
  const before = (yield* clock()) - retiredGrace
  const found = yield* rows<{ version: string; at: number | null }>(
    `SELECT version, CAST(NULL AS BIGINT) AS at FROM entity WHERE version IS NOT NULL
     UNION ALL SELECT version, CAST(NULL AS BIGINT) FROM kept_version
     UNION ALL SELECT version, CAST(NULL AS BIGINT) FROM held_version UNION ALL SELECT version, at FROM retired`,
  )
  return found.map(({ version, at }) => ({
    version,
    state: at === null ? 'used' : at < before ? 'old' : 'retired',
  }))
}
