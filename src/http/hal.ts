import { badParameter, type Query } from './parameters.ts'

/** HAL (draft-kelly-json-hal) as DSpace's clients know it: pages with one key in `_embedded`, links with `href`. */
export interface PageRequest {
  /** Counts from 0. */
  readonly number: number
  readonly size: number
}

const defaultSize = 20
const maxPageSize = 1_000
export const firstPage: PageRequest = { number: 0, size: defaultSize }

/**
 * `page` and `size`. Other parameters are ignored: clients send `embed`, `projection` and `sort` everywhere. DSpace's
 * interface asks for 9999 where it wants everything: who asks for more than there is on one page gets what there is.
 * @throws Problem 400
 */
export const readPage = (query: Query, most: number = maxPageSize): PageRequest => ({
  number: wholeNumber(query, 'page', 0, 0),
  size: Math.min(wholeNumber(query, 'size', defaultSize, 1), most),
})

export const halPage = <T>(name: string, all: readonly T[], page: PageRequest, self: string) =>
  halPart(name, all.slice(page.number * page.size, (page.number + 1) * page.size), all.length, page, self)

/**
 * A page of something longer.
 * @param total of which the elements are a part @param self where the list is, with what it was asked for but the page
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

/** Where there is more than one page, where the others are: clients that read a whole list follow `next`. */
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

/** The address of a list with those parameters of the request that say what is in it. */
export function withParameters(address: string, query: Query, names: readonly string[]): string {
  const given = names.flatMap(name =>
    (query.values.get(name) ?? []).map(value => `${name}=${encodeURIComponent(value)}`),
  )
  return given.length === 0 ? address : `${address}?${given.join('&')}`
}

/** The one value of a parameter. @throws Problem 400 where it comes twice */
export function single(query: Query, name: string): string | undefined {
  const [value, second] = query.values.get(name) ?? []
  if (second !== undefined)
    throw badParameter(name, second, `The parameter ${name} is given more than once; give it once.`)
  return value
}

function wholeNumber(query: Query, name: string, fallback: number, least: number): number {
  const most = Number.MAX_SAFE_INTEGER
  const text = single(query, name)
  if (text === undefined) return fallback
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw badParameter(name, text, `The parameter ${name} must be a whole number from ${least} to ${most}.`)
}
