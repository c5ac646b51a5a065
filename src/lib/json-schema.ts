import type * as ajvModule from 'ajv'
import type { ErrorObject } from 'ajv'
import { exactText } from './json.ts'
import { nearest } from './nearest.ts'
import { onDemand } from './own-files.ts'

/** A form of texts that schemas name in `format`. */
export interface Format {
  readonly accepts: (text: string) => boolean
  /** Words that follow "must be". */
  readonly takes: string
}

/**
 * The first fault of a value. It quotes names of members, which its reader shortens, but never a value: that
 * may be a password.
 */
export interface Fault {
  /** The way to the wrong value, or to the member that is missing or unknown. */
  readonly path: readonly string[]
  /** True if the schema has no such member. */
  readonly isUnknown: boolean
  /** Words that follow the place, such as "must be a text, not a number". */
  readonly wrong: string
  readonly legal?: readonly string[] | Range
  readonly nearest?: string
}

interface Range {
  readonly least?: number
  readonly most?: number
}

/** @returns the first fault of a value; undefined for a value that the schema describes */
export type Check = (value: unknown) => Fault | undefined

interface Options {
  readonly formats: Readonly<Record<string, Format>>
  /** True if missing members get the defaults of the schema. */
  readonly useDefaults?: boolean
}

const ajv = onDemand<typeof ajvModule>('ajv')

/**
 * Returns a function that compiles schemas (docs/decisions/0068). The library is loaded with the first of
 * them. Code is made from schemas only, never from values.
 */
export function schemaChecks({ formats, useDefaults = false }: Options): (schema: object) => Check {
  let checker: ajvModule.Ajv | undefined
  return schema => {
    if (!checker) {
      const { Ajv } = ajv()
      // All errors are wanted only of the alternatives of a union: a check ends with the first fault.
      checker = new Ajv({
        useDefaults,
        allErrors: false,
        verbose: true,
        strict: false,
        meta: false,
        validateSchema: false,
        logger: false,
      })
      for (const [name, { accepts }] of Object.entries(formats))
        checker.addFormat(name, { type: 'string', validate: accepts })
    }
    // A named part may be there several times, which an identifier may not.
    const plain = JSON.stringify(schema, (name, value) => (name === '$id' ? undefined : value))
    const validate = checker.compile(JSON.parse(plain))
    return value => (validate(value) ? undefined : faultOf(validate.errors ?? [], formats))
  }
}

/** Chooses the error that says most: of the alternatives of a union, the one that got furthest. */
function faultOf(errors: readonly ErrorObject[], formats: Options['formats']): Fault {
  const all = errors
    .filter(({ keyword }) => !['anyOf', 'oneOf', 'propertyNames'].includes(keyword))
    .map(placed)
  const depth = Math.max(...all.map(({ path }) => path.length))
  const furthest = all.filter(({ path }) => path.length === depth)
  const found = furthest.find(({ error }) => error.keyword !== 'type' || legalIn(error)) ?? furthest[0]
  if (!found) throw new Error('the schema check failed without an error')
  const { error, path, isUnknown } = found
  if (isUnknown) return { path, isUnknown, ...unknown(path.at(-1) ?? '', error) }
  const types = furthest.flatMap(one => (one.error.keyword === 'type' ? [one.error.params.type].flat() : []))
  return { path, isUnknown, ...describe(error, new Set(types), formats) }
}

/** An error with the way to what is wrong. */
type Placed = { readonly error: ErrorObject } & Pick<Fault, 'path' | 'isUnknown'>

function placed(error: ErrorObject): Placed {
  const { keyword, params, instancePath, data, parentSchema = {} } = error
  const path = instancePath
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const at = (name: string, isUnknown: boolean) => ({ error, path: [...path, name], isUnknown })
  if (error.propertyName !== undefined) return at(error.propertyName, false)
  if (keyword === 'additionalProperties') return at(params.additionalProperty, true)
  if (keyword !== 'required') return { error, path, isUnknown: false }
  // An unknown member is likely to be the missing one, misspelt.
  const { additionalProperties, properties = {} } = parentSchema
  const other = Object.keys(data as object).find(name => !Object.hasOwn(properties, name))
  if (additionalProperties === false && other !== undefined) return at(other, true)
  return at(params.missingProperty, false)
}

