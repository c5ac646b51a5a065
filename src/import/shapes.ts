import { exactText, numberWritten } from '../lib/json.ts'
import { isJsonNumber } from '../lib/json-numbers.ts'
import type { FieldType } from '../model/entities.ts'
import { type FieldRecipe, typeOfWay, type Way } from '../model/recipes.ts'
import { ImportError, shown } from './import-error.ts'
import type { ReadRecord } from './json-lines.ts'
import { fromDayFirst, isDayFirst, localNumber } from './local-forms.ts'
import type { ReadingOptions } from './reading-options.ts'

/** The shape that a recipe gives the values of a field of the file. */
export interface Shape {
  /** The name in the entity. */
  readonly name: string
  readonly isLeftOut: boolean
  /** Texts that mean empty; undefined if there are none. */
  readonly empty: ReadonlySet<string> | undefined
  /** The type of the values that `convert` makes. */
  readonly type: FieldType | undefined
  /** Converts other texts; undefined: they stay as they are. */
  readonly convert:
    | ((text: string, line: number, refuse: (error: ImportError) => void) => unknown)
    | undefined
}

export type Shaping = Pick<ReadingOptions, 'empty' | 'fields'>

/** Returns the declarations that reading options make. */
export const declaredBy = ({
  empty,
  fields,
  mayLack,
}: ReadingOptions = {}): {
  readonly shaping: Shaping
  readonly mayLack: boolean
} => ({
  shaping: { ...(empty && { empty }), ...(fields && { fields }) },
  mayLack: mayLack ?? false,
})

/** Returns a function that gives the shape of a field by its name in the file; undefined if a recipe changes none. */
export function shapesOf({ empty = [], fields = new Map() }: Shaping): ((name: string) => Shape) | undefined {
  if (empty.length === 0 && fields.size === 0) return undefined
  const all = empty.length === 0 ? undefined : new Set(empty)
  const known = new Map([...fields].map(([name, field]) => [name, shapeOf(name, field, empty)]))
  return name =>
    known.get(name) ?? { name, isLeftOut: false, empty: all, type: undefined, convert: undefined }
}

function shapeOf(name: string, field: FieldRecipe, everywhere: readonly string[]): Shape {
  const { rename = name, leaveOut = false, read, separator = '', empty = [] } = field
  const all = [...everywhere, ...empty]
  return {
    name: rename,
    isLeftOut: leaveOut,
    empty: all.length === 0 ? undefined : new Set(all),
    type: typeOfWay(read),
    convert: converterOf(name, read, separator),
  }
}

function converterOf(name: string, read: Way | undefined, separator: string): Shape['convert'] {
  if (read === 'list') return text => listIn(text, separator)
  // A text that is no number is refused later, since the field is declared as one.
  if (read === 'decimal-comma') return localReader(name, 'comma')
  if (read === 'decimal-point') return localReader(name, 'point')
  if (read !== 'day-first') return undefined
  return (text, line, refuse) => {
    if (!isDayFirst(text) && !/^\d{4}-\d\d-\d\d$/.test(text))
      refuse(
        new ImportError(
          `the field ${shown(name)} is read as dates with the day first and has the value ${shown(text)}; correct the value, or let the recipe read it as empty`,
          { line, field: name },
        ),
      )
    return fromDayFirst(text)
  }
}

/** Returns a function that reads the numbers of a field in all local forms. Of currencies, it takes one. */
export function localReader(name: string, style: 'comma' | 'point'): NonNullable<Shape['convert']> {
  let known = ''
  return (text, line, refuse) => {
    const { currency, [style]: number } = localNumber(text)
    if (number === undefined) return isJsonNumber(text) ? numberWritten(text) : text
    known ||= currency
    if (currency !== '' && currency !== known)
      refuse(
        new ImportError(
          `the field ${shown(name)} has amounts in ${known} and the value ${shown(text)}, and numbers don't tell currencies apart; read it as text, or give each currency a column`,
          { line, field: name },
        ),
      )
    return numberWritten(number)
  }
}

const listIn = (text: string, separator: string): readonly string[] =>
  text
    .split(separator)
    .map(part => part.trim())
    .filter(part => part !== '')

/**
 * Returns a function that gives records of JSON the shape that a recipe wants; undefined if it wants none.
 */
export function shapeOfRecords(shaping: Shaping): ShapeRecord | undefined {
  const shapes = shapesOf(shaping)
  if (!shapes) return undefined
  const named = [...(shaping.fields ?? new Map<string, FieldRecipe>()).keys()]
  const hasNames = named.some(
    name => name === '__proto__' || shapes(name).isLeftOut || shapes(name).name !== name,
  )
  if (hasNames || shaping.empty) return anew(shapes)
  const changed = named.map(name => ({ name, shape: shapes(name) }))
  // Only values change, so the record itself can be changed.
  return (one, refuse) => {
    const record = one.record as Record<string, unknown>
    for (const { name, shape } of changed) {
      if (!Object.hasOwn(record, name)) continue
      const value = record[name]
      const next = shapedValue(value, shape, one.line, refuse)
      if (next !== value) record[name] = next
    }
    return one
  }
}

type ShapeRecord = (one: ReadRecord, refuse: (error: ImportError) => void) => ReadRecord

/** Returns a function that makes new records, because names change. */
const anew =
  (shapes: (name: string) => Shape): ShapeRecord =>
  ({ line, record }, refuse) => {
    const members = new Map<string, unknown>()
    for (const name of Object.keys(record)) {
      const shape = shapes(name)
      if (shape.isLeftOut) continue
      if (members.has(shape.name))
        refuse(
          new ImportError(
            `two fields are called ${shown(shape.name)} by the recipe; give each a name of its own`,
            { line, field: shape.name },
          ),
        )
      members.set(shape.name, shapedValue(record[name], shape, line, refuse))
    }
    return { line, record: Object.fromEntries(members) }
  }

function shapedValue(
  value: unknown,
  { empty, type, convert }: Shape,
  line: number,
  refuse: (error: ImportError) => void,
): unknown {
  const text = typeof value === 'number' ? String(value) : (exactText(value) ?? value)
  if (typeof text === 'string' && empty?.has(text)) return null
  if (typeof value !== 'string') {
    const isScalar = typeof text === 'string' || typeof text === 'boolean'
    return type === 'text' && !convert && isScalar ? String(text) : value
  }
  if (convert) return convert(value, line, refuse)
  if (type === 'boolean' && /^(true|false)$/i.test(value)) return value.length === 4
  return (type === 'number' || type === 'integer') && isJsonNumber(value) ? numberWritten(value) : value
}
