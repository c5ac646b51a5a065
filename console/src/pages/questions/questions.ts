import type { Node } from '../../../../src/query/language/node.ts'
import { CarrelProblem, service } from '../../api.ts'
import { type DataRecord, type Entity, type EntityField, entityPath, pathOf } from '../../entities.ts'
import { readExactly } from '../../exact.ts'
import type { Order } from '../../parts/Table.tsx'
import { isAggregate, units } from '../../query/operators.ts'
import { entityIn, isAst, partsOf, read, textOf } from '../../query/pql.ts'
import { readQuery, refusalOf } from '../../query/refusals.ts'
import { Refused } from '../../query/refused.ts'
import type { Requested } from '../../query/request-texts.ts'
import { printNames, type View } from '../../records/view.ts'
import { withQuery } from '../../router.ts'

/** A question that was read: a query in PQL or an AST. */
export interface Question {
  readonly text: string
  readonly node: Node
  readonly entity: Entity | undefined
  /** True if its rows are whole records. */
  readonly isWhole: boolean
  /** Its own clauses; those of a request would replace them. */
  readonly limit: number
  readonly offset: number
}

/** @throws Refused with the first fault that needs no request to be found */
export function readQuestion(text: string, entities: readonly Entity[]): Question {
  const found = readQuery(text, entities)
  if (!('node' in found)) throw new Refused(text, found)
  const { node } = found
  const [name, ...clauses] = partsOf(node, 'from') ?? []
  const numberIn = (clause: string) => {
    const [value] = clauses.flatMap(one => partsOf(one, clause) ?? [])
    return value?.kind === 'number' ? Number(value.text) : undefined
  }
  return {
    text,
    node,
    entity: entityIn(entities, textOf(name)),
    isWhole: !clauses.some(one => partsOf(one, 'extract')),
    limit: numberIn('limit') ?? Number.POSITIVE_INFINITY,
    offset: numberIn('offset') ?? 0,
  }
}

export interface Answer {
  readonly rows: readonly DataRecord[]
  readonly total: number
}

/** Number of characters of a query from which on it is sent in a body, because addresses are limited. */
const longestInAddress = 4_000

/** @throws Refused if the service finds a fault */
export async function loadAnswer(
  question: Question,
  window: Pick<View, 'page' | 'size'>,
  signal: AbortSignal,
): Promise<Answer> {
  const { text, limit, offset } = question
  const asked = { ...requestOfPage(question, window), include_total: true }
  const response = await refusing(text, () =>
    text.length > longestInAddress
      ? service.value.request('POST', pathOf(), { json: asked, signal })
      : service.value.request('GET', pathOf(), { query: asked, signal }),
  )
  const all = Number(response.headers.get('x-records'))
  return {
    rows: readExactly(await response.text()) as readonly DataRecord[],
    total: Math.max(0, Math.min(limit, all - offset)),
  }
}

/** Asks for the plan of a question, which finds every fault and reads no record. */
export const checkQuestion = async ({ text }: Question, signal: AbortSignal): Promise<void> => {
  if (text.length > longestInAddress) return
  await refusing(text, () =>
    service.value.request('GET', pathOf(), { query: { query: text, explain: true }, signal }),
  )
}

async function refusing<T>(text: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof CarrelProblem) || error.members.parameter !== 'query') throw error
    throw new Refused(text, refusalOf(error, ''))
  }
}

/** Returns what a page of an answer shows, as a request. */
export const requestOfPage = (
  { text, limit, offset }: Question,
  { page, size }: Pick<View, 'page' | 'size'>,
): Required<Omit<Requested, 'record'>> => ({
  query: text,
  limit: Math.max(1, Math.min(size, limit - (page - 1) * size)),
  offset: offset + (page - 1) * size,
})

/**
 * Returns the address of a table that shows the same as a question.
 *
 * @returns undefined if it isn't only an entity with a condition, an order and columns
 */
