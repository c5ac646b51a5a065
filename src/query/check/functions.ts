import { commaList, quote, suggestion } from '../../http/parameters.ts'
import { readPercent } from '../../lib/percentiles.ts'
import type { FieldType } from '../../model/entities.ts'
import {
  isTimeUnit,
  isWholeWidth,
  maxWidthPower,
  readWidth,
  timeUnits,
} from '../../model/functions/bucket.ts'
import { checkMask } from '../../model/functions/to-string.ts'
import type { Aggregate, Scalar } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { type Found, findField, typeNames } from './fields.ts'
import type { Match, Scope } from './scope.ts'
import { type ArrayNode, argumentsOf, described, inLanguage, operatorOf, wrong } from './wrong.ts'

/** The result of a function. Its name becomes the name of the column. */
interface Called {
  readonly name: string
  readonly value: Scalar | Aggregate
  readonly type: FieldType
  readonly isSortable: boolean
}

interface Call {
  readonly node: ArrayNode
  readonly name: string
  readonly args: readonly Node[]
  readonly scope: Scope
}

const numbers: readonly FieldType[] = ['integer', 'number', 'json']

type Read = Omit<Called, 'name'> & Partial<Pick<Called, 'name'>>

const functions: ReadonlyMap<string, (call: Call) => Read> = new Map<string, (call: Call) => Read>([
  ['count', count],
  ['count_distinct', countDistinct],
  ['avg', (call: Call) => aggregate(call, 'avg', numbers, () => 'number')],
  ['sum', (call: Call) => aggregate(call, 'sum', numbers, numberType)],
  ['min', (call: Call) => extreme(call, 'min')],
  ['max', (call: Call) => extreme(call, 'max')],
  ['median', (call: Call) => percentile(call, onlyField(call), '0.5')],
  ['percentile', percentileOfCall],
  ['to_string', toText],
  ['bucket', bucket],
  ['length', length],
  ['highlight', highlight],
  ['relevance', relevance],
])

/** `["function", name, field?, …]` @throws QueryError */
export function readFunction(node: ArrayNode, scope: Scope): Called {
  const [named, ...args] = argumentsOf(node)
  const names = [...functions.keys()]
  if (named?.kind !== 'text')
    throw wrong(named ?? node, 'A function has a name: ["function", "count"].', { legal: names })
  const read = functions.get(named.text)
  if (!read) {
    const { hint, members } = suggestion(named.text, names)
    throw wrong(
      named,
      `There is no function ${quote(named.text)}.${hint} The functions are ${names.join(', ')}.`,
      members,
    )
  }
  return { name: named.text, ...read({ node, name: named.text, args, scope }) }
}

/**
 * Reads a function in a condition. Only those that compute a value of one record stand there.
 * @returns undefined for a node that is no function
 */
export function readComputed(node: Node, scope: Scope): Found | undefined {
  if (operatorOf(node) !== 'function' || node.kind !== 'array') return undefined
  const [named, field] = argumentsOf(node)
  const name = named?.kind === 'text' ? named.text : ''
  if (scope.entity === null || !ofRecords.includes(name))
    throw wrong(
      node,
      `A condition has no function but ${commaList(ofRecords)}. Compare results in ["having", condition], by the name of their column.`,
      { legal: ofRecords },
    )
  const { value } = readFunction(node, scope)
  if (value.kind !== 'field' || field === undefined) throw new Error('a function of records computes a field')
  const { sortable: _, ...known } = findField(field, scope).field
  return { ref: value.field, field: known }
}

/** The functions that conditions may have. */
const ofRecords: readonly string[] = ['bucket', 'length']

function count(call: Call): Omit<Called, 'name'> {
  if (call.args.length === 0) return aggregated('count', null, 'integer')
  return aggregated('count', onlyField(call), 'integer')
}

function countDistinct(call: Call): Omit<Called, 'name'> {
  return aggregated('count_distinct', onlyField(call), 'integer')
}

