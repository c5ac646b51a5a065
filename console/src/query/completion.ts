import { QueryError } from '../../../src/query/language/node.ts'
import { readPql } from '../../../src/query/language/read-pql.ts'
import { type Entity, type EntityField, withRelated } from '../entities.ts'
import { suggestedAt } from './PqlEditor.tsx'
import { expectedAfter, type Suggestion, type Token, tokensIn, written } from './pql.ts'
import type { Suggested } from './QueryEditor.tsx'
import { entityIn } from './reading.ts'

/** A query that is being written; one inside of another has a frame of its own. */
interface Frame {
  readonly entity: Entity
  part: 'name' | 'columns' | 'shown' | 'body' | 'clause'
  /** Tokens of the columns, without the brackets. */
  readonly columns: Token[]
  /** Tokens of the condition, or of the clause that is being written. */
  own: Token[]
  clause: string
}

const functions: readonly Suggestion[] = [
  'count()',
  'count_distinct(',
  'sum(',
  'avg(',
  'min(',
  'max(',
  'to_string(',
  'highlight(',
  'relevance()',
].map(text => ({ text }))
const masks = ['"YYYY"', '"YYYY-MM"', '"YYYY-MM-DD"', '"HH24"', '"ID"']
const clauses = ['group by', 'having', 'order by', 'limit', 'offset']
const grouping = new Set(['group by', 'having', 'with empty'])

/** Suggests what may stand at a place of a whole query in PQL. */
export function suggestInQuery(text: string, cursor: number, entities: readonly Entity[]): Suggested {
  const before = tokensIn(text.slice(0, cursor))
  const last = before.at(-1)
  const isBegun = last !== undefined && last.end === cursor && last.kind !== 'sign'
  const done = isBegun ? before.slice(0, -1) : before
  const [begun, start] = isBegun ? [last.text, last.start] : ['', cursor]
  const offer = (list: readonly Suggestion[]): Suggested => ({ start, list: fitting(list, begun) })
  const words = (...list: readonly string[]) => offer(list.map(one => ({ text: one })))

  const { frame, isOver } = frameAt(done, entities)
  if (isOver) return words()
  if (!frame)
    return offer(
      entities.map(({ name, description }) => ({
        text: name,
        ...(description ? { about: description.slice(0, 60) } : {}),
      })),
    )
  const { part, own, columns, clause } = frame
  const entity = withRelated(frame.entity, entities)
  if (part === 'name') return words('{', '[')
  if (part === 'shown') return words('{')
  if (part === 'columns') return offer(amongColumns(entity, columns, true))
  // Only columns can be grouped.
  const fits = (word: string) => columns.length > 0 || !grouping.has(word)
  const follows = followsAt(text.slice(0, start)).filter(one => fits(one) && one !== clause)
  if (part === 'clause' && clause !== 'having') {
    if (clause === 'limit' || clause === 'offset') return own.length === 0 ? words() : words(...follows)
    const list = amongColumns(entity, own, false)
    const isDone = own.length > 0 && own.at(-1)?.text !== ','
    return isDone && !isOpen(own)
      ? words(...bucketsOf(entity.fields, own).map(one => one.text), ...follows)
      : offer(list)
  }
  const expected = expectedAfter(own, entity.fields)
  const inside = suggestedAt(entity, { expected, begun, start })
  if (expected.kind === 'joiner') return words(...follows)
  if (expected.kind !== 'condition' || own.length > 0) return inside
  const ends = fitting(
    [...clauses.filter(fits), '}'].map(one => ({ text: one })),
    begun,
  )
  return { ...inside, list: [...inside.list, ...ends] }
}

/** Returns the words that the service's reader of PQL would take next. */
function followsAt(text: string): readonly string[] {
  try {
    readPql(text)
  } catch (error) {
    const expected = error instanceof QueryError ? error.members.expected : undefined
    const words = Array.isArray(expected) ? expected.filter(one => typeof one === 'string') : []
    return words.filter(one => !one.includes('<') || one === '<')
  }
  return []
}

