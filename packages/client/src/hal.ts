import type { Requests } from './routes.ts'
import type { Send } from './transport.ts'

export interface HalPage<T> {
  readonly items: readonly T[]
  readonly total: number
  /** The number of the page, counted from 0. */
  readonly number: number
  readonly pages: number
}

/** A list in DSpace's form. `for await` requests each page when it is needed. */
export interface HalList<T> extends AsyncIterable<T> {
  /** @param number of the page, counted from 0 */
  page(number?: number, size?: number, signal?: AbortSignal): Promise<HalPage<T>>
  /** @param size number of elements per page; the service may send fewer */
  pages(size?: number, signal?: AbortSignal): AsyncGenerator<HalPage<T>>
}

interface Body {
  readonly _embedded?: Readonly<Record<string, readonly unknown[]>>
  readonly page?: { readonly totalElements: number; readonly totalPages: number; readonly number: number }
}

const usualSize = 100

export function listOf<T>(client: Requests, path: string, query: Send['query']): HalList<T> {
  async function page(number = 0, size = usualSize, signal?: AbortSignal): Promise<HalPage<T>> {
    const given = { query: { ...query, page: number, size }, signal }
    const body = client.parse(await (await client.request('GET', path, given)).text()) as Body
    const items = (Object.values(body._embedded ?? {})[0] ?? []) as readonly T[]
    return {
      items,
      total: body.page?.totalElements ?? items.length,
      number: body.page?.number ?? 0,
      pages: body.page?.totalPages ?? 1,
    }
  }

  async function* pages(size?: number, signal?: AbortSignal) {
    for (let number = 0; ; number++) {
      const one = await page(number, size, signal)
      if (one.items.length > 0 || number === 0) yield one
      if (number + 1 >= one.pages) return
    }
  }

  return {
    page,
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { items } of pages()) yield* items
    },
  }
}
