import { parseExact } from '../../lib/json.ts'
import { RecentlyUsed } from '../../lib/recently-used.ts'
import type { TextQuery } from '../../model/plan.ts'
import { matchesText, relevanceOf, searchable, textsIn } from '../../model/text-query.ts'
import type { SearchedValue } from '../tables/text-search.ts'

/** Text search in statements (Q27): functions of ours read each row. */

/** @returns SQL that is 1 or 0 */
export function searchCondition(
  values: readonly SearchedValue[],
  query: { readonly words: TextQuery; readonly negated: boolean },
  bind: (text: string) => string,
): string {
  const found = callOf('carrel_match', values, query.words, bind)
  // Where there is no value, nothing is known.
  const known = values.map(({ sql }) => `(${sql}) IS NOT NULL`).join(' OR ')
  return query.negated ? `((${known}) AND NOT ${found})` : found
}

/** @returns SQL of a whole number: what JavaScript returns is a REAL, which is written with a point */
export const relevance = (
  values: readonly SearchedValue[],
  words: TextQuery,
  bind: (text: string) => string,
): string => `CAST(${callOf('carrel_relevance', values, words, bind)} AS INTEGER)`

function callOf(
  name: keyof typeof searchFunctions,
  values: readonly SearchedValue[],
  words: TextQuery,
  bind: (text: string) => string,
): string {
  const search: Search = { words, json: values.map(({ isJson }) => isJson) }
  return `${name}(${[bind(JSON.stringify(search)), ...values.map(({ sql }) => sql)].join(', ')})`
}

/** The first argument of the functions: what is looked for, and which of the values are JSON. */
interface Search {
  readonly words: TextQuery
  readonly json: readonly boolean[]
}

const searches = new RecentlyUsed<string, Search>(64)

function searchOf(json: string): Search {
  const known = searches.get(json)
  if (known) return known
  const search = JSON.parse(json) as Search
  searches.add(json, search)
  return search
}

type SqlValue = null | number | bigint | string | Uint8Array

const fieldsOf = ({ json }: Search, values: readonly SqlValue[]): string[] =>
  values.flatMap((value, at) => {
    if (value === null) return []
    return searchable(json[at] === true ? textsIn(parseExact(String(value))) : [String(value)])
  })

/** For connections that read tables. They take any number of values behind the search. */
export const searchFunctions = {
  carrel_match: (search: SqlValue, ...values: SqlValue[]): number => {
    const wanted = searchOf(String(search))
    return Number(matchesText(fieldsOf(wanted, values), wanted.words))
  },
  carrel_relevance: (search: SqlValue, ...values: SqlValue[]): number => {
    const wanted = searchOf(String(search))
    return relevanceOf(fieldsOf(wanted, values), wanted.words)
  },
}