function fitting(list: readonly Suggestion[], begun: string): readonly Suggestion[] {
  const start = begun.toLowerCase().replace(/^["']/, '')
  const plain = ({ text }: Suggestion) => text.toLowerCase().replace(/^["']/, '')
  const begins = list.filter(one => plain(one).startsWith(start) && plain(one) !== start)
  const inside = start.length < 2 ? [] : list.filter(one => plain(one).indexOf(start) > 0)
  return [...begins, ...inside]
}

const isOpen = (tokens: readonly Token[]) =>
  tokens.filter(({ text }) => text === '(').length > tokens.filter(({ text }) => text === ')').length

function amongColumns(
  { fields }: Entity,
  tokens: readonly Token[],
  isProjection: boolean,
): readonly Suggestion[] {
  const last = tokens.at(-1)?.text
  const named = (list: readonly EntityField[]) =>
    list.map(({ name, type }) => ({ text: written(name), about: type }))
  if (isOpen(tokens)) {
    if (last === '(') return named(fields)
    const isMask =
      tokens.findLast(({ kind }, at) => kind === 'word' && tokens[at + 1]?.text === '(')?.text === 'to_string'
    return last === ',' && isMask ? masks.map(text => ({ text })) : [{ text: ')' }, { text: ',' }]
  }
  if (last === undefined || last === ',' || last === 'distinct')
    return [
      ...named(fields),
      ...functions,
      ...(last === undefined && isProjection ? [{ text: 'distinct' }] : []),
    ]
  return [...bucketsOf(fields, tokens), { text: ',' }, { text: ']' }]
}

const periods = ['year', 'quarter', 'month', 'week', 'day', 'hour']

/** Suggests buckets for numbers and times, such as `year by 10` and `changed by month`. */
function bucketsOf(fields: readonly EntityField[], tokens: readonly Token[]): readonly Suggestion[] {
  const last = tokens.at(-1)?.text
  if (last === 'by') return periods.map(text => ({ text }))
  const type = fields.find(({ name }) => name === last)?.type
  if (type === 'date-time') return periods.map(text => ({ text: `by ${text}` }))
  return type === 'integer' || type === 'number' || type === 'json' ? [{ text: 'by 10' }] : []
}

/** Returns the innermost query that is still open behind the tokens. */
function frameAt(tokens: readonly Token[], entities: readonly Entity[]) {
  const stack: Frame[] = []
  let isOver = false
  for (const [at, token] of tokens.entries()) {
    const frame = stack.at(-1)
    if (!frame) {
      const entity = entityIn(entities, token.text)
      isOver = isOver || !entity
      if (entity) stack.push(frameOf(entity))
    } else isOver = step(stack, frame, token, tokens[at + 1], entities) || isOver
    if (isOver) break
  }
  return { frame: stack.at(-1), isOver }
}

const frameOf = (entity: Entity): Frame => ({ entity, part: 'name', columns: [], own: [], clause: '' })

/** @returns true if the whole query has ended */
function step(
  stack: Frame[],
  frame: Frame,
  token: Token,
  next: Token | undefined,
  entities: readonly Entity[],
): boolean {
  const { text, kind } = token
  if (frame.part === 'name') frame.part = text === '[' ? 'columns' : 'body'
  else if (frame.part === 'columns') {
    if (text === ']' && !isOpen(frame.columns)) frame.part = 'shown'
    else frame.columns.push(token)
  } else if (frame.part === 'shown') frame.part = 'body'
  else if (kind === 'sign' && text === '}') {
    stack.pop()
    const outer = stack.at(-1)
    // For the query around it, what ended is a value or a condition.
    outer?.own.push({ ...token, text: outer.own.at(-1)?.text === 'in' ? ']' : ')' })
    return outer === undefined
  } else if (kind === 'word' && clauseAt(text, next)) {
    frame.part = 'clause'
    frame.clause = clauses.find(one => one.startsWith(text)) ?? text
    frame.own = []
  } else if (frame.part === 'clause' && frame.own.length === 0 && text === 'by') return false
  else {
    const opens = next?.text === '{' || next?.text === '['
    const isField = frame.entity.fields.some(({ name }) => name === text)
    const inner = kind === 'word' && opens && !isField ? entityIn(entities, text) : undefined
    if (inner) stack.push(frameOf(inner))
    else frame.own.push(token)
  }
  return false
}

const clauseAt = (text: string, next: Token | undefined) =>
  ((text === 'group' || text === 'order') && next?.text === 'by') ||
  (['limit', 'offset', 'having'].includes(text) && !/^([=<>!~]|in$|is$|match$)/.test(next?.text ?? ''))
