import { StoreUnavailable } from '../../lib/errors.ts'

/** Translates the driver's errors by SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html). */

/**
 * A conflict with a concurrent transaction: a serialization failure, a deadlock, or an object that another
 * node created at the same time. A retry is likely to succeed.
 */
export class Conflict extends StoreUnavailable {}
const conflict = /^(40001|40P01|23505|42P06|42P07|42710)$/

/**
 * Classes and codes for failures of the environment, not of the statement: connection, authorization, database,
 * resources, limits, object state, operator intervention, system errors, locks, a read-only replica. 40003 is among
 * them because it leaves unknown whether the statement took effect, so it must not be retried.
 */
const unavailable = /^(08|40003|28|3D|53|54|55000|55P03|57|58|25006|42501)/

/** A schema or table is not there. */
const undefinedObject = /^(3F000|42P01)$/

/**
 * The only place that translates the driver's errors.
 * @param isForeign true if the statement names tables of the operator, which are not parts of the store
 */
export async function translateErrors<T>(
  work: () => Promise<T>,
  { isForeign = false }: { readonly isForeign?: boolean } = {},
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translate(error, isForeign)
  }
}

function translate(error: unknown, isForeign: boolean): unknown {
  if (!(error instanceof Error)) return error
  const code = codeOf(error)
  if (code !== undefined) {
    if (conflict.test(code))
      return new Conflict('PostgreSQL: the change conflicted with concurrent changes', { cause: error })
    if (undefinedObject.test(code) && !isForeign)
      return new StoreUnavailable(
        `PostgreSQL: ${error.message} (${code}): a part of the store is gone; restore the database from a backup`,
        { cause: error },
      )
    return unavailable.test(code)
      ? new StoreUnavailable(`PostgreSQL: ${error.message}`, { cause: error })
      : error
  }
  const { code: systemCode } = error as NodeJS.ErrnoException
  const connectionFailure = /connect|terminated|timeout|timed out|pool|not queryable|socket|closed/i
  if (systemCode === undefined && !connectionFailure.test(error.message)) return error
  return new StoreUnavailable(`PostgreSQL does not answer (${systemCode ?? error.message})`, { cause: error })
}

/** The SQLSTATE of a database error, or of the error that caused this one; undefined if there is none. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && severity !== undefined ? code : codeOf(error.cause)
}

/** Maximum number of attempts at conflicting work, and maximum pause in ms before a retry. */
const maxAttempts = 20
const maxPause = 20

/** Retries work after a conflict. It must be safe to repeat, and must have no effect when it fails. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Conflict) || attempt === maxAttempts) throw error
      await new Promise(resolve => setTimeout(resolve, Math.random() * maxPause))
    }
}

/** Time limits, in ms, that end a client's wait for a database that doesn't answer. */
export interface ClientLimits {
  /** Limit of the wait for a new or pooled connection. */
  readonly connect: number
  /** Limit of a statement that looks up a session or changes an account. */
  readonly statement: number
}

/** A client must have its answer, or its 503, within 5 s. */
export const clientLimits: ClientLimits = { connect: 1_900, statement: 3_000 }

/** Time in ms that a start waits for a slow database. No client waits yet. */
export const startPatience = 10_000

/** Repeats the work of a start while the database doesn't answer. It must be safe to repeat. @param patience in ms */
export async function patiently<T>(patience: number, work: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  for (;;)
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() - begun >= patience) throw error
      await new Promise(resolve => setTimeout(resolve, 100))
    }
}

/**
 * Reads from the first database that can answer. A replica may be unreachable, or lack a table, column or role that the
 * primary already has (PostgreSQL, appendix A, class 42 and 22023). An error of the last database is final.
 * @param databases the replica, if there is one, then the primary
 */
export async function withReplicaFallback<D, T>(
  databases: readonly D[],
  read: (database: D) => Promise<T>,
): Promise<T> {
  for (const [at, database] of databases.entries())
    try {
      return await read(database)
    } catch (error) {
      const mayWorkElsewhere = error instanceof StoreUnavailable || /^(42|22023)/.test(codeOf(error) ?? '')
      if (at === databases.length - 1 || !mayWorkElsewhere) throw error
    }
  throw new StoreUnavailable('there is no database to read from')
}