/** The sum of integers is an integer. In JSON, only numbers are added. */
const numberType = ({ ref }: Found): FieldType => (ref.type === 'integer' ? 'integer' : 'number')

function extreme(call: Call, name: 'min' | 'max'): Omit<Called, 'name'> {
  const found = onlyField(call)
  if (found.ref.type !== 'json' && found.field.sortable === false)
    throw wrong(
      call.args[0] ?? call.node,
      `${name} needs an order, and the values of ${quote(found.field.name)} have none.`,
    )
  return aggregate(call, name, [...numbers, 'date-time', 'text'], ({ ref }) =>
    ref.type === 'json' ? 'number' : ref.type,
  )
}

function aggregate(
  call: Call,
  name: Aggregate['name'],
  legal: readonly FieldType[],
  type: (found: Found) => FieldType,
): Omit<Called, 'name'> {
  const found = onlyField(call)
  requireType(call, found, legal)
  refuseLists(call, found)
  return aggregated(name, found, type(found))
}

function percentileOfCall(call: Call): Read {
  const [field, percent, more] = call.args
  if (!field || !percent || more)
    throw wrong(
      more ?? call.node,
      `percentile takes a field and a number from 0 to 100: ${inLanguage(call.node, '["function", "percentile", "field", 90]', 'percentile(field, 90)')}.`,
    )
  const part = percent.kind === 'number' ? readPercent(percent.text) : undefined
  if (part === undefined)
    throw wrong(
      percent,
      `A percentage is a number from 0 to 100 with at most 20 digits, not ${described(percent)}.`,
    )
  return percentile(call, findField(field, call.scope), part)
}

function percentile(call: Call, found: Found, part: string): Read {
  requireType(call, found, numbers)
  refuseLists(call, found)
  return {
    value: { kind: 'aggregate', name: 'percentile', field: found.ref, part },
    type: 'number',
    isSortable: true,
  }
}

function refuseLists({ name, args, node }: Call, { ref }: Found): void {
  if (ref.list && ref.path.length > 0)
    throw wrong(args[0] ?? node, `${name} can't be made of lists; [*] lists what all elements have.`)
}

const aggregated = (name: Aggregate['name'], found: Found | null, type: FieldType): Omit<Called, 'name'> => ({
  value: { kind: 'aggregate', name, field: found === null ? null : found.ref },
  type,
  isSortable: true,
})

function onlyField({ node, name, args, scope }: Call): Found {
  const [field, more] = args
  if (field && !more) return findField(field, scope)
  throw wrong(
    more ?? node,
    `${name} takes one field: ${inLanguage(node, `["function", "${name}", "field"]`, `${name}(field)`)}.`,
  )
}

function requireType({ name, args, node }: Call, { ref, field }: Found, legal: readonly FieldType[]): void {
  if (legal.includes(ref.type)) return
  throw wrong(
    args[0] ?? node,
    `${name} can't be made of ${quote(field.name)}, which is ${typeNames[ref.type]}.`,
    { legal },
  )
}

function toText(call: Call): Omit<Called, 'name'> {
  const [field, mask, more] = call.args
  if (!field || !mask || more)
    throw wrong(
      more ?? call.node,
      `to_string takes a field and a mask: ${inLanguage(call.node, '["function", "to_string", "field", "YYYY-MM-DD"]', 'to_string(field, "YYYY-MM-DD")')}.`,
    )
  const found = findField(field, call.scope)
  requireType(call, found, ['date-time', 'integer', 'number'])
  if (mask.kind !== 'text') throw wrong(mask, `A mask is text, such as "YYYY-MM-DD", not ${described(mask)}.`)
  const reason = checkMask(mask.text, found.ref.type === 'date-time' ? 'instant' : 'number')
  if (reason !== undefined) throw wrong(mask, `The mask ${quote(mask.text)} can't be used: ${reason}.`)
  const computed = { kind: 'to_string', mask: mask.text } as const
  return scalar({ kind: 'field', field: { ...found.ref, type: 'text', computed } }, 'text')
}

