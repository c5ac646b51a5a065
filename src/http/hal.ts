import { type Query, single, wholeNumber } from './parameters.ts'

/** HAL (draft-kelly-json-hal) as DSpace's clients know it: pages with one key in `_embedded`, links with `href`. */
export interface PageRequest {
  /** From 0. */
  readonly number: number
  readonly size: number
}

const defaultSize = 20
const maxPageSize = 1_000
export const firstPage: PageRequest = { number: 0, size: defaultSize }

/**
 * `page` and `size`. Other parameters are ignored: clients send `embed`, `projection` and `sort` everywhere. DSpace's
 * interface asks for 9999 where it wants everything; a size over the maximum counts as the maximum.
 * @throws Problem 400
 */
export const readPage = (query: Query, max: number = maxPageSize): PageRequest => ({
  number: numberOf(query, 'page', 0, 0),
  size: Math.min(numberOf(query, 'size', defaultSize, 1), max),
})

/** Which part of the list the page is. */
export const windowOf = ({ number, size }: PageRequest) => ({
  offset: Math.min(number * size, Number.MAX_SAFE_INTEGER),
  limit: size,
})

export const halPage = <T>(name: string, all: readonly T[], page: PageRequest, self: string) =>
  halPart(name, all.slice(page.number * page.size, (page.number + 1) * page.size), all.length, page, self)

/**
 * A page of a longer list.
 * @param total how many elements the whole list has
 * @param self the address of the list, with all parameters but `page` and `size`
 */
export function halPart<T>(
  name: string,
  elements: readonly T[],
  total: number,
  { number, size }: PageRequest,
  self: string,
) {
  const totalPages = Math.ceil(total / size)
  return {
    _embedded: { [name]: elements },
    page: { number, size, totalPages, totalElements: total },
    _links: { ...neighbours(number, size, totalPages, self), self: { href: self } },
  }
}

/** Links to the other pages, if there are any: clients that read a whole list follow `next`. */
function neighbours(number: number, size: number, pages: number, self: string) {
  if (pages < 2) return {}
  const to = (page: number) => ({
    href: `${self}${self.includes('?') ? '&' : '?'}page=${page}&size=${size}`,
  })
  return {
    first: to(0),
    ...(number > 0 ? { prev: to(Math.min(number, pages) - 1) } : {}),
    ...(number < pages - 1 ? { next: to(number + 1) } : {}),
    last: to(pages - 1),
  }
}

/** The address of a list with the parameters that select its elements. */
export function withParameters(address: string, query: Query, names: readonly string[]): string {
  const given = names.flatMap(name =>
    (query.values.get(name) ?? []).map(value => `${name}=${encodeURIComponent(value)}`),
  )
  return given.length === 0 ? address : `${address}?${given.join('&')}`
}

const numberOf = (query: Query, name: string, fallback: number, least: number): number => {
  const text = single(query, name)
  return text === undefined ? fallback : wholeNumber(name, text, least)
}
