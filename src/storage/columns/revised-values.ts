import { type FieldChanges, openChanges, type RevisedField } from './revised-field.ts'
import { FileValues, type Values, type ValuesPart } from './stored-values.ts'

/** The distinct values of a changed version, over the file of its base. */
export class RevisedValues implements Values {
  readonly length: number
  readonly #base: FileValues
  readonly #changes: FieldChanges

  constructor(field: RevisedField) {
    this.#base = new FileValues(field.base)
    this.#changes = openChanges(field)
    this.length = this.#changes.values.length
  }

  bytesAt(rank: number): Buffer {
    const origin = this.#changes.values.origin(rank)
    return origin < 0 ? this.#written(~origin) : this.#base.bytesAt(origin)
  }

  *parts(from: number, end: number): Iterable<ValuesPart> {
    for (const { to, from: first, end: last, item } of this.#segments(from, end)) {
      if (item >= 0) {
        const starts = this.#changes.starts.subarray(item, item + 2)
        yield { from: to, end: to + 1, starts, json: this.#written(item) }
      } else
        for (const part of this.#base.parts(first, last))
          yield { ...part, from: part.from - first + to, end: part.end - first + to }
    }
  }

  doubles(from: number, end: number): Float64Array | undefined {
    if (!this.#changes.areDoubles || !this.#base.doubles(0, 0)) return undefined
    const doubles = new Float64Array(end - from)
    this.#changes.values.walk(
      from,
      end,
      (to, first, last) => doubles.set(this.#base.doubles(first, last) ?? [], to - from),
      (to, item) => {
        doubles[to - from] = Number(this.#written(item).toString('latin1'))
      },
    )
    return doubles
  }

  #written(item: number): Buffer {
    const { starts, json } = this.#changes
    return json.subarray(starts[item], starts[item + 1])
  }

  #segments(from: number, end: number) {
    const segments: { to: number; from: number; end: number; item: number }[] = []
    this.#changes.values.walk(
      from,
      end,
      (to, first, last) => segments.push({ to, from: first, end: last, item: -1 }),
      (to, item) => segments.push({ to, from: 0, end: 0, item }),
    )
    return segments
  }
}
