/** Queries as the service reads them (docs/reference/query-language.md): the AST, with types. */
/** @typeParam N `bigint`, where integers may be BigInt */
export type Json<N = never> =
  | string
  | number
  | N
  | boolean
  | null
  | readonly Json<N>[]
  | { readonly [name: string]: Json<N> }

/** As a client with the option `bigint` reads it. */
export type ExactJson = Json<bigint>

/** `bigint`, if a field may be one. */
type BigIn<T> = Extract<T[keyof T], bigint>

declare const instant: unique symbol
/** A date-time. Any text can be given for one; `~` and `match` can't be asked of one. */
export type Instant = string & { readonly [instant]?: true }

/** The fields of a record. */
export type Field<T> = keyof T & string

type Kind<V> = [V] extends [never]
  ? 'json'
  : typeof instant extends keyof V
    ? 'date-time'
    : [V] extends [string]
      ? 'text'
      : [V] extends [number | bigint]
        ? 'number'
        : [V] extends [boolean]
          ? 'boolean'
          : 'json'

type KindOf<T, F extends keyof T> = Kind<NonNullable<T[F]>>

/** Of records that nobody has described, every field may be of any type. */
type FieldOf<T, K extends string> = string extends keyof T
  ? string
  : { [F in Field<T>]: KindOf<T, F> extends K ? F : never }[Field<T>]

/** A place in JSON, such as `metadata."dc.title"[0].value`. */
type Path<T> = `${FieldOf<T, 'json'>}${'.' | '['}${string}`

type Value<T, F extends keyof T> = NonNullable<T[F]>
type Order = '<' | '<=' | '>' | '>='

/** Another query of which one column, or as many as there are fields, are the values. */
export type Subquery = readonly ['from', string, ...(readonly unknown[])]

interface Operators<F, V> {
  readonly text:
    | readonly ['=' | Order, F, V]
    | readonly ['~' | 'match', F, string]
    | readonly ['in', F, readonly ['array', readonly V[]] | Subquery]
  readonly number:
    | readonly ['=' | Order, F, V]
    | readonly ['in', F, readonly ['array', readonly V[]] | Subquery]
  readonly boolean: readonly ['=', F, V] | readonly ['in', F, readonly ['array', readonly V[]] | Subquery]
  readonly 'date-time':
    | readonly ['=' | Order, F, string | number]
    | readonly ['in', F, readonly ['array', readonly (string | number)[]] | Subquery]
  readonly json:
    | readonly ['=', F, ExactJson]
    | readonly [Order, F, number | bigint]
    | readonly ['~' | 'match', F, string]
    | readonly ['~>', F, readonly (string | number)[]]
    | readonly ['in', F, readonly ['array', readonly ExactJson[]] | Subquery]
}

/** A condition on records of this type. A field that they don't have, or an operator that it doesn't take, is an error. */
export type Condition<T> =
  | { [F in Field<T>]: Operators<F, Value<T, F>>[KindOf<T, F>] }[Field<T>]
  | Operators<Path<T>, ExactJson>['json']
  | readonly ['null?', Field<T> | Path<T>, boolean]
  | readonly ['match', '*' | readonly FieldOf<T, 'text' | 'json'>[], string]
  | readonly ['in', readonly Field<T>[], readonly ['array', readonly (readonly ExactJson[])[]] | Subquery]
  | readonly ['subquery', string, ...(readonly unknown[])]
  | Logic<T>
  | readonly ['not', Condition<T>]

/** An array whose first element is the word; a tuple type can't have itself in a list of any length. */
interface Logic<T> extends ReadonlyArray<'and' | 'or' | Condition<T>> {
  readonly 0: 'and' | 'or'
  readonly 1: Condition<T>
}

type Function<T> =
  | readonly ['function', 'count']
  | readonly ['function', 'count' | 'count_distinct', Field<T> | Path<T>]
  | readonly ['function', 'avg' | 'sum', FieldOf<T, 'number' | 'json'> | Path<T>]
  | readonly ['function', 'min' | 'max', FieldOf<T, 'number' | 'text' | 'date-time' | 'json'> | Path<T>]
  | readonly ['function', 'to_string', FieldOf<T, 'number' | 'date-time'>, string]
  | readonly ['function', 'highlight', FieldOf<T, 'text'>]
  | readonly ['function', 'relevance']

/** What can be shown: a field, a place in JSON, or what a function makes of a group. */
export type Column<T> = Field<T> | Path<T> | Function<T>

type NameOf<C> = C extends string
  ? C
  : C extends readonly ['function', infer N extends string, ...unknown[]]
    ? N
    : never

type ResultOf<T, C> = C extends keyof T
  ? T[C]
  : C extends readonly ['function', infer N, ...infer A]
    ? N extends 'count' | 'count_distinct' | 'relevance'
      ? number
      : N extends 'avg' | 'sum'
        ? number | (A[0] extends keyof T ? Extract<T[A[0]], bigint> : BigIn<T>) | null
        : N extends 'min' | 'max'
          ? A[0] extends keyof T
            ? T[A[0]] | null
            : Json<BigIn<T>>
          : string | null
    : Json<BigIn<T>>

/** What a query gives: whole records, unless it names columns. Of two columns with the same name, only the first is typed. */
export type Row<T, C> = [C] extends [never] ? T : { readonly [K in C as NameOf<K>]: ResultOf<T, K> }

type Sortable<T, C> =
  | FieldOf<T, 'text' | 'number' | 'boolean' | 'date-time'>
  | keyof { readonly [K in C as NameOf<K>]: K }

export interface Specification<T, C> {
  readonly where?: Condition<T>
  readonly select?: readonly C[]
  readonly distinct?: boolean
  readonly groupBy?: readonly (Column<T> & NoInfer<C>)[]
  /** A condition on the columns of the result. */
  readonly having?: Condition<Row<T, C>>
  /** The first one decides; the key of the entity breaks the last tie. */
  readonly orderBy?: readonly (Sortable<T, C> | readonly [Sortable<T, C>, 'asc' | 'desc'])[]
  readonly limit?: number
  readonly offset?: number
}

/** The parameters of the request. */
export interface Asked {
  readonly query?: unknown
  readonly order_by?: readonly { readonly field: string; readonly order: string }[]
  readonly limit?: number
  readonly offset?: number
  readonly include_total?: boolean
}

export function askedBy<T, C>({
  where,
  select,
  distinct,
  groupBy,
  having,
  orderBy,
  limit,
  offset,
}: Specification<T, C>): Asked {
  const clauses = [
    ...(where ? [where] : []),
    ...(groupBy ? [['group_by', ...groupBy]] : []),
    ...(having ? [['having', having]] : []),
    ...(distinct ? [['distinct']] : []),
  ]
  const query = select ? ['extract', select, ...clauses] : where
  const order_by = orderBy?.map(one => {
    const [field, order = 'asc'] = typeof one === 'string' ? [one] : (one as readonly [string, string])
    return { field, order }
  })
  return {
    ...(query ? { query } : {}),
    ...(order_by?.length ? { order_by } : {}),
    ...(limit === undefined ? {} : { limit }),
    ...(offset === undefined ? {} : { offset }),
  }
}
