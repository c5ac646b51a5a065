import type { Page } from '@carrel/client'
import { CarrelProblem, service } from '../api.ts'
import {
  type DataRecord,
  type Entity,
  type EntityField,
  keyOf,
  loadEntities,
  pageIn,
  pathOf,
} from '../entities.ts'
import { t } from '../i18n/i18n.ts'
import { type Loaded, useLoad } from '../parts/load.ts'
import type { Order } from '../parts/Table.tsx'
import { pqlOf, prefixOf, written } from '../query/pql.ts'
import { asking } from '../query/refused.ts'
import type { Requested } from '../query/request-texts.ts'
import { apart } from '../query/requirements.ts'
import { query, setQuery } from '../router.ts'
import { who } from '../session.ts'
import { recall, remember } from '../settings.ts'

/**
 * The state of an entity's table, read from the address, so that everyone with the address sees the same
 * view.
 */
export interface View {
  /** A condition in PQL with optional clauses after it; the empty string selects all records. */
  readonly condition: string
  readonly order: readonly Order[]
  readonly columns: readonly EntityField[]
  /** Widths in pixels, where they were chosen. */
  readonly widths: ReadonlyMap<string, number>
  readonly page: number
  readonly size: number
}

export const usualSize = 50
/** Maximum number of columns shown unless others are chosen; more would not be readable. */
const usualColumns = 12

export const whole = (text: string | null, fallback: number, most: number) => {
  const value = Number(text)
  return Number.isInteger(value) && value > 0 ? Math.min(most, value) : fallback
}

export function viewOf(entity: Entity): View {
  const parameters = query.value
  return {
    condition: parameters.get('q')?.trim() ?? '',
    order: readOrder(parameters.get('sort')),
    ...layoutOf(entity, parameters),
    page: whole(parameters.get('page'), 1, Number.MAX_SAFE_INTEGER),
    size: whole(parameters.get('size'), usualSize, 1_000),
  }
}

/** Splits a list of names at commas. A comma in a name is doubled. */
export const readNames = (text: string | null) =>
  (text ?? '')
    .split(/(?<!,),(?!,)/)
    .filter(Boolean)
    .map(one => one.replaceAll(',,', ','))
export const printNames = (names: readonly string[]) => names.map(one => one.replaceAll(',', ',,')).join(',')

const readOrder = (text: string | null): readonly Order[] =>
  readNames(text).map(one =>
    one.startsWith('-') ? { field: one.slice(1), order: 'desc' } : { field: one, order: 'asc' },
  )

export const printOrder = (order: readonly Order[]): string =>
  printNames(order.map(one => (one.order === 'desc' ? `-${one.field}` : one.field)))

export const usual = (entity: Entity): readonly EntityField[] => entity.fields.slice(0, usualColumns)

/** Narrowest and widest column in pixels, and the steps between them. */
export const columnWidth = { min: 80, max: 960, step: 16 } as const

/** The parameters of an address that say which columns there are, in which order, and how wide. */
const layout = ['columns', 'widths'] as const

/**
 * Reads the columns from the address or, where it says nothing of them, as they were last chosen in this browser.
 */
function layoutOf(entity: Entity, parameters: URLSearchParams): Pick<View, 'columns' | 'widths'> {
  const given = isLaidOut(parameters)
    ? parameters
    : new URLSearchParams(recall(`columns.${entity.name}`) ?? '')
  const names = new Set(readNames(given.get('columns')))
  const chosen = [...names].flatMap(name => entity.fields.find(one => one.name === name) ?? [])
  const widths = readNames(given.get('widths')).map((one): readonly [string, number] => {
    const at = one.lastIndexOf(':')
    const width = Number(one.slice(at + 1)) || columnWidth.min
    return [one.slice(0, at), Math.max(columnWidth.min, Math.min(columnWidth.max, width))]
  })
  return { columns: chosen.length > 0 ? chosen : usual(entity), widths: new Map(widths) }
}

/** Returns the columns that were last chosen in this browser for the entity's table. */
export const columnsFor = (entity: Entity): readonly EntityField[] =>
  layoutOf(entity, new URLSearchParams()).columns

const isLaidOut = (parameters: URLSearchParams) => layout.some(name => parameters.has(name))

/** Completes the address by the columns that were last chosen in this browser, so that others see the same. */
export function addRemembered(entity: Entity): void {
  const kept = recall(`columns.${entity.name}`)
  if (kept === null || isLaidOut(query.value)) return
  setQuery(Object.fromEntries(new URLSearchParams(kept)), { replace: true })
}

export const showOrder = (order: readonly Order[]): void =>
  setQuery({
    sort: printOrder(order),
    page: null,
  })

