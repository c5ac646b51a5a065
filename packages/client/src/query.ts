/** Types of queries in the form of an AST (docs/reference/query-language.md). */
/** A JSON value. @typeParam N `bigint` if integers may be BigInt */
export type Json<N = never> =
  | string
  | number
  | N
  | boolean
  | null
  | readonly Json<N>[]
  | { readonly [name: string]: Json<N> }

/** JSON as a client with the option `bigint` reads it. */
export type ExactJson = Json<bigint>

/** `bigint` if a field of the type may contain one, otherwise `never`. */
type BigIn<T> = Extract<T[keyof T], bigint>

declare const instant: unique symbol
/** A date-time. Any string can be assigned to it; `~` and `match` don't apply to it. */
export type Instant = string & { readonly [instant]?: true }

/** Names of the fields of a record. */
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

/** Fields of a kind. In records without described types, any field may be of any kind. */
type FieldOf<T, K extends string> = string extends keyof T
  ? string
  : { [F in Field<T>]: KindOf<T, F> extends K ? F : never }[Field<T>]

/** A path into JSON, such as `metadata."dc.title"[0].value`. */
type Path<T> = `${FieldOf<T, 'json'>}${'.' | '['}${string}`

type Value<T, F extends keyof T> = NonNullable<T[F]>
type Order = '<' | '<=' | '>' | '>='

/** A query whose results are the values: one column, or as many as there are fields. */
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

/**
 * A condition on records of this type. Unknown fields, and operators that don't apply to a field, are type
 * errors.
 */
export type Condition<T> =
  | { [F in Field<T>]: Operators<F, Value<T, F>>[KindOf<T, F>] }[Field<T>]
  | Operators<Path<T>, ExactJson>['json']
  | readonly ['null?', Field<T> | Path<T>, boolean]
  | readonly ['match', '*' | readonly FieldOf<T, 'text' | 'json'>[], string]
  | readonly ['in', readonly Field<T>[], readonly ['array', readonly (readonly ExactJson[])[]] | Subquery]
  | readonly ['subquery', string, ...(readonly unknown[])]
  | Logic<T>
  | readonly ['not', Condition<T>]

/**
 * An array whose first element is the operator. An interface, because a tuple type can't contain itself at
 * any length.
 */
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

/** A column of the result: a field, a path into JSON, or a function of a group. */
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

/**
 * A row of the result: the whole record unless columns are named. Of two columns with the same name, only the
 * first is typed.
 */
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
  /** Fields to sort by, most significant first. The key of the entity breaks the remaining ties. */
  readonly orderBy?: readonly (Sortable<T, C> | readonly [Sortable<T, C>, 'asc' | 'desc'])[]
  readonly limit?: number
  readonly offset?: number
}

/** Parameters of a query request. */
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
