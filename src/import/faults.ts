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

/** How many are named. */
export const maxNamed = 20
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

const textOf = ({ line, message }: Fault): string => (line === null ? message : `line ${line}: ${message}`)

/** What is wrong with a file, as it is found. */
export class Faults {
  #first: Fault[] = []
  #count = 0
  /** How many records had been read at the first fault. */
  #begun: number | undefined

  /** @throws RefusedImport when they are so many that nothing more is to be read */
  add(error: ImportError): void {
    this.#take([faultOf(error)], 1)
    if (this.#count >= maxCounted) throw this.refused(true)
  }

  /** Adds what was found in a part. @throws RefusedImport when nothing more is to be read */
  merge({ faults, more }: Pick<Found, 'faults' | 'more'>): void {
    this.#take(faults, faults.length + more)
    if (this.#count >= maxCounted) throw this.refused(true)
  }

  #take(faults: readonly Fault[], count: number): void {
    this.#first.push(...faults)
    this.#count += count
    if (this.#first.length > 2 * maxNamed) this.#first = this.#named()
  }

  #named(): Fault[] {
    const place = ({ line }: Fault) => line ?? Number.POSITIVE_INFINITY
    // Of records on one line, some have the same to say.
    return [...new Map(this.#first.map(fault => [textOf(fault), fault])).values()]
      .toSorted((one, other) => (place(one) < place(other) ? -1 : place(one) > place(other) ? 1 : 0))
      .slice(0, maxNamed)
  }

  found(isCut = false): Found {
    const faults = this.#named()
    return { faults, more: this.#count - faults.length, isCut }
  }

  refused(isCut: boolean, options?: ErrorOptions): RefusedImport {
    return new RefusedImport(this.found(isCut), options)
  }

  /** @returns the error that has this one, which ends the reading, after the others */
  endedBy(error: ImportError): RefusedImport {
    if (error instanceof RefusedImport) return error
    this.#take([faultOf(error)], 1)
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