/** `["function", "bucket", field, width or unit]`; its column has the name of the field. */
function bucket(call: Call): Read {
  const [field, by, more] = call.args
  if (!field || !by || more)
    throw wrong(
      more ?? call.node,
      'bucket takes a field, and the width of a bucket or a unit of time: ["function", "bucket", "field", 10] or ["function", "bucket", "field", "month"].',
    )
  const found = findField(field, call.scope)
  requireType(call, found, ['date-time', 'integer', 'number', 'json'])
  const { ref } = found
  const named = { name: field.kind === 'text' ? field.text : ref.name }
  if (ref.type === 'date-time') {
    if (by.kind !== 'text' || !isTimeUnit(by.text))
      throw wrong(
        by,
        `A time is put into buckets by one of ${timeUnits.join(', ')}, not by ${described(by)}.`,
        { legal: timeUnits },
      )
    const computed = { kind: 'period', unit: by.text } as const
    return { ...named, ...scalar({ kind: 'field', field: { ...ref, computed } }, 'date-time') }
  }
  const width = by.kind === 'number' ? readWidth(by.text) : undefined
  if (width === undefined)
    throw wrong(
      by,
      by.kind === 'number'
        ? `The width of a bucket is above 0, has at most ${maxWidthPower} digits, and lies between 1e-${maxWidthPower} and 1e${maxWidthPower}; ${described(by)} doesn't.`
        : `A number is put into buckets by their width, such as 10, not by ${described(by)}.`,
    )
  const type = ref.type === 'integer' && isWholeWidth(width) ? 'integer' : 'number'
  const { list: _, ...plain } = ref
  const computed = { kind: 'interval', width } as const
  return { ...named, ...scalar({ kind: 'field', field: { ...plain, type, computed } }, type) }
}

/** `["function", "length", field]`: the number of elements of a list. */
function length(call: Call): Read {
  const found = onlyField(call)
  requireType(call, found, ['json'])
  const { list: _, ...plain } = found.ref
  return scalar(
    { kind: 'field', field: { ...plain, type: 'integer', computed: { kind: 'length' } } },
    'integer',
  )
}

function highlight(call: Call): Omit<Called, 'name'> {
  const found = onlyField(call)
  requireType(call, found, ['text'])
  if (found.ref.related)
    throw wrong(
      call.node,
      `highlight marks words in fields of ${call.scope.name} itself, and ${quote(found.ref.name)} is one of a related entity.`,
    )
  return scalar({ kind: 'highlight', field: found.ref, words: matchOf(call.node, call.scope).words }, 'text')
}

function relevance({ node, args, scope }: Call): Omit<Called, 'name'> {
  const [more] = args
  if (more) throw wrong(more, 'relevance takes no arguments.')
  return scalar(relevanceOf(node, scope), 'number')
}

const scalar = (value: Scalar, type: FieldType): Omit<Called, 'name'> => ({ value, type, isSortable: true })

/** Rates how well a record matches the searches of the query. @throws QueryError if there are none */
export const relevanceOf = (node: Node, scope: Scope): Scalar => ({
  kind: 'relevance',
  ...matchOf(node, scope),
})

/** Joins all searches of the query into one. */
function matchOf(node: Node, { matches }: Scope): Match {
  if (matches.length === 0)
    throw wrong(
      node,
      'relevance and highlight need a search: add ["match", field, "words"] to the condition.',
    )
  const fields = new Map(matches.flatMap(match => match.fields).map(field => [JSON.stringify(field), field]))
  const words = new Map(matches.flatMap(match => match.words).map(phrase => [JSON.stringify(phrase), phrase]))
  return { fields: [...fields.values()], words: [...words.values()] }
}
