import { decimalKey } from '../../lib/decimals.ts'
import { TooMuch } from '../../lib/errors.ts'
import { numberText, parseExact } from '../../lib/json.ts'
import { aggregates, computedValue } from '../../model/functions/functions.ts'
import type { Computed, Plan, Rows } from '../../model/plan.ts'
import { csvLines, joinPieces, type RecordFormat, separators } from '../../model/record-format.ts'
import type { Listing } from '../entities.ts'

/** Maximum number of buckets between the first and the last, both included. */
const maxBuckets = 1_000

type BucketPlan = Plan & { readonly shape: Rows }

/** True for a plan that lists buckets without records, too. */
export const hasEmptyBuckets = (plan: Plan): plan is BucketPlan =>
  plan.shape.kind === 'rows' && plan.shape.withEmpty === true

/**
 * Adds the buckets without records to the rows of a plan, and then takes its page.
 * @param list lists the rows of a plan as lines of JSON
 * @throws TooMuch if there are too many buckets
 */
export async function withEmptyBuckets(
  plan: BucketPlan,
  format: RecordFormat,
  list: (plan: Plan) => Promise<Listing>,
): Promise<Listing> {
  const { shape, page } = plan
  const { withEmpty: _, ...plain } = shape
  const [group] = shape.groups ?? []
  const at = shape.columns.findIndex(({ value }) => JSON.stringify(value) === JSON.stringify(group))
  const computed = group?.kind === 'field' ? group.field.computed : undefined
  const column = shape.columns[at]
  const bucket = computed && bucketsOf(computed)
  if (!bucket || !column) throw new Error('there is no bucket')
  // Null has a row, too, and one more tells that there are too many.
  const all = { ...page, offset: 0, limit: maxBuckets + 2, total: false }
  const { body } = await list({
    ...plan,
    shape: { ...plain, order: [{ by: at, descending: false }] },
    page: all,
  })
  const rows: string[] = []
  for await (const piece of body instanceof Uint8Array ? [body] : body)
    rows.push(
      ...Buffer.from(piece)
        .toString()
        .split('\n')
        .filter(line => line !== ''),
    )
  const filled = fill(rows, bucket, shape, column.name)
  // Nulls come first in descending order, as everywhere.
  if (shape.order[0]?.descending) filled.reverse()
  const end = page.limit === null ? filled.length : Math.min(filled.length, page.offset + page.limit)
  const some = filled.slice(page.offset, end)
  const fields = shape.columns.map(({ name, type }) => ({ name, type, nullable: true }))
  return {
    total: filled.length,
    more: page.limit === null ? undefined : end < filled.length,
    body: format === 'csv' ? csvLines(some.join(), fields) : joinPieces(some, separators[format]),
  }
}

/** @returns undefined if what is computed is no bucket */
function bucketsOf(computed: Computed) {
  const { gives, next } = computedValue(computed)
  const isNumber = gives === 'number'
  return (
    next && {
      after: (start: string) => next(computed, start),
      isBefore: (one: string, other: string) =>
        isNumber ? decimalKey(one) < decimalKey(other) : one < other,
      json: (start: string) => (isNumber ? start : JSON.stringify(start)),
    }
  )
}

type Buckets = NonNullable<ReturnType<typeof bucketsOf>>

/** @param rows in ascending order, that of null last */
function fill(
  rows: readonly string[],
  { isBefore, after, json }: Buckets,
  { columns }: Rows,
  name: string,
): string[] {
  const starts = rows.map(row => textOf((parseExact(row) as Readonly<Record<string, unknown>>)[name]))
  const known = rows.filter((_, at) => starts[at] !== undefined)
  if (known.length > maxBuckets) throw tooMany()
  const filled: string[] = []
  let next: string | undefined
  for (const [at, row] of known.entries()) {
    const start = starts[at] as string
    for (; next !== undefined && isBefore(next, start); next = after(next)) {
      if (filled.length >= maxBuckets) throw tooMany()
      filled.push(emptyRow(json(next), columns))
    }
    if (filled.push(row) > maxBuckets) throw tooMany()
    next = after(start)
  }
  return [...filled, ...rows.slice(known.length)]
}

const tooMany = () =>
  new TooMuch(
    `There are more than ${maxBuckets.toLocaleString('en')} buckets from the first to the last. Make them wider, add a condition, or leave out "with empty".`,
  )

/** A number as JSON writes it, or an instant; undefined for null. */
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : numberText(value))

function emptyRow(bucket: string, columns: Rows['columns']): string {
  const members = columns.map(({ name, value }) => {
    const isCount = value.kind === 'aggregate' && aggregates[value.name].counts
    return `${JSON.stringify(name)}:${value.kind !== 'aggregate' ? bucket : isCount ? '0' : 'null'}`
  })
  return `{${members.join()}}`
}