export function viewIn({ text, node, entity }: Question): string | undefined {
  const clauses = (partsOf(node, 'from') ?? []).slice(1)
  if (!entity || isAst(text)) return undefined
  if (clauses.some(one => partsOf(one, 'limit') || partsOf(one, 'offset'))) return undefined
  const [columns, ...more] = clauses.flatMap(one => partsOf(one, 'extract') ?? [])
  if (more.some(one => ['group_by', 'having', 'distinct'].some(name => partsOf(one, name)))) return undefined
  const fields = fieldsIn(columns, entity)
  const order = orderIn(clauses.flatMap(one => partsOf(one, 'order_by') ?? [])[0], entity)
  if (!fields || !order) return undefined
  const condition = conditionIn(text)
  return withQuery(entityPath(entity.name), {
    q: condition,
    sort: printNames(order.map(one => (one.order === 'desc' ? `-${one.field}` : one.field))),
    columns: printNames(fields.map(({ name }) => name)),
  })
}

/** Returns the condition between the braces of a query in PQL. */
function conditionIn(text: string): string {
  const [query] = read(text, 'query').parts
  const conditions = query?.parts.filter(({ kind }) => kind === 'condition') ?? []
  return text.slice(conditions[0]?.start ?? text.length, conditions.at(-1)?.end)
}

/**
 * Returns the address of a drawing of what a question counts or adds up.
 *
 * @returns undefined if it isn't a measure, grouped by one or two fields
 */
export function drawingIn({ text, node, entity }: Question): string | undefined {
  const clauses = (partsOf(node, 'from') ?? []).slice(1)
  const [columns, ...more] = clauses.flatMap(one => partsOf(one, 'extract') ?? [])
  const groups = more.flatMap(one => partsOf(one, 'group_by') ?? []).map(axisIn)
  const isOther = more.some(one => partsOf(one, 'having') || partsOf(one, 'distinct'))
  if (!entity || isAst(text) || isOther || groups.length === 0 || groups.length > 2) return undefined
  const [by, within] = groups
  if (!by || (groups.length === 2 && !within)) return undefined
  const shown = columns?.kind === 'array' ? columns.items : []
  const called = shown.flatMap(one => {
    const [name, field] = (partsOf(one, 'function') ?? []).map(textOf)
    return name !== undefined && isAggregate(name) && field !== undefined ? [`${name}:${field}`] : []
  })
  return withQuery(`${entityPath(entity.name)}/draw`, {
    q: conditionIn(text),
    by: by.field,
    unit: by.unit,
    and: within?.field,
    unit2: within?.unit,
    of: called[0],
  })
}

function axisIn(node: Node): { readonly field: string; readonly unit?: string | undefined } | undefined {
  const field = textOf(node)
  if (field !== undefined) return { field }
  const [name, called, mask] = (partsOf(node, 'function') ?? []).map(textOf)
  if (called === undefined || !(name === 'to_string' || name === 'bucket')) return undefined
  const [unit] = Object.entries(units).find(one => mask !== undefined && one.includes(mask)) ?? []
  return { field: called, unit }
}

function fieldsIn(columns: Node | undefined, { fields }: Entity): readonly EntityField[] | undefined {
  if (!columns) return fields
  const items = columns.kind === 'array' ? columns.items : [columns]
  const found = items.map(one => fields.find(({ name }) => name === textOf(one)))
  return items.length > 0 && found.every(one => one !== undefined) ? found : undefined
}

function orderIn(list: Node | undefined, { fields }: Entity): readonly Order[] | undefined {
  if (!list) return []
  const items = list.kind === 'array' ? list.items : []
  const orders = items.map((one): Order | undefined => {
    const [by, direction] = one.kind === 'array' ? one.items : [one]
    const field = fields.find(({ name }) => name === textOf(by))?.name
    return field === undefined ? undefined : { field, order: textOf(direction) === 'desc' ? 'desc' : 'asc' }
  })
  return orders.every(one => one !== undefined) ? orders : undefined
}
