import { comparable, exactText } from '../lib/json.ts'
import { binaryText, markedNumber, markedText, oddKey, textForm } from '../lib/sort-keys.ts'
import type { FieldType } from '../model/entities.ts'
import { noCode, runKinds, runNumbers } from './batches.ts'
import { ImportError, shown } from './import-error.ts'
import { adviceFor } from './local-forms.ts'
import { allStyles, NumberForms, type Styles, stylesOf } from './number-forms.ts'
import { isSameText, type PackedTexts, packTexts, sortTexts } from './sort-texts.ts'
import type { Appender } from './spool.ts'
import { fits, isTextList, isUniformDateTime, kindOf } from './types.ts'

/** The values of a field in a batch. */
export class Column {
  readonly name: string
  /** The first line that has the field. */
  readonly line: number
  readonly kinds = new Map<FieldType, number>()
  hasLists = true
  filled = 0
  readonly #declared: FieldType | undefined
  readonly #refuse: (error: ImportError) => void
  /** For each record, the number of its value. */
  #codes = new Uint16Array(256).fill(noCode)
  #met = 0
  readonly #numbers = new Met<number>()
  readonly #texts = new Met<string>()
  /** Sort keys of values that are neither plain numbers nor texts. */
  readonly #odd = new Met<string>()
  /** Texts of numbers that JavaScript would print differently, with the numbers of their values. */
  readonly #written = new Map<string, number>()
  /** Styles in which all numbers that JavaScript would print differently are written. */
  #styles = allStyles
  /** 1 for each number of a value that is written as JavaScript prints it. */
  #printed = new Uint8Array(256)
  /** Forms of the numbers; undefined if JavaScript prints all of them as they are written. */
  #forms: NumberForms | undefined

  /** @param refuse is called for values of a type other than the field's declared one */
  constructor(
    name: string,
    line: number,
    declared: FieldType | undefined,
    refuse: (error: ImportError) => void,
  ) {
    this.name = name
    this.line = line
    this.#declared = declared
    this.#refuse = refuse
  }

  /** True if a number is not written as JavaScript would print it. */
  get hasForms(): boolean {
    return this.#forms !== undefined
  }

  /** The styles in which all numbers are written. */
  get styles(): Styles {
    const { values, codes } = this.#numbers
    let styles = this.#styles
    if (styles === allStyles) return styles
    for (let at = 0; at < values.length && styles !== 0; at++)
      if (this.#printed[codes[at] as number] === 1)
        styles &= stylesOf(values[at] as number, String(values[at]))
    return styles
  }

  /** @param n number of the record in the batch @param value a value other than null */
  add(n: number, value: unknown, line: number): void {
    if (n >= this.#codes.length) this.#grow(n)
    this.filled++
    const text = typeof value === 'object' ? exactText(value) : undefined
    if (text !== undefined) this.#noteStyle(value, text)
    const known = text === undefined ? undefined : this.#written.get(text)
    if (known !== undefined) {
      this.#codes[n] = known
      return
    }
    const kind = kindOf(value) as FieldType
    const declared = this.#declared
    if (!this.kinds.has(kind)) {
      if (declared === undefined || fits(kind, declared)) this.kinds.set(kind, line)
      else
        this.#refuse(
          new ImportError(
            `the field ${shown(this.name)} is declared as ${declared} and has the value ${shown(value)}; ${adviceFor(value, declared)}, or declare the field as text`,
            { line, field: this.name },
          ),
        )
    }
    if (kind === 'json' && this.hasLists) this.hasLists = isTextList(value)
    if (typeof value === 'string') this.#codes[n] = this.#codeOf(this.#texts, value)
    else if (declared === 'text') this.#codes[n] = this.#codeOf(this.#texts, textForm(value))
    else if (text !== undefined) this.#codes[n] = this.#codeOfWritten(value, text, kind)
    else if (typeof value === 'number') {
      const code = this.#codeOf(this.#numbers, value)
      this.#forms?.add(code)
      this.#notePrinted(code)
      this.#codes[n] = code
    } else this.#codes[n] = this.#codeOf(this.#odd, oddKey(value))
  }

  #notePrinted(code: number): void {
    if (code >= this.#printed.length) {
      const larger = new Uint8Array(2 * code)
      larger.set(this.#printed)
      this.#printed = larger
    }
    this.#printed[code] = 1
  }

  #noteStyle(value: unknown, text: string): void {
    const number = comparable(value)
    this.#styles =
      typeof number === 'number' && this.#styles !== 0 ? this.#styles & stylesOf(number, text) : 0
  }

  #codeOfWritten(value: unknown, text: string, kind: FieldType): number {
    const number = comparable(value)
    const before = this.#met
    const code =
      typeof number === 'number'
        ? this.#codeOf(this.#numbers, number)
        : this.#codeOf(this.#odd, oddKey(number))
    // A value that the field may not hold is not cached, because each of them is refused.
    if (this.kinds.has(kind) && this.#written.size < enough && text.length <= longText)
      this.#written.set(text, code)
    if (this.#declared === undefined) {
      this.#forms ??= new NumberForms(before)
      this.#forms.add(code, text)
    }
    return code
  }

