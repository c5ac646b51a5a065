import type { Key } from './query.ts'
import type { Requests } from './routes.ts'
import { type FollowOptions, serverEvents } from './server-events.ts'

/** A change of a record of an entity. */
export type Change<T> = Told &
  ({ readonly change: 'added' | 'changed'; readonly record: T } | { readonly change: 'deleted' })

interface Told {
  readonly key: Key
  /** A snapshot to go on with (`since`), which is never later than this change. */
  readonly snapshot: string | undefined
}

export interface ChangeOptions extends FollowOptions {
  /** The snapshot of a page, or of a change; without it, only later changes come. */
  readonly since?: string | undefined
}

/** Yields changes as they happen, until the signal or the loop ends it. */
export async function* changesOf<T>(
  client: Requests,
  path: string,
  { since, ...options }: ChangeOptions,
): AsyncGenerator<Change<T>> {
  let snapshot = since
  for await (const { event, id, data } of serverEvents(client, path, { since }, options)) {
    snapshot = id ?? snapshot
    if (event === undefined) yield { ...(client.parse(data) as Change<T>), snapshot }
  }
}