type Words = Pick<Fault, 'wrong' | 'legal' | 'nearest'>

function unknown(name: string, { parentSchema = {} }: ErrorObject): Words {
  const known = Object.entries(parentSchema.properties as Record<string, { readOnly?: boolean }>)
    .filter(([, { readOnly }]) => !readOnly)
    .map(([member]) => member)
  return withNearest(name, known, 'is unknown', `; known are ${known.join(', ')}`)
}

function describe(error: ErrorObject, types: ReadonlySet<string>, formats: Options['formats']): Words {
  const { keyword, params, data, parentSchema = {} } = error
  const legal = legalIn(error)
  if (legal?.length === 1) return { wrong: `must be ${legal[0]}`, legal }
  if (legal) return withNearest(data, legal, `must be one of ${legal.join(', ')}`)
  if (parentSchema.title !== undefined && ofForm.has(keyword))
    return { wrong: `must be ${parentSchema.title}` }
  switch (keyword) {
    case 'required':
      return { wrong: 'is missing' }
    case 'not':
      return { wrong: 'is a reserved name' }
    case 'type': {
      const words = [...types].map(type => kinds[type] ?? type)
      const last = words.pop()
      return {
        wrong: `must be ${[...words, ''].join(', ').replace(/, $/, ' or ')}${last}, not ${kindOf(data)}`,
      }
    }
    case 'format':
      return { wrong: `must be ${formats[params.format]?.takes ?? params.format}` }
    case 'minLength':
    case 'maxLength': {
      const { minLength, maxLength } = parentSchema
      const count = [...(data as string)].length.toLocaleString('en')
      return within(minLength, maxLength, range => `must have ${range} characters, not ${count}`)
    }
    case 'minItems':
    case 'maxItems': {
      const { minItems, maxItems } = parentSchema
      const count = (data as unknown[]).length.toLocaleString('en')
      return within(minItems, maxItems, range => `must have ${range} elements, not ${count}`)
    }
    case 'minimum':
    case 'maximum':
      return within(parentSchema.minimum, parentSchema.maximum, range => `must be ${range}`)
    default:
      return { wrong: error.message ?? 'is not valid' }
  }
}

/** Keywords about the form of a value, in whose place a schema may say in `title` what it takes. */
const ofForm = new Set(['type', 'pattern', 'minProperties', 'maxProperties'])

/** Returns the only values that are legal, if there are few. */
const legalIn = ({ parentSchema }: ErrorObject): readonly string[] | undefined =>
  parentSchema?.enum ?? (parentSchema && 'const' in parentSchema ? [String(parentSchema.const)] : undefined)

/** @param others follows if no legal name is near */
function withNearest(given: unknown, legal: readonly string[], wrong: string, others = ''): Words {
  const meant = typeof given === 'string' ? nearest(given, legal) : undefined
  if (meant === undefined) return { wrong: `${wrong}${others}`, legal }
  return { wrong: `${wrong}; did you mean ${meant}?`, legal, nearest: meant }
}

function within(least: number | undefined, most: number | undefined, say: (range: string) => string): Words {
  const [from, to] = [least?.toLocaleString('en'), most?.toLocaleString('en')]
  const range =
    from === undefined ? `at most ${to}` : to === undefined ? `${from} or more` : `${from} to ${to}`
  const legal = { ...(least !== undefined && { least }), ...(most !== undefined && { most }) }
  return { wrong: say(range), legal }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
}

/** Names the kind of a JSON value. */
function kindOf(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number' || exactText(value) !== undefined) return 'a number'
  return typeof value === 'string' ? 'a text' : Array.isArray(value) ? 'an array' : 'an object'
}
