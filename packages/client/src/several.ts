import { toJson } from './json.ts'
import type { Json } from './query.ts'
import type { Requests } from './routes.ts'
import type { Send } from './transport.ts'

/** Changes of several records in one step, and the changes that a record has had. */

/** An operation of a JSON Patch (RFC 6902). */
export interface Operation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

/** Options of a change of several records. */
export interface Together {
  /** true only tells what would be changed. */
  readonly dryRun?: boolean
  /** The number of records that there must be. */
  readonly expected?: number
  /** true to get the list for `write` that takes the change back. */
  readonly undo?: boolean
  readonly signal?: AbortSignal
}

/** The write of one record among several. */
export interface Write<T> {
  readonly key: string
  /** The entity tag that it must have; null: it must not be there. */
  readonly etag?: string | null
  /** The whole record; null deletes it. */
  readonly record?: T | null
  /** false: a new record gets no defaults. A list that takes a deletion back has it. */
  readonly defaults?: boolean
  /** A merge patch or a list of operations, in place of the whole record. */
  readonly patch?: { readonly [F in keyof T]?: T[F] | null } | readonly Operation[]
}

/** The records that were changed, or would be. */
export interface Changed<T> {
  readonly count: number
  readonly changed: number
  readonly dry_run: boolean
  /** The first of them. */
  readonly records: readonly { readonly key: string; readonly before: T | null; readonly after: T | null }[]
  readonly undo?: { readonly records: readonly Write<T>[] }
}

/** A change in the history of a record. */
export interface RecordEvent {
  readonly id: number
  readonly time: string
  readonly event: string
  /** The email address of who has written it. */
  readonly by: string | null
  readonly changes: { readonly before: object | null; readonly after: object | null } | null
}

/** @param base the address of the entity */
export async function together<T>(
  client: Requests,
  base: string,
  method: 'PATCH' | 'DELETE',
  { query, dryRun, expected, undo, signal }: Together & { readonly query?: string | Json },
  given: Pick<Send, 'headers' | 'json'> = {},
): Promise<Changed<T>> {
  const response = await client.request(method, base, {
    ...given,
    signal,
    query: {
      query: query === undefined || typeof query === 'string' ? query : toJson(query),
      dry_run: dryRun,
      expected,
      undo,
    },
  })
  return client.parse(await response.text()) as Changed<T>
}
