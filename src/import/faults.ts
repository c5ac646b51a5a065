import type { OperatorError } from '../model/errors.ts'
import { ImportError } from './import-error.ts'

/** One thing that is wrong with a file. */
export interface Fault {
  /** Of the unpacked file, from 1; null: the fault isn't in a line. */
  readonly line: number | null
  /** The field or column that it is about. */
  readonly field: string | null
  /** Without the line. */
  readonly message: string
  /** Others that differ from it in values alone, where they are many. */
  readonly alike?: Alike
}

export interface Alike {
  readonly count: number
  /** The first lines that have them. */
  readonly lines: readonly number[]
}

/** What is known of everything that is wrong with a file, or with a part of it. */
export interface Found {
  /** The first ones, in the order of the file. */
  readonly faults: readonly Fault[]
  /** How many more there are. */
  readonly more: number
  /** Whether something was not read. */
  readonly isCut: boolean
}

/** Maximum number of kinds of faults that are named. */
export const maxNamed = 20
/** Faults of one kind that are named each by itself. */
const maxApart = 3
/** Lines that are named of the others. */
const maxLines = 5
/** So many are counted, and then nothing more is read. */
export const maxCounted = 1_000
/** Records that are read after the first fault. */
const maxReadOn = 1_000_000
/** Characters: names and values from a file may be long. */
const maxMessage = 2_000

/** An import is refused: its message is the first fault, and `details` are the others. */
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

/** Faults that differ in their values alone. */
export interface Kind {
  /** The first ones, in the order of the file. */
  readonly faults: readonly Fault[]
  readonly lines: readonly number[]
  readonly count: number
}

/** Names and values are in quotation marks; other numbers are values, too. */
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
 * Many faults of one kind become one.
 * @param faults the first of them at least
 * @param lines of the first ones
 */
export function namedOf({ faults, lines, count }: Kind): readonly Fault[] {
  const [first] = faults
  if (!first || count <= maxApart) return faults
  const others = lines.filter(line => line !== first.line).slice(0, maxLines)
  return [{ ...first, alike: { count: count - 1, lines: others } }]
}

/** What is wrong with a file, as it is found. */
export class Faults {
  readonly #kinds = new Map<string, Kind>()
  #count = 0
  /** How many records had been read at the first fault. */
  #begun: number | undefined

  /** @throws RefusedImport when they are so many that nothing more is to be read */
  add(error: ImportError): void {
    this.#take([faultOf(error)], 0)
    if (this.#count >= maxCounted) throw this.refused(true)
  }

  /** Adds what was found in a part. @throws RefusedImport when nothing more is to be read */
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

  /** @returns the error that has this one, which ends the reading, after the others */
  endedBy(error: ImportError): RefusedImport {
    if (error instanceof RefusedImport) return error
    this.#take([faultOf(error)], 0)
    return this.refused(false, { cause: error })
  }

  /** @throws RefusedImport if anything is wrong */
  throwIfAny(): void {
    if (this.#count > 0) throw this.refused(false)
  }

  /** @throws RefusedImport if something is wrong, and enough was read after it */
  throwIfEnough(records: number): void {
    if (this.#count === 0) return
    this.#begun ??= records
    if (records - this.#begun > maxReadOn) throw this.refused(true)
  }
}

/** The fault of an error whose message begins with its line, if it has one. */
export function faultOf(error: OperatorError): Fault {
  const { message } = error
  const field = error instanceof ImportError ? error.field : undefined
  const [, line, rest] = /^line (\d+): (.*)$/s.exec(message) ?? []
  const text = rest ?? message
  return {
    line: line === undefined ? null : Number(line),
    field: field === undefined ? null : field.slice(0, maxMessage),
    message: text.length > maxMessage ? `${text.slice(0, maxMessage)}…` : text,
  }
}

/** Everything that is wrong, as a refusal says it. */
export const foundIn = (error: OperatorError): Found =>
  error instanceof RefusedImport ? error.found : { faults: [faultOf(error)], more: 0, isCut: false }

/** @returns the same for an error that was thrown; any other is thrown again */
export function asImportError(error: unknown): ImportError {
  if (error instanceof ImportError) return error
  throw error
}
