import { StoreUnavailable } from '../../model/errors.ts'

/** What the driver's errors mean (https://www.postgresql.org/docs/current/errcodes-appendix.html). */

/**
 * Serialization failure and deadlock, and what another node has made in the same moment: the same again may well
 * succeed.
 */
export class Conflict extends StoreUnavailable {}
const conflict = /^(40001|40P01|23505|42P06|42P07|42710)$/

/**
 * Classes and codes that say "not now, not here" rather than "wrong": connection, authorization, database, resources,
 * limits, state, operator intervention, system, locks, a replica where the primary was; and 40003, where nobody knows
 * whether it was done, so that it must not be done again.
 */
const unavailable = /^(08|40003|28|3D|53|54|55000|55P03|57|58|25006|42501)/

/** Translates the driver's errors at the border, once. */
export async function guard<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translate(error)
  }
}

function translate(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code = codeOf(error)
  if (code !== undefined) {
    if (conflict.test(code)) return new Conflict('changes get into the way of each other', { cause: error })
    return unavailable.test(code)
      ? new StoreUnavailable(`PostgreSQL: ${error.message}`, { cause: error })
      : error
  }
  const { code: ofSystem } = error as NodeJS.ErrnoException
  const ofConnection = /connect|terminated|timeout|timed out|pool|not queryable|socket|closed/i
  if (ofSystem === undefined && !ofConnection.test(error.message)) return error
  return new StoreUnavailable(`PostgreSQL does not answer (${ofSystem ?? error.message})`, { cause: error })
}

/** The SQLSTATE of an error of the database's own, or of what it caused; undefined for others. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && severity !== undefined ? code : codeOf(error.cause)
}

/** How often work is tried that conflicts with others, and the longest pause before it is tried again, in ms. */
const maxAttempts = 20
const maxPause = 20

/** Does it again when it got into the way of others: it must be repeatable, and leave nothing behind when it fails. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Conflict) || attempt === maxAttempts) throw error
      await new Promise(resolve => setTimeout(resolve, Math.random() * maxPause))
    }
}
