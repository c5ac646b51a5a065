import { StoreUnavailable } from '../../lib/errors.ts'
import { hasRecords, lostRecords } from '../statements/record-writes.ts'
import type { Pool, Queries } from './driver.ts'

/** Minimum time in ms between two looks. */
const lookAgainAfter = 1_000
/** Maximum number of entities per look. */
const maxLooked = 500

/** The views and tables of the store, except for those of records. */
const ownTables = (db: Queries) =>
  db.rows<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
     WHERE s.nspname = 'carrel' AND c.relkind IN ('r', 'v') AND c.relname NOT LIKE 'records.%'`,
  )

/** Checks that the database has all parts of the store that requests need. */
export async function createStoreCheck(pool: Pool) {
  const tables = (await ownTables(pool)).map(({ name }) => name)
  let looked = Number.NEGATIVE_INFINITY
  let last = ''
  let looking: Promise<void> | undefined
  let found: { readonly entity: string; readonly error: StoreUnavailable } | undefined

  async function look(): Promise<void> {
    const there = new Set((await ownTables(pool)).map(({ name }) => name))
    const lost = tables.find(name => !there.has(name))
    if (lost !== undefined)
      throw new StoreUnavailable(
        `the database has lost ${lost}, a table of the store: restore it from a backup`,
      )
    // Goes on where the last look ended, so that the time of a look doesn't grow with the number of entities.
    const some = await pool.rows<{ name: string; is_there: boolean }>(
      `SELECT e.name, ${hasRecords.postgres} AS is_there FROM entity e
       WHERE e.version IS NOT NULL AND (e.name = $1 OR e.name > $2) ORDER BY e.name = $1 DESC, e.name LIMIT $3`,
      found?.entity ?? '',
      last,
      maxLooked,
    )
    const gone = some.find(({ is_there }) => !is_there)
    found = gone && { entity: gone.name, error: lostRecords(gone.name) }
    last = some.length < maxLooked ? '' : (some.at(-1)?.name ?? '')
  }

  return {
    /** Checks some of the parts, at most once a second. @throws StoreUnavailable saying what is lost */
    requireSome: async (): Promise<void> => {
      if (performance.now() - looked >= lookAgainAfter) {
        looking ??= look().finally(() => {
          looked = performance.now()
          looking = undefined
        })
        try {
          await looking
        } catch (error) {
          looked = Number.NEGATIVE_INFINITY
          throw error
        }
      }
      if (found) throw found.error
    },
  }
}

export type StoreCheck = Awaited<ReturnType<typeof createStoreCheck>>
