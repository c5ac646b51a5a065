import { parseExact } from '../../lib/json.ts'
import { RecentlyUsed } from '../../lib/recently-used.ts'
import type { TextQuery } from '../../model/plan.ts'
import { matchesText, relevanceOf, searchable, textsIn } from '../../model/text-query.ts'

/** Text search in statements (Q27): functions of ours read each row. */

/** The first argument of the functions: what is looked for, and which of the values are JSON. */
export interface Search {
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
