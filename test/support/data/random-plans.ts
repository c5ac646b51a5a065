import { exactText } from '../../../src/lib/json.ts'
import type { Entity, Field, FieldType, Page } from '../../../src/model/entities.ts'
import type {
  Aggregate,
  Column,
  Condition,
  Constant,
  FieldRef,
  Plan,
  Rows,
  Scalar,
  TextQuery,
} from '../../../src/model/plan.ts'
import type { Shown } from './plan-oracle.ts'

/** Random plans about records that there are: constants are values of theirs, or near them. */

export interface Random {
  /** Below this. */
  below(max: number): number
  pick<T>(items: readonly T[]): T
}

/** Mulberry32: the same numbers for the same seed. */
export function createRandom(seed: number): Random {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = (max: number) => Math.floor(next() * max)
  return {
    below,
    pick: items => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
  }
}

const masks = {
  instant: ['YYYY', 'Mon DD, HH24:MI:SS.US', 'IYYY-IW TZ', 'FMDAY "of" Q'],
  number: ['999', 'FM9990.99', 'S0G000D0', '99PR'],
} as const

interface Parts {
  readonly random: Random
  readonly world: (entity: string) => readonly Shown[]
  /** Those that a plan may have inside. */
  readonly inner: readonly Entity[]
  /** What is searched for. */
  readonly searches: readonly TextQuery[]
  /** What matches texts of the data. */
  readonly expressions: readonly string[]
}

