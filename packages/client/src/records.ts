import { type Change, type ChangeOptions, changesOf } from './changes.ts'
import { toJson } from './json.ts'
import { linesOf } from './lines.ts'
import {
  type Asked,
  askedBy,
  type Column,
  type Json,
  type Key,
  type Row,
  type Specification,
} from './query.ts'
import type { Requests } from './routes.ts'
import {
  type Changed,
  type Operation,
  type RecordEvent,
  type Together,
  together,
  type Write,
} from './several.ts'

/**
 * A query whose records are not requested yet. `for await` reads them as one response, at the pace of the
 * loop.
 */
export interface Query<T> extends AsyncIterable<T> {
  /** Like `for await`, with a signal that aborts the transfer. */
  stream(signal?: AbortSignal): AsyncGenerator<T>
  all(signal?: AbortSignal): Promise<T[]>
  first(signal?: AbortSignal): Promise<T | undefined>
  total(signal?: AbortSignal): Promise<number>
  page(which: PageOptions & { readonly total: true }): Promise<Page<T> & { readonly total: number }>
  page(which?: PageOptions): Promise<Page<T>>
  /**
   * Yields one page after another; each is requested when the loop needs it. Those of an imported entity all show
   * the state of the first one, whatever is written meanwhile.
   * @throws CarrelProblem `snapshot-expired` if the loop takes longer than the service keeps that state
   */
  pages(size: number, options?: AbortSignal | PagesOptions): AsyncGenerator<Page<T>>
}

interface PagesOptions {
  /** false shows each page in the state at its time; then records may be missed or come twice. */
  readonly pinned?: boolean
  readonly signal?: AbortSignal
}

interface PageOptions {
  /** The snapshot of another page or of a change, whose state is shown. */
  readonly snapshot?: string | undefined
  readonly limit?: number
  readonly offset?: number
  /** true also counts the records without limit and offset. */
  readonly total?: boolean
  readonly signal?: AbortSignal
}

export interface Page<T> {
  readonly records: readonly T[]
  readonly total: number | undefined
  readonly offset: number
  readonly etag: string | undefined
  /** Names the state that the page shows; undefined where states aren't kept. */
  readonly snapshot: string | undefined
}

/**
 * A record with the entity tag of its state. Sent back in `ifMatch`, the tag keeps the change of another
 * client from being overwritten.
 */
export interface Found<T> {
  readonly record: T
  readonly etag: string | undefined
}

export interface Precondition {
  readonly ifMatch?: string | undefined
  /** `*` writes only if the record does not exist yet. */
  readonly ifNoneMatch?: '*'
  readonly signal?: AbortSignal
}

/** Maximum length of an address; longer queries are sent in a body. */
const longestAddress = 4_000

export function queryOf<T>(client: Requests, path: string, asked: Asked): Query<T> {
  function ask(asked: Asked, accept: string, signal: AbortSignal | undefined): Promise<Response> {
    const { query, order_by, ...numbers } = asked
    const inAddress = {
      ...numbers,
      ...(query === undefined ? {} : { query: typeof query === 'string' ? query : toJson(query) }),
      ...(order_by ? { order_by: JSON.stringify(order_by) } : {}),
    }
    const given = { headers: { accept }, signal }
    return toJson(inAddress).length > longestAddress
      ? client.request('POST', path, { ...given, json: asked })
      : client.request('GET', path, { ...given, query: inAddress })
  }

  async function* stream(signal?: AbortSignal): AsyncGenerator<T> {
    for await (const line of linesOf(await ask(asked, 'application/x-ndjson', signal), signal))
      if (line !== '') yield client.parse(line) as T
  }

  async function page({ limit, offset, total, snapshot, signal }: PageOptions = {}): Promise<Page<T>> {
    const window = {
      ...asked,
      ...(limit === undefined ? {} : { limit }),
      ...(offset === undefined ? {} : { offset }),
      ...(total ? { include_total: true } : {}),
      ...(snapshot === undefined ? {} : { snapshot }),
    }
    const response = await ask(window, 'application/json', signal)
    const counted = response.headers.get('x-records')
    return {
      records: client.parse(await response.text()) as T[],
      total: counted === null ? undefined : Number(counted),
      offset: window.offset ?? 0,
      etag: response.headers.get('etag') ?? undefined,
      snapshot: response.headers.get('x-snapshot') ?? undefined,
    }
  }

  return {
    stream,
    [Symbol.asyncIterator]: () => stream(),
    page: page as Query<T>['page'],
    async *pages(size, options = {}) {
      const { pinned = true, signal } =
        options instanceof AbortSignal ? { signal: options } : (options as PagesOptions)
      let snapshot: string | undefined
      const end = asked.limit === undefined ? Number.POSITIVE_INFINITY : (asked.offset ?? 0) + asked.limit
      for (let offset = asked.offset ?? 0; offset < end; offset += size) {
        const limit = Math.min(size, end - offset)
        const one = await page({ limit, offset, snapshot, ...(signal ? { signal } : {}) })
        if (pinned) snapshot = one.snapshot
        if (one.records.length > 0) yield one
        if (one.records.length < limit) return
      }
    },
    all: async signal => [...(await page(signal ? { signal } : {})).records] as T[],
    first: async signal => (await page({ limit: 1, ...(signal ? { signal } : {}) })).records[0],
    total: async signal => {
      const { total } = await page({ limit: 1, total: true, ...(signal ? { signal } : {}) })
      return total ?? 0
    },
  }
}

