import { expressionFor } from '../accents.ts'
import { service } from '../api.ts'
import { pathOf } from '../entities.ts'
import type { Requested } from '../query/request-texts.ts'

/** An item as the query endpoints return it to the caller. */
export interface Item {
  readonly uuid: string
  readonly identifier: string
  readonly title: string | null
  readonly authors: readonly string[]
  readonly issued: string | null
  readonly type: string | null
  readonly metadata: Readonly<
    Record<string, readonly { readonly value: string; readonly language: string | null }[]>
  >
  readonly withdrawn: boolean
  readonly discoverable: boolean
}

export interface Bitstream {
  readonly uuid: string
  readonly item: string
  readonly bundle: string
  readonly name: string
  readonly description: string | null
  readonly mime_type: string
  readonly size: number
}

async function ask<T>(
  query: string,
  parameters: Readonly<Record<string, number | boolean>>,
  signal: AbortSignal,
) {
  const response = await service.value.request('GET', pathOf(), { query: { query, ...parameters }, signal })
  return {
    records: (await response.json()) as readonly T[],
    total: Number(response.headers.get('x-records')),
  }
}

export const itemsPerPage = 25

/** Orders of the list of items, in PQL. */
export const orders = {
  issued: 'issued desc, title',
  title: 'title, issued',
  modified: 'modified desc, title',
} as const
export type ItemOrder = keyof typeof orders

/**
 * @param search words, each of which must appear in the title, the authors, the year, the type or the
 * identifier, whatever its case and accents are
 */
export function itemsAsked(search: string, page: number, order: ItemOrder = 'issued') {
  const words = search.split(/\s+/).filter(Boolean).slice(0, 10)
  const condition = words.map(one => {
    const expression = JSON.stringify(expressionFor(one))
    return `(${['title', 'authors', 'issued', 'type', 'identifier'].map(name => `${name} ~ ${expression}`).join(' or ')})`
  })
  const query = `items { ${[condition.join(' and '), `order by ${orders[order]}`].filter(Boolean).join(' ')} }`
  return { query, limit: itemsPerPage, offset: (page - 1) * itemsPerPage } satisfies Requested
}

export function loadItems(search: string, page: number, signal: AbortSignal, order: ItemOrder = 'issued') {
  const { query, ...window } = itemsAsked(search, page, order)
  return ask<Item>(query, { ...window, include_total: true }, signal)
}

export const loadItem = (uuid: string, signal: AbortSignal): Promise<Item> =>
  service.value.get<Item>(pathOf('items', uuid), { signal })

/** Maximum number of files listed; more could not be looked through by hand. */
const mostFiles = 500

export const loadFiles = (item: string, signal: AbortSignal) =>
  ask<Bitstream>(
    `bitstreams { item = ${JSON.stringify(item)} order by bundle, name }`,
    { limit: mostFiles, include_total: true },
    signal,
  )

/** Path of the page on which administrators change an item. */
export const itemPath = (uuid: string): string => `admin/items/${uuid}`

/** Types of pictures that browsers show, and that can't run code. */
export const pictureTypes = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
] as const

/** Maximum size in bytes of a file that is loaded for a thumbnail, and number of files looked at. */
const [largestPicture, mostPictures] = [5_000_000, 500]

/** Finds a picture for each item: a thumbnail that was made for it or, without one, the first picture among its files. */
export async function loadPictures(
  items: readonly Item[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Bitstream>> {
  if (items.length === 0) return new Map()
  const list = (texts: readonly string[]) => `[${texts.map(text => JSON.stringify(text)).join(', ')}]`
  const query = `bitstreams { item in ${list(items.map(({ uuid }) => uuid))} and mime_type in ${list(pictureTypes)} and bundle in ["THUMBNAIL", "ORIGINAL"] and size <= ${largestPicture} order by bundle, name desc }`
  const { records } = await ask<Bitstream>(query, { limit: mostPictures }, signal)
  // The last one of an item stays: its thumbnail, else its first picture.
  return new Map(records.map(one => [one.item, one]))
}
