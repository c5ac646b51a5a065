import type { OperatorError } from '../lib/errors.ts'
import type { Recipe } from '../model/recipes.ts'
import { ImportError } from './import-error.ts'

/** A single fault in a file. */
export interface Fault {
  /** Line of the unpacked file, from 1; null: the fault isn't in a line. */
  readonly line: number | null
  /** The field or column that the fault concerns. */
  readonly field: string | null
  /** The message without the line. */
  readonly message: string
  /** A change of the recipe with which it would be none. */
  readonly repair?: Recipe
  /** Faults that differ from it only in values, if there are many. */
  readonly alike?: Alike
}

interface Alike {
  readonly count: number
  /** The first lines with such faults. */
  readonly lines: readonly number[]
}

/** All known faults of a file, or of a part of it. */
export interface Found {
  /** The first faults, in the order of the file. */
  readonly faults: readonly Fault[]
  /** Number of further faults. */
  readonly more: number
  /** True if a part of the file was not read. */
  readonly isCut: boolean
}

/** Maximum number of kinds of faults that are named. */
export const maxNamed = 20
/** Maximum number of faults of one kind that are named separately. */
const maxApart = 3
/** Maximum number of lines that are named for the others. */
const maxLines = 5
/** Number of faults after which reading ends. */
export const maxCounted = 1_000
/** Maximum number of records that are read after the first fault. */
const maxReadOn = 1_000_000
/** Maximum characters of a message, because names and values from a file may be long. */
const maxMessage = 2_000

/** A refused import. Its message is the first fault, and `details` are the others. */
export class RefusedImport extends ImportError {
  readonly found: Found
  override readonly details: readonly string[]

  constructor(found: Found, options?: ErrorOptions) {
    const [first = '', ...others] = found.faults.map(textOf)
    super(first, options)
    this.found = found
    const more = found.more.toLocaleString('en')
    if (found.more > 0) others.push(found.isCut ? `and at least ${more} more` : `and ${more} more`)
    else if (found.isCut) others.push('The rest of the file was not read.')
    this.details = others
  }
}

function textOf({ line, message, alike }: Fault): string {
  const text = line === null ? message : `line ${line}: ${message}`
  return alike ? `${text} (${alikeInWords(alike)})` : text
}

function alikeInWords({ count, lines }: Alike): string {
  const many = `${count.toLocaleString('en')} more like this`
  if (lines.length === 0) return many
  return `${many}, on lines ${lines.join(', ')}${count > lines.length ? ', …' : ''}`
}

/** Faults that differ only in their values. */
interface Kind {
  /** The first faults, in the order of the file. */
  readonly faults: readonly Fault[]
  readonly lines: readonly number[]
  readonly count: number
}

/**
 * Returns the field, and the message without names and values. These are in quotation
 * marks, except for numbers.
 */
const kindOf = ({ field, message }: Fault): string =>
  `${field}\0${message.replace(/"(?:[^"\\]|\\.)*"|\d[\d,.]*/g, '?')}`

const byLine = (one: Pick<Fault, 'line'>, other: Pick<Fault, 'line'>): number => {
  const [a, b] = [one.line ?? Number.POSITIVE_INFINITY, other.line ?? Number.POSITIVE_INFINITY]
  return a < b ? -1 : a > b ? 1 : 0
}

function withFault(kind: Kind | undefined, { alike, ...fault }: Fault): Kind {
  const { faults = [], lines = [], count = 0 } = kind ?? {}
  // Several records on one line may have the same fault.
  const isKnown = faults.some(({ line, message }) => line === fault.line && message === fault.message)
  const all = [...new Set([...lines, ...(fault.line === null ? [] : [fault.line]), ...(alike?.lines ?? [])])]
  return {
    faults: isKnown ? faults : [...faults, fault].toSorted(byLine).slice(0, maxApart),
    lines: all.toSorted((one, other) => one - other).slice(0, maxLines + 1),
    count: count + 1 + (alike?.count ?? 0),
  }
}

/**
 * Combines many faults of one kind into one.
 * @param faults the faults, or at least the first of them
 * @param lines the first lines with such faults
 */
export function namedOf({ faults, lines, count }: Kind): readonly Fault[] {
  const [first] = faults
  if (!first || count <= maxApart) return faults
  const others = lines.filter(line => line !== first.line).slice(0, maxLines)
  return [{ ...first, alike: { count: count - 1, lines: others } }]
}

/** Collects the faults of a file. */
export class Faults {
  readonly #kinds = new Map<string, Kind>()
  #count = 0
  /** Number of records read before the first fault. */
  #begun: number | undefined

  /** @throws RefusedImport once the number of faults ends the reading */
  add(error: ImportError): void {
    this.#take([faultOf(error)], 0)
    if (this.#count >= maxCounted) throw this.refused(true)
  }

  /** Adds the faults of a part. @throws RefusedImport once the number of faults ends the reading */
  merge({ faults, more }: Pick<Found, 'faults' | 'more'>): void {
    this.#take(faults, more)
    if (this.#count >= maxCounted) throw this.refused(true)
  }

  #take(faults: readonly Fault[], untold: number): void {
    this.#count += untold
    for (const fault of faults) {
      this.#count += 1 + (fault.alike?.count ?? 0)
      const name = kindOf(fault)
      this.#kinds.set(name, withFault(this.#kinds.get(name), fault))
    }
  }

  found(isCut = false): Found {
    const all = [...this.#kinds.values()].flatMap(namedOf).toSorted(byLine)
    const faults = all.slice(0, maxNamed)
    const told = faults.reduce((sum, { alike }) => sum + 1 + (alike?.count ?? 0), 0)
    return { faults, more: this.#count - told, isCut }
  }

  refused(isCut: boolean, options?: ErrorOptions): RefusedImport {
    return new RefusedImport(this.found(isCut), options)
  }

  /** Adds the error that ended the reading. @returns an error with all faults */
  endedBy(error: ImportError): RefusedImport {
    if (error instanceof RefusedImport) return error
    this.#take([faultOf(error)], 0)
    return this.refused(false, { cause: error })
  }

  /** @throws RefusedImport if there is any fault */
  throwIfAny(): void {
    if (this.#count > 0) throw this.refused(false)
  }

  /** @throws RefusedImport if there is a fault, and enough records were read after it */
  throwIfEnough(records: number): void {
    if (this.#count === 0) return
    this.#begun ??= records
    if (records - this.#begun > maxReadOn) throw this.refused(true)
  }
}

/** Returns the fault that an error describes. */
export function faultOf(error: OperatorError): Fault {
  const { line, field, repair, fault: text = error.message } = error instanceof ImportError ? error : {}
  return {
    line: line ?? null,
    field: field === undefined ? null : field.slice(0, maxMessage),
    message: text.length > maxMessage ? `${text.slice(0, maxMessage)}…` : text,
    ...(repair && { repair }),
  }
}

/** Returns an error of a fault. */
export const errorOf = ({ message, line, field, repair }: Fault): ImportError =>
  new ImportError(message, {
    line: line ?? undefined,
    ...(field !== null && { field }),
    ...(repair && { repair }),
  })

/** Returns all faults that a refusal names. */
export const foundIn = (error: OperatorError): Found =>
  error instanceof RefusedImport ? error.found : { faults: [faultOf(error)], more: 0, isCut: false }

/** @returns the error if it is an ImportError; any other is thrown again */
export function asImportError(error: unknown): ImportError {
  if (error instanceof ImportError) return error
  throw error
}