/** The records of an entity. */
export class Entity<T, E> {
  readonly #client: Requests
  readonly #base: string
  readonly name: string

  constructor(client: Requests, base: string, name: string) {
    this.#client = client
    this.#base = `${base}/${encodeURIComponent(name)}`
    this.name = name
  }

  /** Queries whole records, or the columns named by `select`. */
  query<const C extends Column<T> = never>(specification: Specification<T, C> = {}): Query<Row<T, C>> {
    return queryOf(this.#client, this.#base, askedBy(this.name, specification))
  }

  /** @throws CarrelProblem 404 if the caller can read no record with this key */
  async get(key: Key, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Found<T>> {
    return this.#found(await this.#client.request('GET', this.#address(key), { signal }))
  }

  /** Writes the whole record. @throws CarrelProblem `precondition-failed` if it was changed meanwhile */
  async put(key: Key, record: T, precondition: Precondition = {}): Promise<Found<T>> {
    return this.#found(
      await this.#client.request('PUT', this.#address(key), { ...conditions(precondition), json: record }),
    )
  }

  /** @param patch members to change (RFC 7396; null removes a value), or a list of operations (RFC 6902) */
  async patch(
    key: Key,
    patch: { readonly [F in keyof T]?: T[F] | null } | readonly Operation[],
    precondition: Precondition = {},
  ): Promise<Found<T>> {
    const type = Array.isArray(patch) ? 'application/json-patch+json' : 'application/merge-patch+json'
    const { headers, signal } = conditions(precondition)
    const given = { headers: { ...headers, 'content-type': type }, signal, json: patch }
    return this.#found(await this.#client.request('PATCH', this.#address(key), given))
  }

  async delete(key: Key, precondition: Precondition = {}): Promise<void> {
    await this.#client.request('DELETE', this.#address(key), conditions(precondition))
  }

  /**
   * Changes all records that a query finds, in one step.
   * @param patch members to change (RFC 7396; null removes a value), or a list of operations (RFC 6902)
   * @throws CarrelProblem `precondition-failed` with the `count` if it isn't the expected one
   */
  async patchAll(
    query: string | Json,
    patch: { readonly [F in keyof T]?: T[F] | null } | readonly Operation[],
    options: Together = {},
  ): Promise<Changed<T>> {
    const type = Array.isArray(patch) ? 'application/json-patch+json' : 'application/merge-patch+json'
    return together(
      this.#client,
      this.#base,
      'PATCH',
      { query, ...options },
      { headers: { 'content-type': type }, json: patch },
    )
  }

  /** Deletes all records that a query finds, in one step. */
  async deleteAll(query: string | Json, options: Together = {}): Promise<Changed<T>> {
    return together(this.#client, this.#base, 'DELETE', { query, ...options })
  }

  /**
   * Writes records by their keys, in one step.
   * @throws CarrelProblem `precondition-failed` with the `keys` of those that have another tag
   */
  async write(records: readonly Write<T>[], options: Omit<Together, 'expected'> = {}): Promise<Changed<T>> {
    return together(this.#client, this.#base, 'PATCH', options, { json: { records } })
  }

  /** Lists who has written a record and what differed, newest first. @param before the id of a change */
  async history(
    key: Key,
    {
      limit,
      before,
      signal,
    }: { readonly limit?: number; readonly before?: number; readonly signal?: AbortSignal } = {},
  ): Promise<readonly RecordEvent[]> {
    const query = { history: true, limit, before }
    const response = await this.#client.request('GET', this.#address(key), { query, signal })
    return this.#client.parse(await response.text()) as readonly RecordEvent[]
  }

  /**
   * Follows the changes of the records, until the signal or the loop ends it. A connection that has broken is resumed where it
   * was.
   * @throws CarrelProblem `snapshot-expired` if what has changed since isn't known any more
   */
  changes(options: ChangeOptions = {}): AsyncGenerator<Change<T>> {
    return changesOf(this.#client, `${this.#base}/changes`, options)
  }

  /** Queries the records of another entity that are related to this one. */
  related<N extends keyof E & string, const C extends Column<E[N]> = never>(
    key: Key,
    entity: N,
    specification: Specification<E[N], C> = {},
  ): Query<Row<E[N], C>> {
    return queryOf(
      this.#client,
      `${this.#address(key)}/${encodeURIComponent(entity)}`,
      askedBy(entity, specification),
    )
  }

  async #found(response: Response): Promise<Found<T>> {
    const record = this.#client.parse(await response.text()) as T
    return { record, etag: response.headers.get('etag') ?? undefined }
  }

  #address(key: Key): string {
    const text = Array.isArray(key)
      ? key.map(part => String(part).replaceAll(/[\\,]/g, '\\$&')).join(',')
      : String(key)
    return `${this.#base}/${encodeURIComponent(text)}`
  }
}

const conditions = ({ ifMatch, ifNoneMatch, signal }: Precondition) => ({
  headers: { 'if-match': ifMatch, 'if-none-match': ifNoneMatch },
  signal,
})
