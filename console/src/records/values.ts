import { type EntityField, type Json, labelOf } from '../entities.ts'
import { printExactly } from '../exact.ts'
import type { Key, Values } from '../i18n/i18n.ts'

/** Values of a record as they are typed, and the JSON that is made of them. */

/** The kind of control that a value is typed into. */
export type Kind = 'text' | 'long' | 'integer' | 'number' | 'boolean' | 'date-time' | 'list' | 'json'

/** A value as it is typed; null: the field has no value. */
export type Typed = string | null

/** Typed texts by field. */
export type Edits = Readonly<Record<string, Typed>>

/** A reason why something typed is no value, and its place in the text if it has one. */
export interface Fault {
  readonly key: Key
  readonly values?: Values
  readonly at?: number
}

/** Length from which a text gets several lines. */
const long = 80

/** @param value the value that the editor begins with, which decides how much room it gets */
export function kindOf({ type, list, format }: EntityField, value: unknown): Kind {
  if (type === 'json') return list && isListOfLines(value) ? 'list' : 'json'
  if (type !== 'text') return type
  const isLong = typeof value === 'string' && (value.length > long || value.includes('\n'))
  return isLong || format === 'paragraphs' ? 'long' : 'text'
}

/** True for no value, and for a list of texts of which each fits into a line. */
const isListOfLines = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  (Array.isArray(value) && value.every(one => typeof one === 'string' && !one.includes('\n')))

/** @param value as `readAsWritten` has read it */
export function typedOf(value: unknown, kind: Kind): Typed {
  if (value === null || value === undefined) return null
  switch (kind) {
    case 'list':
      return (value as readonly string[]).join('\n')
    case 'json':
      return printExactly(value, 2)
    default:
      return typeof value === 'string' ? value : printExactly(value)
  }
}

/** Returns the JSON of what was typed, or the fault in it. */
export function jsonOf(typed: Typed, kind: Kind): string | Fault {
  if (typed === null) return 'null'
  const text = typed.trim()
  if (text === '' && !['text', 'long', 'list'].includes(kind)) return 'null'
  switch (kind) {
    case 'integer':
      return /^-?(0|[1-9]\d*)$/.test(text) ? text : { key: 'edit.fault.integer' }
    case 'number':
      return /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? text : { key: 'edit.fault.number' }
    case 'boolean':
      return text
    case 'date-time':
      return isTime(text) ? JSON.stringify(text) : { key: 'edit.fault.time' }
    case 'list':
      return JSON.stringify(text === '' ? [] : text.split('\n').filter(line => line.trim() !== ''))
    case 'json':
      return faultIn(typed) ?? text
    default:
      return JSON.stringify(typed)
  }
}

const isTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+]\d\d:\d\d)$/.test(text) &&
  !Number.isNaN(Date.parse(text.replace(' ', 'T')))

function faultIn(text: string): Fault | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const message = error instanceof Error ? error.message : ''
    const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? []
    const place = /position (\d+)/.exec(message)?.[1]
    const at =
      place !== undefined
        ? Number(place)
        : line !== undefined
          ? placeOf(text, Number(line), Number(column))
          : text.length
    const before = text.slice(0, at).split('\n')
    return {
      key: 'edit.fault.json',
      values: { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
      at,
    }
  }
}

const placeOf = (text: string, line: number, column: number): number =>
  text
    .split('\n')
    .slice(0, line - 1)
    .reduce((sum, one) => sum + one.length + 1, 0) +
  column -
  1

/** The name of a field for people, with its unit. */
export const nameFor = (field: EntityField): string =>
  field.unit === undefined ? labelOf(field) : `${labelOf(field)} (${field.unit})`

/** The values that a field may have, as they are typed, and its present one; undefined: any. */
export function choicesOf({ oneOf }: EntityField, now: Typed): readonly string[] | undefined {
  const choices = oneOf?.map(String)
  return choices && now !== null && !choices.includes(now) ? [now, ...choices] : choices
}

/** The line of a fault, and under it a mark at its place. */
export function markedLine(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at)
  // The part of a long line around the place.
  const from = Math.max(start, at - 40)
  const line = text.slice(from, Math.min(end < 0 ? text.length : end, at + 30))
  return `${line}\n${' '.repeat(at - from)}^`
}

const minute = /^(\d{4}-\d\d-\d\dT\d\d:\d\d):(\d\d)(\.0+)?Z$/

/** True for a time that the browser's control for times can hold: in UTC, without parts of seconds. */
export const fitsPicker = (typed: Typed): boolean => typed === null || typed === '' || minute.test(typed)
export const toPicker = (typed: Typed): string => (typed ?? '').replace(minute, '$1:$2')
export const fromPicker = (text: string): Typed =>
  text === '' ? null : `${text.length === 16 ? `${text}:00` : text}Z`

/** True if two values are equal, an absent one and null included. */
export const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  printExactly(one ?? null) === printExactly(other ?? null)
