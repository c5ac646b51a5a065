import type { AuditEvent } from '../../model/audit-events.ts'

/**
 * A change of the repository, for both engines: a generator whose steps an engine runs in one transaction. Statements are
 * PostgreSQL's, in the words that SQLite knows, too; `forSqlite` takes from them what it doesn't.
 */
export type Change<T> = Generator<Step, T, unknown>

export type Step =
  | { readonly kind: 'rows' | 'run'; readonly sql: string; readonly values: readonly Value[] }
  /** The number of the audience with these readers, which is added if it isn't there. */
  | { readonly kind: 'audience'; readonly readers: string }
  | { readonly kind: 'event'; readonly event: AuditEvent }

export type Value = string | number | null

export function* rows<T>(sql: string, ...values: readonly Value[]): Change<readonly T[]> {
  return (yield { kind: 'rows', sql, values }) as readonly T[]
}

/** The first row. */
export function* row<T>(sql: string, ...values: readonly Value[]): Change<T | undefined> {
  return (yield* rows<T>(sql, ...values))[0]
}

/** @returns how many rows were changed */
export function* run(sql: string, ...values: readonly Value[]): Change<number> {
  return (yield { kind: 'run', sql, values }) as number
}

export function* audience(readers: string): Change<number> {
  return (yield { kind: 'audience', readers }) as number
}

export function* record(event: AuditEvent): Change<void> {
  yield { kind: 'event', event }
}

/** SQLite has no schemas, one writer instead of locked rows, and another mark for values. */
export const forSqlite = (sql: string): string =>
  sql
    .replaceAll('carrel.', '')
    .replaceAll(/ FOR (UPDATE|KEY SHARE)/g, '')
    .replaceAll('$', '?')