export function createPlans({ random, world, inner: entities, expressions, searches }: Parts) {
  const { below, pick } = random
  const chance = (share: number) => below(1_000) < share * 1_000

  function fieldOf(entity: Entity, types?: readonly FieldType[]): FieldRef | undefined {
    const fields = entity.fields.filter(
      ({ type }) => types === undefined || types.includes(type) || type === 'json',
    )
    if (fields.length === 0) return undefined
    const field = pick(fields)
    const wantsPath =
      field.type === 'json' && (chance(0.6) || (types !== undefined && !types.includes('json')))
    return { name: field.name, path: wantsPath ? pathIn(entity, field) : [], type: field.type }
  }

  /** A way to something that is there, or not quite. */
  function pathIn(entity: Entity, { name }: Field): (string | number)[] {
    const path: (string | number)[] = []
    let value = sample(entity, { name, path: [], type: 'json' })
    for (let depth = 0; depth < 4; depth++) {
      if (Array.isArray(value)) {
        const at = below(value.length + 1)
        path.push(chance(0.9) ? at : String(at))
        value = value[at] as unknown
      } else if (typeof value === 'object' && value !== null && exactText(value) === undefined) {
        const keys = Object.keys(value)
        const key = chance(0.9) && keys.length > 0 ? pick(keys) : pick(['x', '0', 'constructor', '__proto__'])
        path.push(key)
        value = Object.hasOwn(value, key) ? (value as Shown)[key] : undefined
      } else break
      if (chance(0.3)) break
    }
    return path.length === 0 ? [pick<string | number>(['x', 0])] : path
  }

  function sample(entity: Entity, { name, path }: FieldRef): unknown {
    const records = world(entity.name)
    if (records.length === 0) return undefined
    let value: unknown = pick(records)[name]
    for (const step of path) value = value == null ? undefined : (value as Shown)[step]
    return value
  }

  function constant(entity: Entity, field: FieldRef): Constant {
    let value = sample(entity, field)
    if (Array.isArray(value) && value.length > 0 && chance(0.6)) value = pick(value as unknown[])
    if (field.type === 'date-time') return { kind: 'instant', text: instantNear(value) }
    if (field.type === 'boolean') return { kind: 'boolean', value: chance(0.5) }
    if (field.type === 'integer' || field.type === 'number' || (field.type === 'json' && chance(0.1)))
      return { kind: 'number', text: numberNear(value) }
    if (field.type === 'text') return { kind: 'text', text: textNear(value) }
    const number = typeof value === 'number' ? String(value) : exactText(value)
    if (number !== undefined) return { kind: 'number', text: chance(0.5) ? number : numberNear(value) }
    if (typeof value === 'boolean') return { kind: 'boolean', value }
    if (typeof value === 'object' && value !== null) return { kind: 'json', json: sortedJson(value) }
    return { kind: 'text', text: textNear(value) }
  }

  function instantNear(value: unknown): string {
    const text = typeof value === 'string' ? value : '2024-02-29T12:00:00.5Z'
    const [, head = '', fraction = ''] = /^(.{19})(?:\.(\d+))?/.exec(text) ?? []
    const digits = pick([
      fraction,
      fraction,
      fraction.slice(0, 2),
      `${fraction}001`,
      `${fraction}9`,
      '',
      `${fraction}000`,
    ])
    return `${chance(0.9) ? head : pick(['0000-01-01T00:00:00', '9999-12-31T23:59:59', '2024-02-29T12:00:00'])}${digits === '' ? '' : `.${digits}`}Z`
  }

  function numberNear(value: unknown): string {
    const text = typeof value === 'number' ? String(value) : (exactText(value) ?? '1')
    return pick([
      text,
      text,
      /[.eE]/.test(text) ? text : `${text}.0`,
      /[.eE]/.test(text) ? text : `${text}.5`,
      /[.eE]/.test(text) ? text : `${text}e0`,
      '0',
      '-1',
      '1e300',
      '-1e300',
      '9223372036854775808',
      '-9223372036854775809',
      '0.1',
      '1e-300',
    ])
  }

  function textNear(value: unknown): string {
    const text = typeof value === 'string' ? value : 'x'
    return pick([
      text,
      text,
      text,
      `${text}!`,
      text.slice(0, 2),
      `${text}\0`,
      `${text.slice(0, 1)}\ud800`,
      '',
      '\u{10ffff}',
      '\uffff',
    ])
  }

  function leaf(entity: Entity): Condition {
    const negated = chance(0.4)
    const kind = pick([
      'null',
      'compare',
      'compare',
      'compare',
      'in',
      'matches',
      'text',
      'path matches',
      'in plan',
      'in plan',
    ] as const)
    if (kind === 'in plan') return inPlan(entity, negated) ?? { kind: 'none' }
    if (kind === 'text') {
      const fields = [fieldOf(entity, ['text']), fieldOf(entity, ['text'])].filter(one => one !== undefined)
      return fields.length === 0 ? { kind: 'none' } : { kind, fields, words: pick(searches), negated }
    }
    const wanted: readonly FieldType[] | undefined =
      kind === 'matches' ? ['text'] : kind === 'path matches' ? ['json'] : undefined
    const field = fieldOf(entity, wanted)
    if (field === undefined) return { kind: 'none' }
    if (kind === 'null') return { kind, field, negated }
    if (kind === 'matches') return { kind, field, expression: pick(expressions), negated }
    if (kind === 'path matches') {
      const value = sample(entity, field)
      const elements = Array.isArray(value)
        ? value.map((one: unknown) =>
            typeof one === 'number' && Number.isInteger(one) ? one : pick(expressions),
          )
        : [pick(expressions)]
      return { kind, field, elements: elements.slice(0, 5), negated }
    }
    if (kind === 'in')
      return {
        kind,
        field,
        values: Array.from({ length: 1 + below(4) }, () => constant(entity, field)),
        negated,
      }
    const operators =
      field.type === 'boolean' ? (['='] as const) : (['=', '=', '<', '<=', '>', '>='] as const)
    const operator = pick(operators)
    const value =
      field.type === 'json' && operator !== '='
        ? ({ kind: 'number', text: numberNear(sample(entity, field)) } as const)
        : constant(entity, field)
    return { kind: 'compare', field, operator, value, negated }
  }

  function inPlan(entity: Entity, negated: boolean): Condition | undefined {
    const inner = pick(entities)
    const pairs: { readonly field: FieldRef; readonly scalar: Scalar; readonly type: FieldType }[] = []
    for (let n = 0; n < (chance(0.3) ? 2 : 1); n++) {
      const field = fieldOf(entity)
      const theirs = field && fieldOf(inner, [field.type])
      if (field === undefined || theirs === undefined) return undefined
      if (field.type !== theirs.type && field.type !== 'json') return undefined
      if (['number', 'boolean'].includes(field.type)) return undefined
      pairs.push({ field, scalar: { kind: 'field', field: theirs }, type: theirs.type })
    }
    const where = chance(0.4) ? null : condition(inner, 1)
    const shape: Rows = {
      kind: 'rows',
      columns: pairs.map(({ scalar, type }, n) => ({ name: `c${n}`, value: scalar, type })),
      groups: null,
      having: null,
      distinct: false,
      order: chance(0.3) ? [{ by: keyScalar(inner), descending: chance(0.5) }] : [],
    }
    const page = { order: [], offset: below(3), limit: chance(0.4) ? 1 + below(5) : null, total: false }
    return {
      kind: 'in plan',
      fields: pairs.map(({ field }) => field),
      plan: { entity: inner, where, shape, page },
      negated,
    }
  }

  const keyScalar = (entity: Entity): Scalar => {
    const [name = ''] = [entity.key].flat()
    return {
      kind: 'field',
      field: { name, path: [], type: entity.fields.find(one => one.name === name)?.type ?? 'text' },
    }
  }

  function condition(entity: Entity, depth: number): Condition {
    if (depth === 0 || chance(0.4)) return leaf(entity)
    return {
      kind: pick(['and', 'or']),
      of: Array.from({ length: 1 + below(3) }, () => condition(entity, depth - 1)),
    }
  }

  function scalar(entity: Entity): Scalar {
    const field = fieldOf(entity) as FieldRef
    const isNumber = field.type === 'integer' || field.type === 'number'
    if (chance(0.7) || !(isNumber || field.type === 'date-time')) return { kind: 'field', field }
    return { kind: 'to_string', field, mask: pick(isNumber ? masks.number : masks.instant) }
  }

  /** Of rows that show one record each. */
  function scalarOfOne(entity: Entity): Scalar {
    const field = chance(0.2) ? fieldOf(entity, ['text']) : undefined
    if (field === undefined) return scalar(entity)
    const words = pick(searches)
    return field.type === 'text' && chance(0.5)
      ? { kind: 'highlight', field, words }
      : {
          kind: 'relevance',
          fields: [field, ...(chance(0.5) ? [fieldOf(entity, ['text']) ?? field] : [])],
          words,
        }
  }

  function aggregate(entity: Entity): Aggregate {
    const name = pick(['count', 'count', 'count_distinct', 'avg', 'sum', 'min', 'max'] as const)
    if (name === 'count' && chance(0.5)) return { kind: 'aggregate', name, field: null }
    const types: readonly FieldType[] | undefined =
      name === 'avg' || name === 'sum'
        ? ['integer', 'number']
        : name === 'min' || name === 'max'
          ? ['integer', 'number', 'text', 'date-time']
          : undefined
    const field = fieldOf(entity, types)
    return field === undefined
      ? { kind: 'aggregate', name: 'count', field: null }
      : { kind: 'aggregate', name, field }
  }

  const typeOf = (value: Scalar | Aggregate): FieldType => {
    if (value.kind === 'field') return value.field.type
    if (value.kind === 'relevance') return 'integer'
    if (value.kind !== 'aggregate') return 'text'
    if (value.name === 'min' || value.name === 'max')
      return value.field?.type === 'json' ? 'number' : (value.field?.type ?? 'number')
    return value.name === 'avg' || value.name === 'sum' ? 'number' : 'integer'
  }

  function rows(entity: Entity): Rows {
    const kind = pick(['plain', 'plain', 'grouped', 'grouped', 'all', 'distinct'] as const)
    const groups = Array.from({ length: 1 + below(2) }, () => scalar(entity))
    const values: (Scalar | Aggregate)[] =
      kind === 'plain' || kind === 'distinct'
        ? Array.from({ length: 1 + below(3) }, () =>
            kind === 'plain' ? scalarOfOne(entity) : scalar(entity),
          )
        : [
            ...(kind === 'grouped' ? groups.slice(below(2)) : []),
            aggregate(entity),
            ...(chance(0.5) ? [aggregate(entity)] : []),
          ]
    const columns = values.map((value, n): Column => ({ name: `m${n} "x"`, value, type: typeOf(value) }))
    const distinct = kind === 'distinct' || (kind === 'grouped' && chance(0.2))
    const others = kind === 'plain' ? [scalarOfOne(entity)] : kind === 'grouped' && !distinct ? groups : []
    const order = Array.from({ length: below(3) }, () => ({
      by: chance(0.3) && others.length > 0 ? pick(others) : below(columns.length),
      descending: chance(0.5),
    }))
    return {
      kind: 'rows',
      columns,
      groups: kind === 'grouped' ? groups : null,
      having: kind !== 'plain' && chance(0.3) ? having(columns) : null,
      distinct,
      order: kind === 'all' ? [] : order,
    }
  }

  function having(columns: readonly Column[]): Condition | null {
    const { name, type } = pick(columns)
    if (type !== 'integer' && type !== 'number')
      return { kind: 'null', field: { name, path: [], type }, negated: chance(0.7) }
    return {
      kind: 'compare',
      field: { name, path: [], type },
      operator: pick(['=', '<', '<=', '>', '>=']),
      value: { kind: 'number', text: pick(['0', '1', '2', '2.5', '1e3']) },
      negated: chance(0.3),
    }
  }

  function page(entity: Entity, isRows: boolean): Page {
    const sortable = entity.fields.filter(field => field.sortable !== false)
    const order = isRows
      ? []
      : Array.from({ length: below(3) }, () => ({ field: pick(sortable).name, descending: chance(0.5) }))
    return {
      order,
      offset: chance(0.3) ? below(6) : 0,
      limit: pick([null, 1, 3, 100, 150]),
      total: chance(0.5),
    }
  }

  return (entity: Entity): Plan => {
    const shape: Plan['shape'] = chance(0.6) ? rows(entity) : { kind: 'records' }
    return {
      entity,
      where: chance(0.9) ? condition(entity, 3) : null,
      shape,
      page: page(entity, shape.kind === 'rows'),
    }
  }
}

/** With the keys of objects sorted. */
function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join()}]`
  if (typeof value !== 'object' || value === null || exactText(value) !== undefined)
    return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, one]) => `${JSON.stringify(key)}:${sortedJson(one)}`).join()}}`
}