  #codeOf<T>(values: Met<T>, value: T): number {
    const code = values.add(value, this.#met)
    if (code === this.#met) this.#met++
    return code
  }

  #grow(n: number): void {
    const codes = new Uint16Array(Math.max(this.#codes.length * 2, n + 1)).fill(noCode)
    codes.set(this.#codes)
    this.#codes = codes
  }

  /** Writes the run of the column. @returns the numbers that describe it */
  write(spool: Appender, count: number): number[] {
    const places = new Uint16Array(this.#met)
    const written = this.#writeValues(spool, places)
    const codes = new Uint16Array(count).fill(noCode)
    for (let n = Math.min(count, this.#codes.length) - 1; n >= 0; n--) {
      const code = this.#codes[n] as number
      if (code !== noCode) codes[n] = places[code] as number
    }
    const forms = this.#forms ? spool.append(this.#forms.inOrder(places, written.size)) : noForms
    return runNumbers({ ...written, codes: spool.append(codes), forms })
  }

  /** @param places receives, for each number of a value, the position of that value in the sorted order */
  #writeValues(spool: Appender, places: Uint16Array) {
    const [numbers, texts, odd] = [this.#numbers, this.#texts, this.#odd]
    if (texts.values.length === 0 && odd.values.length === 0) return writeNumbers(spool, numbers, places)
    if (numbers.values.length === 0 && odd.values.length === 0) {
      const isUniform = this.#declared !== 'text' && this.kinds.size === 1 && isUniformDateTime(texts.values)
      const kind = isUniform ? runKinds.instants : runKinds.texts
      return { kind, ...writeSorted(spool, packTexts(texts.values, false), texts.codes, places) }
    }
    const keys = [
      ...numbers.values.map(markedNumber),
      ...texts.values.map(text => markedText(binaryText(text))),
      ...odd.values,
    ]
    const codes = [...numbers.codes, ...texts.codes, ...odd.codes]
    return { kind: runKinds.marked, ...writeSorted(spool, packTexts(keys, true), codes, places) }
  }
}

/**
 * Number of distinct values after which a column of mostly distinct values stops looking for repeated ones,
 * and maximum number of cached number texts.
 */
const enough = 2_048

/** Maximum characters of a number whose text is cached. */
const longText = 40
/** The position of the forms of a run that has none. */
const noForms = -1

/** Distinct values in the order in which they were first met, each with its number. */
class Met<T> {
  readonly values: T[] = []
  readonly codes: number[] = []
  /** Known values; undefined once nearly all values differ. Sorting then finds the few that don't. */
  #known: Map<T, number> | undefined = new Map()
  #added = 0

  /** @returns the number that the value already has, or gets now */
  add(value: T, code: number): number {
    this.#added++
    if (this.#known) {
      const known = this.#known.get(value)
      if (known !== undefined) return known
      this.#known.set(value, code)
      if (this.values.length === enough && this.#added < enough * 1.25) this.#known = undefined
    }
    this.values.push(value)
    this.codes.push(code)
    return code
  }
}

function writeNumbers(spool: Appender, { values, codes }: Met<number>, places: Uint16Array) {
  // Adding 0 turns -0 into 0, which is the same number.
  const sorted = Float64Array.from(values, value => value + 0).sort()
  const distinct = distinctIn(sorted)
  for (let at = 0; at < values.length; at++)
    places[codes[at] as number] = placeOf(distinct, values[at] as number, 0)
  return { kind: runKinds.numbers, size: distinct.length, lengths: 0, values: spool.append(distinct) }
}

/** Leaves out numbers that repeat the one before. @param sorted is written over */
export function distinctIn(sorted: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  let size = 0
  for (let at = 0; at < sorted.length; at++)
    if (at === 0 || sorted[at] !== sorted[size - 1]) sorted[size++] = sorted[at] as number
  return sorted.subarray(0, size)
}

/**
 * Returns the position of an existing number at or after `from`. The closer it is to
 * `from`, the faster it is found.
 */
export function placeOf(sorted: Float64Array, value: number, from: number): number {
  let low = from
  let high = from + 1
  while (high < sorted.length && (sorted[high] as number) <= value) {
    const step = 2 * (high - low)
    low = high
    high += step
  }
  high = Math.min(high, sorted.length)
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] as number) <= value) low = middle
    else high = middle
  }
  return low
}

/**
 * Writes the distinct texts in order.
 * @param codes the number of each text
 * @param places receives the position of each number's text in the sorted order
 * @returns the number of distinct texts, and the positions of the texts and of their lengths
 */
function writeSorted(spool: Appender, texts: PackedTexts, codes: readonly number[], places: Uint16Array) {
  const order = sortTexts(texts)
  const distinct = new Uint32Array(order.length)
  let size = 0
  for (let n = 0; n < order.length; n++) {
    const text = order[n] as number
    if (n === 0 || !isSameText(texts, distinct[size - 1] as number, text)) distinct[size++] = text
    places[codes[text] as number] = size - 1
  }
  return { size, ...writeTexts(spool, texts, distinct.subarray(0, size)) }
}

/** Writes texts in this order. @returns the positions of the texts and of their lengths */
export function writeTexts(spool: Appender, { bytes, starts }: PackedTexts, order: Uint32Array) {
  const lengths = new Uint32Array(order.length)
  const values = new Uint8Array(bytes.length)
  let end = 0
  for (let n = 0; n < order.length; n++) {
    const text = order[n] as number
    const to = starts[text + 1] as number
    const from = starts[text] as number
    lengths[n] = to - from
    // A loop copies short texts, because most texts are too short for a call to pay off.
    if (to - from > 64) {
      values.set(bytes.subarray(from, to), end)
      end += to - from
    } else for (let at = from; at < to; at++) values[end++] = bytes[at] as number
  }
  return { lengths: spool.append(lengths), values: spool.append(values.subarray(0, end)) }
}
