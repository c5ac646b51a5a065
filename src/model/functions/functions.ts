import type { Aggregate, Computed } from '../plan.ts'
import { bucket, interval, period } from './bucket.ts'
import { count, countDistinct } from './counts.ts'
import { max, min } from './extremes.ts'
import type { AggregateFunction, ComputedValue, FieldFunction, SearchFunction } from './function.ts'
import { length } from './length.ts'
import { median, percentile } from './percentile.ts'
import { avg, sum } from './sums.ts'
import { toText } from './to-string.ts'

export type QueryFunction = AggregateFunction | FieldFunction | SearchFunction

const highlight: SearchFunction = {
  kind: 'search',
  documentation: 'a text with the words of the [search](#text-search) marked',
  types: ['text'],
}

const relevance: SearchFunction = {
  kind: 'search',
  documentation: 'how well a record matches the search',
  field: 'none',
}

const list = {
  count,
  count_distinct: countDistinct,
  avg,
  sum,
  min,
  max,
  median,
  percentile,
  to_string: toText,
  bucket,
  length,
  highlight,
  relevance,
}

/** All functions of the query language, by name. */
export const functions: ReadonlyMap<string, QueryFunction> = new Map(Object.entries(list))

/** Returns the calls of a function, as PQL writes them. */
export function callsOf(name: string, of: QueryFunction): readonly string[] {
  const isBy = of.kind === 'computed' && of.inConditions === 'by'
  if (of.takes)
    return of.takes.examples.map(one => (isBy ? `field by ${one}` : `${name}(field, ${JSON.stringify(one)})`))
  const calls = { none: [`${name}()`], optional: [`${name}()`, `${name}(field)`] }
  return of.field ? calls[of.field] : [`${name}(field)`]
}

/** Aggregates by their names in plans. */
export const aggregates: Readonly<Record<Aggregate['name'], AggregateFunction>> = list

/** Functions of one value, by their kinds in plans. */
const computedValues: { readonly [K in Computed['kind']]: ComputedValue<K> } = { ...list, interval, period }

export const computedValue = ({ kind }: Computed): ComputedValue => computedValues[kind] as ComputedValue

/** Returns a function that computes the JSON of a value; undefined if there is none. */
export function computing(computed: Computed): (value: unknown) => string | undefined {
  const { gives, of } = computedValue(computed)
  if (gives === 'integer' || gives === 'number') return value => of(computed, value)
  return value => {
    const text = of(computed, value)
    return text === undefined ? undefined : JSON.stringify(text)
  }
}
