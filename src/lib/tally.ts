/**
 * Memory for metrics, shared by all event loops of a process. Each loop writes to a row of its own, and any
 * loop can read all rows. Counting costs an addition, and reading waits for no loop, however busy. Each row
 * is written by a single thread and 64-bit numbers are written atomically, so no locks are needed.
 */
export interface Rows {
  /** Numbers that only grow. A loop that replaces another continues with the numbers of its predecessor. */
  readonly counters: readonly Float64Array<ArrayBufferLike>[]
  /** Numbers that go up and down. They are reset when the loop ends. */
  readonly gauges: readonly Float64Array<ArrayBufferLike>[]
  /** Index of this loop's row. */
  readonly own: number
}

/** Sizes of the rows. A service without single sign-on uses a quarter. Unused numbers take no memory. */
const counterNumbers = 16_384
const gaugeNumbers = 2_048

/** @param loops number of event loops */
export function createRows(loops = 1): Omit<Rows, 'own'> {
  const row = (numbers: number) => new Float64Array(new SharedArrayBuffer(numbers * 8))
  return {
    counters: Array.from({ length: loops }, () => row(counterNumbers)),
    gauges: Array.from({ length: loops }, () => row(gaugeNumbers)),
  }
}

export type Labels = Readonly<Record<string, string>>

/** One metric with all its series. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
}

export interface Value {
  /** The name of the metric, if it differs from that of its family. */
  readonly metricName?: string
  readonly labels: Labels
  readonly value: number
}

export interface Count {
  add(): void
}

export interface Gauge {
  set(value: number): void
  change(by: number): void
}

export interface Histogram {
  observe(seconds: number): void
}

/** The measures of a queue. */
export interface QueueMeasures {
  readonly running: Gauge
  readonly waiting: Gauge
  /** Waiting time until work began. */
  readonly waited: Histogram
  /** Work refused because the queue was full, or because its turn did not come in time. */
  readonly refused: Count
}

/** Upper bounds of a histogram's buckets in seconds; one more takes the rest. */
export const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Numbers in a histogram: the sum, the buckets, and the bucket for the rest. */
const histogramNumbers = bounds.length + 2

interface Series {
  readonly labels: Labels
  readonly at: number
  /** True if the series is shown even before anything was counted. */
  readonly always: boolean
}

/** The next free positions in a row. */
export interface Places {
  counters: number
  gauges: number
}

/**
 * Options of a metric. With `byLoop`, each loop has a series of its own with the label `worker`.
 * Otherwise, all loops are summed.
 */
interface Options {
  readonly byLoop?: boolean
}

/**
 * The metrics of a process. All loops create the same metrics in the same order, so a metric has the
 * same position in every row.
 */
export class Tally {
  readonly #rows: Rows
  readonly #families: (Family & Options & { readonly series: Series[] })[] = []
  readonly #next: Places = { counters: 0, gauges: 0 }
  readonly #postponed = new Set<() => void>()

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** Number of event loops that count. */
  get loops(): number {
    return this.#rows.counters.length
  }

  /** True if there is room for this many more counters, one gauge and one histogram. */
  hasRoom(counters: number): boolean {
    const { counters: used, gauges } = this.#next
    return used + counters + histogramNumbers <= counterNumbers && gauges + 1 <= gaugeNumbers
  }

  /**
   * Reserves room for this many counters, one gauge and one histogram. Their series are made when
   * the returned function is first called, or when metrics are read: a service has hundreds of
   * routes, of which few are used.
   * @param make makes the series at the reserved positions
   * @returns a function that makes the series on its first call and returns them
   */
  postpone<T>(counters: number, make: (places: Places) => T): () => T {
    const places = { ...this.#next }
    this.#next.counters += counters + histogramNumbers
    this.#next.gauges++
    let made: { readonly series: T } | undefined
    const makeOnce = () => {
      this.#postponed.delete(makeOnce)
      made ??= { series: make(places) }
      return made.series
    }
    this.#postponed.add(makeOnce)
    return makeOnce
  }

  counter(name: string, help: string): { with(labels: Labels, always?: boolean, places?: Places): Count } {
    const series = this.#family({ name, help, type: 'counter' })
    return {
      with: (labels, always = true, places = this.#next) => {
        const at = place(places, 1)
        series.push({ labels, at, always })
        const row = this.#ownCounters()
        return {
          add: () => {
            row[at] = (row[at] ?? 0) + 1
          },
        }
      },
    }
  }

  gauge(
    name: string,
    help: string,
    options: Options = {},
  ): { with(labels: Labels, always?: boolean, places?: Places): Gauge } {
    const series = this.#family({ name, help, type: 'gauge', ...options })
    return {
      with: (labels, always = true, places = this.#next) => {
        const at = places.gauges++
        if (at >= gaugeNumbers) throw new Error('there is no room for more gauges')
        series.push({ labels, at, always })
        const row = this.#rows.gauges[this.#rows.own] ?? new Float64Array(0)
        return {
          set: value => {
            row[at] = value
          },
          change: by => {
            row[at] = (row[at] ?? 0) + by
          },
        }
      },
    }
  }

  histogram(
    name: string,
    help: string,
    options: Options = {},
  ): { with(labels: Labels, always?: boolean, places?: Places): Histogram } {
    const series = this.#family({ name, help, type: 'histogram', ...options })
    return {
      with: (labels, always = true, places = this.#next) => {
        const at = place(places, histogramNumbers)
        series.push({ labels, at, always })
        const row = this.#ownCounters()
        return {
          observe: seconds => {
            row[at] = (row[at] ?? 0) + seconds
            let bucket = 0
            while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket++
            const place = at + 1 + bucket
            row[place] = (row[place] ?? 0) + 1
          },
        }
      },
    }
  }

  /**
   * Returns the values that one loop has counted. A series that has counted nothing is left out,
   * unless it is always shown.
   */
  read(loop: number): (Family & { readonly values: readonly Value[] })[] {
    for (const make of this.#postponed) make()
    const counters = this.#rows.counters[loop] ?? new Float64Array(0)
    const gauges = this.#rows.gauges[loop] ?? new Float64Array(0)
    return this.#families.map(({ name, help, type, byLoop, series }) => ({
      name,
      help,
      type,
      values: series.flatMap(({ labels: given, at, always }) => {
        const labels = byLoop === true ? { worker: String(loop), ...given } : given
        if (type === 'histogram') {
          const values = histogramValues(name, labels, counters.subarray(at, at + histogramNumbers))
          return always || values.at(-1)?.value !== 0 ? values : []
        }
        const value = (type === 'counter' ? counters : gauges)[at] ?? 0
        return always || value !== 0 ? [{ labels, value }] : []
      }),
    }))
  }

  #family(family: Family & Options): Series[] {
    const series: Series[] = []
    this.#families.push({ ...family, series })
    return series
  }

  #ownCounters = () => this.#rows.counters[this.#rows.own] ?? new Float64Array(0)
}

function place(places: Places, numbers: number): number {
  const at = places.counters
  places.counters += numbers
  if (places.counters > counterNumbers) throw new Error('there is no room for more counters')
  return at
}

/**
 * Returns the values of a histogram. A bucket counts all observations up to its bound
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */
function histogramValues(name: string, labels: Labels, [sum = 0, ...counts]: Float64Array): Value[] {
  let count = 0
  const buckets = [...bounds.map(String), '+Inf'].map((le, bucket) => {
    count += counts[bucket] ?? 0
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
