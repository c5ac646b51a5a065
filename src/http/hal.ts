import { badParameter, type Query } from './parameters.ts'

/** HAL (draft-kelly-json-hal) as DSpace's clients know it: pages with one key in `_embedded`, links with `href`. */
export interface PageRequest {
  /** Counts from 0. */
  readonly number: number
  readonly size: number
}

const defaultSize = 20
const largestSize = 1_000
export const firstPage: PageRequest = { number: 0, size: defaultSize }

/**
 * `page` and `size`. Other parameters are ignored: clients send `embed`, `projection` and `sort` everywhere.
 * @throws Problem 400
 */
export const readPage = (query: Query): PageRequest => ({
  number: wholeNumber(query, 'page', 0, 0, Number.MAX_SAFE_INTEGER),
  size: wholeNumber(query, 'size', defaultSize, 1, largestSize),
})

export const halPage = <T>(name: string, all: readonly T[], { number, size }: PageRequest, self: string) => ({
  _embedded: { [name]: all.slice(number * size, (number + 1) * size) },
  page: { number, size, totalPages: Math.ceil(all.length / size), totalElements: all.length },
  _links: { self: { href: self } },
})

/** The one value of a parameter. @throws Problem 400 where it comes twice */
export function single(query: Query, name: string): string | undefined {
  const [value, second] = query.values.get(name) ?? []
  if (second !== undefined)
    throw badParameter(name, second, `The parameter ${name} is given more than once; give it once.`)
  return value
}

function wholeNumber(query: Query, name: string, fallback: number, least: number, most: number): number {
  const text = single(query, name)
  if (text === undefined) return fallback
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw badParameter(name, text, `The parameter ${name} must be a whole number from ${least} to ${most}.`)
}