/** Shows these columns in this order, and remembers them in this browser. */
export function showColumns(
  entity: Entity,
  names: readonly string[],
  widths: ReadonlyMap<string, number> = viewOf(entity).widths,
): void {
  const isUsual = printNames(names) === printNames(usual(entity).map(({ name }) => name))
  const kept = new URLSearchParams()
  if (!isUsual) kept.set('columns', printNames(names))
  if (widths.size > 0) kept.set('widths', printNames([...widths].map(([name, width]) => `${name}:${width}`)))
  remember(`columns.${entity.name}`, kept.size === 0 ? null : String(kept))
  setQuery(Object.fromEntries(layout.map(name => [name, kept.get(name)])), { replace: true })
}

export const showCondition = (condition: string, how?: { readonly replace?: boolean }): void =>
  setQuery({ q: condition.trim(), page: null }, how)

/** Returns the path and the parameters for a query endpoint: an entity, or a query in PQL. */
export function askedBy(
  entity: Entity,
  { condition, order }: Pick<View, 'condition' | 'order'>,
): {
  readonly path: string
  readonly parameters: Readonly<Record<string, string | undefined>>
} {
  const order_by = order.length > 0 ? JSON.stringify(order) : undefined
  return condition === ''
    ? { path: pathOf(entity.name), parameters: { order_by } }
    : { path: pathOf(), parameters: { order_by, query: pqlOf(entity, condition) } }
}

/**
 * Returns the request for a download of all records of the view, in its order.
 *
 * @param columns the columns of the file; all by default
 */
export function downloadOf(
  entity: Entity,
  view: Pick<View, 'condition' | 'order'>,
  columns?: readonly EntityField[],
): ReturnType<typeof askedBy> {
  const asked = askedBy(entity, view)
  if (!columns) return asked
  const names = columns.map(({ name }) => written(name)).join(', ')
  const query = `${entity.name}[${names}] { ${view.condition} }`
  return { path: pathOf(), parameters: { ...asked.parameters, query } }
}

/**
 * Loads a page of the view.
 * @param snapshot the state to show, as far as the service still has it; the current one by default
 */
export async function loadRecords(
  entity: Entity,
  view: View,
  signal: AbortSignal,
  snapshot?: string,
): Promise<Page<DataRecord> & { readonly total: number }> {
  const { path, parameters } = askedBy(entity, view)
  const offset = (view.page - 1) * view.size
  const asked = {
    ...parameters,
    limit: view.size,
    offset: offset || undefined,
    include_total: true,
    snapshot,
  }
  try {
    const response = await asking(entity, view.condition, prefixOf(entity), () =>
      service.value.request('GET', path, { query: asked, signal }),
    )
    return await pageIn(response, offset)
  } catch (error) {
    if (snapshot === undefined || !(error instanceof CarrelProblem) || error.status !== 410) throw error
    return loadRecords(entity, view, signal)
  }
}

/** Returns the field that best names a record besides its key, for titles and links. */
export const nameField = (entity: Entity): EntityField | undefined => {
  const keys = new Set(keyOf(entity))
  return (
    entity.fields.find(({ name, type }) => type === 'text' && /^(title|name|label|titel)$/i.test(name)) ??
    entity.fields.find(({ name, type }) => type === 'text' && !keys.has(name))
  )
}

/** @throws CarrelProblem 401 instead of 404 if the entity may become visible after a login */
export const useEntity = (name: string): Loaded<Entity> =>
  useLoad(
    async signal => {
      const entity = (await loadEntities(signal)).find(one => one.name === name)
      if (entity) return entity
      const status = who.value.kind === 'nobody' ? 401 : 404
      throw new CarrelProblem({ status, code: 'not-found', title: t('missing'), detail: t('missing.help') })
    },
    [name, who.value],
  )

/** Writes a view of a table as a question. */
export function questionOf(
  entity: Entity,
  { condition, order, columns }: Pick<View, 'condition' | 'order' | 'columns'>,
): string {
  const names = columns.map(({ name }) => written(name)).join(', ')
  const shown = columns.length === entity.fields.length ? '' : `[${names}]`
  const by = order.map(one => `${written(one.field)}${one.order === 'desc' ? ' desc' : ''}`).join(', ')
  const hasOrder = /\border\s+by\b/.test(apart(condition).clauses)
  const lines = [condition, by === '' || hasOrder ? '' : `order by ${by}`].filter(Boolean)
  return lines.length === 0
    ? `${entity.name}${shown} { }`
    : `${entity.name}${shown} {\n${lines.map(one => `  ${one}`).join('\n')}\n}`
}

/** Returns what a page of a table shows, as a request. */
export const requestOf = (entity: Entity, view: View): Requested => ({
  query: questionOf(entity, view),
  limit: view.size,
  offset: (view.page - 1) * view.size,
})
