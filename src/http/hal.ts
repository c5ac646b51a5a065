import { type Query, sentParameters, single, tokenParameter, wholeNumber } from './parameters.ts'

/** HAL (draft-kelly-json-hal) as DSpace's clients know it: pages with one key in `_embedded`, links with `href`. */
export interface PageRequest {
  /** Counted from 0. */
  readonly number: number
  readonly size: number
  /**
   * The request's other parameters, for the links of the page. DSpace's interface compares the address it
   * requested, without `embed`, with the link `self`, and warns if one has a parameter that the other lacks.
   */
  readonly self: readonly string[]
  readonly neighbours: readonly string[]
}

const defaultSize = 20
const maxPageSize = 1_000
export const firstPage: PageRequest = { number: 0, size: defaultSize, self: [], neighbours: [] }

/**
 * Reads `page` and `size`. Other parameters are ignored: clients send `embed`, `projection` and `sort` everywhere.
 * DSpace's interface asks for 9999 when it wants everything; a size over the maximum counts as the maximum.
 * @throws Problem 400
 */
export function readPage(query: Query, max: number = maxPageSize): PageRequest {
  return {
    number: numberOf(query, 'page', 0, 0),
    size: Math.min(numberOf(query, 'size', defaultSize, 1), max),
    self: sentBut(embedding, query),
    neighbours: sentBut(['page', 'size'], query),
  }
}

/** The link `self` of a resource that depends on the request's parameters, built like that of a page. */
export const selfOf = (address: string, query: Query) => ({
  href: withParameters(address, sentBut(embedding, query)),
})

const embedding = ['embed', 'embed.size']

/** The parameters of a request except `others`, and without a token, which must not be in a link (T10). */
const sentBut = (others: readonly string[], query: Query): readonly string[] =>
  sentParameters(query)
    .filter(({ name }) => name !== tokenParameter && !others.includes(name))
    .map(({ text }) => inAddress(text))

/** Percent-encodes the characters that no address may contain (RFC 3986 §2) and keeps the rest as it was sent. */
const inAddress = (text: string) => text.replace(/[^\x21-\x7e]|["<>\\^`{|}]/g, encodeURIComponent)

/** The offset and length of a page in its list. */
export const windowOf = ({ number, size }: PageRequest) => ({
  offset: Math.min(number * size, Number.MAX_SAFE_INTEGER),
  limit: size,
})

export const halPage = <T>(name: string, all: readonly T[], page: PageRequest, address: string) =>
  halPart(name, all.slice(page.number * page.size, (page.number + 1) * page.size), all.length, page, address)

/**
 * A page of a longer list.
 * @param total number of elements in the whole list
 * @param address of the list, without parameters
 */
export function halPart<T>(
  name: string,
  elements: readonly T[],
  total: number,
  { number, size, self, neighbours }: PageRequest,
  address: string,
) {
  const totalPages = Math.ceil(total / size)
  return {
    _embedded: { [name]: elements },
    page: { number, size, totalPages, totalElements: total },
    _links: {
      ...linksTo(neighbours, number, size, totalPages, address),
      self: { href: withParameters(address, self) },
    },
  }
}

/** Links to the other pages, if any: clients that read a whole list follow `next`. */
function linksTo(
  parameters: readonly string[],
  number: number,
  size: number,
  pages: number,
  address: string,
) {
  if (pages < 2) return {}
  const to = (page: number) => ({
    href: withParameters(address, [...parameters, `page=${page}`, `size=${size}`]),
  })
  return {
    first: to(0),
    ...(number > 0 ? { prev: to(Math.min(number, pages) - 1) } : {}),
    ...(number < pages - 1 ? { next: to(number + 1) } : {}),
    last: to(pages - 1),
  }
}

const withParameters = (address: string, parameters: readonly string[]): string =>
  parameters.length === 0 ? address : `${address}?${parameters.join('&')}`

const numberOf = (query: Query, name: string, fallback: number, least: number): number => {
  const text = single(query, name)
  return text === undefined ? fallback : wholeNumber(name, text, least)
}
