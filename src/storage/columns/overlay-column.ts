import { type Edited, lastUpTo, merged } from './edits.ts'
import { type FieldChanges, openChanges, type RevisedField } from './field-changes.ts'
import { type Amounts, type Column, type Postings, postingsIn, StoredColumn } from './stored-column.ts'
import { FileNumbers, fewestWide, type Numbers, type Ranks } from './stored-field.ts'
import { FileValues, type Values, type ValuesPart } from './stored-values.ts'

/** A column over the file of the base, of which the parts that are wanted are read. */
export class RevisedColumn implements Column {
  readonly distinct: number
  readonly starts: Numbers
  readonly #base: StoredColumn
  readonly #changes: FieldChanges
  readonly #length: number
  #move: ((rank: number) => number) | undefined
  #ranks: Ranks | undefined
  #part: Ranks = new Uint16Array()

  constructor(field: RevisedField) {
    this.#base = new StoredColumn(field.base)
    this.#changes = openChanges(field)
    this.distinct = this.#changes.values.length
    this.#length = this.#changes.records.length
    this.starts = new RevisedStarts(this.#base, this.#changes)
  }

  get amounts(): Amounts | undefined {
    const { amounts: base } = this.#base
    const { amounts: written, records } = this.#changes
    if (!base || !written) return undefined
    let part = new Int32Array()
    return {
      scale: base.scale,
      read: (from, end) => {
        if (part.length < end - from) part = new Int32Array(end - from)
        const first = records.baseOf(from)
        const before = base.read(first, records.baseOf(end))
        records.walk(
          from,
          end,
          (to, start, stop) => part.set(before.subarray(start - first, stop - first), to - from),
          (to, item) => {
            part[to - from] = written[item] as number
          },
        )
        return part.subarray(0, end - from)
      },
    }
  }

  get ranks(): Ranks {
    this.#ranks ??= this.#readInto(this.#room(this.#length), 0, this.#length)
    return this.#ranks
  }

  read(from: number, end: number): Ranks {
    if (this.#part.length < end - from) this.#part = this.#room(end - from)
    return this.#readInto(this.#part, from, end)
  }

  reader(times: number): (n: number) => number {
    const { records, values, ranks } = this.#changes
    const rankOf = this.#base.reader(times)
    return n => {
      const origin = records.origin(n)
      return origin < 0 ? (ranks[~origin] as number) : values.moved(rankOf(origin))
    }
  }

  #readInto(part: Ranks, from: number, end: number): Ranks {
    const { records, ranks, values } = this.#changes
    this.#move ??= values.mover(rank => values.moved(rank))
    const move = this.#move
    const first = records.baseOf(from)
    const before = this.#base.read(first, records.baseOf(end))
    records.walk(
      from,
      end,
      (to, start, stop) => {
        for (let at = start - first, place = to - from; at < stop - first; at++, place++)
          part[place] = move(before[at] as number)
      },
      (to, item) => {
        part[to - from] = ranks[item] as number
      },
    )
    return part.subarray(0, end - from)
  }

  #room(length: number): Ranks {
    return this.distinct < fewestWide ? new Uint16Array(length) : new Uint32Array(length)
  }
}

class RevisedStarts implements Numbers {
  readonly length: number
  readonly #base: Column
  readonly #changes: FieldChanges

  constructor(base: Column, changes: FieldChanges) {
    this.length = changes.values.length + 2
    this.#base = base
    this.#changes = changes
  }

  at(rank: number): number {
    const { values, records, moreBefore, newBefore } = this.#changes
    if (rank > values.length) return records.length
    const before = values.baseOf(rank)
    return this.#base.starts.at(before) + moreBefore(before) + newBefore(values.editsBefore(rank))
  }

  slice(from: number, end: number): Uint32Array {
    return Uint32Array.from({ length: end - from }, (_, n) => this.at(from + n))
  }
}

/** The numbers of all records by rank, over the file of the base. */
export function revisedPostings(field: RevisedField): Postings {
  const { records, values, ranks } = openChanges(field)
  const { base } = field
  const before = postingsIn(
    new FileNumbers(base.path, base.starts, base.distinct + 2),
    new FileNumbers(base.path, base.postings, base.count),
  )
  /** The written records by rank, and the ranks and new numbers of them; made when they are first wanted. */
  let written: { readonly ranks: Uint32Array; readonly numbers: Uint32Array } | undefined
  return {
    of: (from, end) => {
      const kept = records.keptOf(before.of(values.baseOf(from), baseEnd(values, end, base.distinct)))
      written ??= byRank(ranks, records.places())
      const [first, last] = [from, end].map(rank => lastUpTo(written?.ranks ?? none, rank - 1) + 1)
      return merged(kept, written.numbers.subarray(first, last))
    },
  }
}

const none = new Uint32Array()

function byRank(ranks: Uint32Array, numbers: Uint32Array) {
  const items = Uint32Array.from(ranks.keys()).sort(
    (one, other) => (ranks[one] as number) - (ranks[other] as number) || one - other,
  )
  return {
    ranks: items.map(item => ranks[item] as number),
    numbers: items.map(item => numbers[item] as number),
  }
}

/** The rank of the base at which those below `end` end; that of null is the last one. */
const baseEnd = (values: Edited, end: number, distinct: number): number =>
  end > values.length ? distinct + 1 : values.baseOf(end)

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
