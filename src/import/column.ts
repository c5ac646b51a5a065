import type { FieldType } from '../model/entities.ts'
import { noCode, runKinds, runNumbers } from './batches.ts'
import { binaryTexts, markedNumber, markedText, oddKey } from './sort-keys.ts'
import { ImportError } from './source.ts'
import type { Appender } from './spool.ts'
import { fits, isUniformDateTime, kindOf, textForm } from './types.ts'

/** The values of a field in a batch, each distinct one once. */
export class Column {
  readonly name: string
  /** The first line that has the field. */
  readonly line: number
  readonly kinds = new Map<FieldType, number>()
  filled = 0
  readonly #declared: FieldType | undefined
  /** For each record, the position of its value among those that were met. */
  #codes = new Uint16Array(256).fill(noCode)
  #met = 0
  readonly #numbers = new Map<number, number>()
  readonly #texts = new Map<string, number>()
  /** By their sort keys: values that are neither plain numbers nor texts. */
  readonly #odd = new Map<string, number>()

  constructor(name: string, line: number, declared: FieldType | undefined) {
    this.name = name
    this.line = line
    this.#declared = declared
  }

  /**
   * @param n the number of the record in the batch
   * @param value not null
   * @throws ImportError if the field is declared to be of another type
   */
  add(n: number, value: unknown, line: number): void {
    const kind = kindOf(value) as FieldType
    const declared = this.#declared
    if (!this.kinds.has(kind)) {
      if (declared !== undefined && !fits(kind, declared))
        throw new ImportError(
          `line ${line}: the field ${JSON.stringify(this.name)} is declared as ${declared} and has the value ${JSON.stringify(value).slice(0, 60)}; correct the value, or declare the field as text`,
        )
      this.kinds.set(kind, line)
    }
    if (n >= this.#codes.length) this.#grow(n)
    this.#codes[n] =
      typeof value === 'string'
        ? this.#codeOf(this.#texts, value)
        : declared === 'text'
          ? this.#codeOf(this.#texts, textForm(value))
          : typeof value === 'number'
            ? this.#codeOf(this.#numbers, value)
            : this.#codeOf(this.#odd, oddKey(value))
    this.filled++
  }

  #codeOf<T>(codes: Map<T, number>, value: T): number {
    const known = codes.get(value)
    if (known !== undefined) return known
    codes.set(value, this.#met)
    return this.#met++
  }

  #grow(n: number): void {
    const codes = new Uint16Array(Math.max(this.#codes.length * 2, n + 1)).fill(noCode)
    codes.set(this.#codes)
    this.#codes = codes
  }

  /** @returns the numbers that describe the run */
  write(spool: Appender, count: number): number[] {
    const size = this.#met
    const places = new Uint16Array(noCode + 1)
    places[noCode] = noCode
    const written = this.#writeValues(spool, places)
    const codes = new Uint16Array(count).fill(noCode)
    for (let n = Math.min(count, this.#codes.length) - 1; n >= 0; n--)
      codes[n] = places[this.#codes[n] as number] as number
    return runNumbers({ ...written, size, codes: spool.append(codes) })
  }

  /** @param places receives, for each value in the order in which they were met, its position among the sorted ones */
  #writeValues(spool: Appender, places: Uint16Array) {
    if (this.#texts.size === 0 && this.#odd.size === 0) {
      const sorted = Float64Array.from(this.#numbers.keys()).sort()
      for (let place = 0; place < sorted.length; place++)
        places[this.#numbers.get(sorted[place] as number) as number] = place
      return { kind: runKinds.numbers, lengths: 0, values: spool.append(sorted) }
    }
    const texts = [...this.#texts.keys()]
    const onlyTexts = texts.length === this.#met
    const isUniform =
      onlyTexts && this.#declared !== 'text' && this.kinds.size === 1 && isUniformDateTime(texts)
    const codes = new Map<string, number>()
    const binary = binaryTexts(texts)
    let at = 0
    for (const code of this.#texts.values()) {
      const key = binary[at] as string
      if (!onlyTexts) binary[at] = markedText(key)
      codes.set(binary[at++] as string, code)
    }
    for (const [number, code] of this.#numbers) {
      const key = markedNumber(number)
      codes.set(key, code)
      binary.push(key)
    }
    for (const [key, code] of this.#odd) {
      codes.set(key, code)
      binary.push(key)
    }
    const sorted = binary.sort()
    for (let place = 0; place < sorted.length; place++)
      places[codes.get(sorted[place] as string) as number] = place
    const kind = isUniform ? runKinds.instants : onlyTexts ? runKinds.texts : runKinds.marked
    return { kind, ...writeTexts(spool, sorted) }
  }
}

/** @returns the positions of the texts and of their lengths */
export function writeTexts(spool: Appender, sorted: readonly string[]) {
  const lengths = Uint32Array.from(sorted, text => text.length)
  return { lengths: spool.append(lengths), values: spool.append(Buffer.from(sorted.join(''), 'latin1')) }
}
