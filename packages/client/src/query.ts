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

/** A path into JSON, such as `metadata."dc.title"[0].value`, or `contributors[*].name` of all elements. */
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

/** A number put into buckets of a width; its column has the name of the field. */
type NumberBucket<T> = readonly ['function', 'bucket', FieldOf<T, 'number' | 'json'> | Path<T>, number]

/** A time put into buckets in UTC; its column has the name of the field. */
type TimeBucket<T> = readonly [
  'function',
  'bucket',
  FieldOf<T, 'date-time'>,
  'year' | 'quarter' | 'month' | 'week' | 'day' | 'hour',
]

/** The number of elements of a list. */
type Length<T> = readonly ['function', 'length', FieldOf<T, 'json'> | Path<T>]

type FieldFor<T, K extends string> = readonly ['field', FieldOf<T, K>]
type JsonFor<T> = readonly ['field', FieldOf<T, 'json'> | Path<T>]
type NumberFor<T> = FieldFor<T, 'number'> | JsonFor<T> | NumberBucket<T> | Length<T>
type TimeFor<T> = FieldFor<T, 'date-time'> | TimeBucket<T>
type AnyFor<T> = FieldFor<T, 'text' | 'boolean'> | NumberFor<T>

/** Conditions on what is computed of a record, and those that compare two of its fields. */
type Computed<T> =
  | Operators<NumberBucket<T> | Length<T>, number | bigint>['number']
  | Operators<TimeBucket<T>, string>['date-time']
  | readonly ['null?', NumberBucket<T> | TimeBucket<T> | Length<T>, boolean]
  | readonly ['=' | Order, NumberFor<T>, NumberFor<T>]
  | readonly ['=' | Order, TimeFor<T>, TimeFor<T>]
  | readonly ['=' | Order, FieldFor<T, 'text'>, FieldFor<T, 'text'>]
  | readonly ['=', FieldFor<T, 'boolean'>, FieldFor<T, 'boolean'>]
  | readonly ['=', JsonFor<T>, AnyFor<T>]
  | readonly ['=', AnyFor<T>, JsonFor<T>]

/**
 * A condition on records of this type. Unknown fields, and operators that don't apply to a field, are type
 * errors.
 *
 * @typeParam More conditions that are possible besides; there are none on groups
 */
export type Condition<T, More = Computed<T>> =
  | { [F in Field<T>]: Operators<F, Value<T, F>>[KindOf<T, F>] }[Field<T>]
  | Operators<Path<T>, ExactJson>['json']
  | readonly ['null?', Field<T> | Path<T>, boolean]
  | readonly ['match', '*' | readonly FieldOf<T, 'text' | 'json'>[], string]
  | readonly ['in', readonly Field<T>[], readonly ['array', readonly (readonly ExactJson[])[]] | Subquery]
  | readonly ['subquery', string, ...(readonly unknown[])]
  | Logic<T, More>
  | readonly ['not', Condition<T, More>]
  | More

/**
 * An array whose first element is the operator. An interface, because a tuple type can't contain itself at
 * any length.
 */
interface Logic<T, More> extends ReadonlyArray<'and' | 'or' | Condition<T, More>> {
  readonly 0: 'and' | 'or'
  readonly 1: Condition<T, More>
}

type Function<T> =
  | readonly ['function', 'count']
  | readonly ['function', 'count' | 'count_distinct', Field<T> | Path<T>]
  | readonly ['function', 'avg' | 'sum' | 'median', FieldOf<T, 'number' | 'json'> | Path<T>]
  | readonly ['function', 'percentile', FieldOf<T, 'number' | 'json'> | Path<T>, number]
  | readonly ['function', 'min' | 'max', FieldOf<T, 'number' | 'text' | 'date-time' | 'json'> | Path<T>]
  | readonly ['function', 'to_string', FieldOf<T, 'number' | 'date-time'>, string]
  | NumberBucket<T>
  | TimeBucket<T>
  | Length<T>
  | readonly ['function', 'highlight', FieldOf<T, 'text'>]
  | readonly ['function', 'relevance']

/** A column of the result: a field, a path into JSON, or a function of a group. */
export type Column<T> = Field<T> | Path<T> | Function<T>

/** @typeParam All all columns: where a field stands beside a bucket of it, the field has the name */
type NameOf<C, All = C> = C extends string
  ? C
  : C extends readonly ['function', 'bucket', infer F extends string, unknown]
    ? Exclude<F, All>
    : C extends readonly ['function', infer N extends string, ...unknown[]]
      ? N
      : never

/** A bucket of whole numbers is a whole number, and one of times is the time at which it begins. */
type BucketOf<V> = typeof instant extends keyof NonNullable<V> ? Instant : number | Extract<V, bigint>

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
          : N extends 'bucket'
            ? BucketOf<A[0] extends keyof T ? T[A[0]] : BigIn<T>> | null
            : N extends 'length' | 'median' | 'percentile'
              ? number | null
              : string | null
    : C extends `${string}[*]${string}`
      ? readonly Json<BigIn<T>>[] | null
      : Json<BigIn<T>>

/**
 * A row of the result: the whole record unless columns are named. Of two columns with the same name, only the
 * first is typed.
 */
export type Row<T, C> = [C] extends [never] ? T : { readonly [K in C as NameOf<K, C>]: ResultOf<T, K> }

type Sortable<T, C> =
  | FieldOf<T, 'text' | 'number' | 'boolean' | 'date-time'>
  | keyof { readonly [K in C as NameOf<K>]: K }

export interface Specification<T, C> {
  readonly where?: Condition<T>
  readonly select?: readonly C[]
  readonly distinct?: boolean
  readonly groupBy?: readonly (Column<T> & NoInfer<C>)[]
  /** A condition on the columns of the result. */
  readonly having?: Condition<Row<T, C>, never>
  /** Fields to sort by, most significant first. The key of the entity breaks the remaining ties. */
  readonly orderBy?: readonly (Sortable<T, C> | readonly [Sortable<T, C>, 'asc' | 'desc'])[]
  /** True to list the buckets without records, too; rows are grouped and sorted by one bucket alone. */
  readonly withEmpty?: boolean
  /** Only some of the records that match; the same ones for the same seed, which is 0 by default. */
  readonly sample?: { readonly size: number; readonly seed?: number }
  readonly limit?: number
  readonly offset?: number
}

type KeyPart = string | number | bigint | boolean
/** The key of a record: the value of its field, or a list of those of several. */
export type Key = KeyPart | readonly KeyPart[]

/** Parameters of a query request. */
export interface Asked {
  readonly query?: unknown
  readonly order_by?: readonly { readonly field: string; readonly order: string }[]
  readonly limit?: number
  readonly offset?: number
  readonly include_total?: boolean
  readonly snapshot?: string
}

export function askedBy<T, C>(
  entity: string,
  {
    where,
    select,
    distinct,
    groupBy,
    having,
    orderBy,
    withEmpty,
    sample,
    limit,
    offset,
  }: Specification<T, C>,
): Asked {
  const clauses = [
    ...(where ? [where] : []),
    ...(groupBy ? [['group_by', ...groupBy]] : []),
    ...(having ? [['having', having]] : []),
    ...(distinct ? [['distinct']] : []),
    ...(withEmpty ? [['with_empty']] : []),
  ]
  const asked = select ? ['extract', select, ...clauses] : where
  const query = sample
    ? ['from', entity, ...(asked ? [asked] : []), ['sample', sample.size, sample.seed ?? 0]]
    : asked
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
