import type { Duration, FiguresNow } from './system.ts'

type Taken = readonly FiguresNow[]

/** How fast a counter rises, between each two looks at it. A service that was restarted counts from zero. */
const rates = (taken: Taken, count: (figures: FiguresNow) => number, per = 1): readonly (number | null)[] =>
  taken.map((now, at) => {
    const before = taken[at - 1]
    if (!before) return null
    const seconds = (Date.parse(now.time) - Date.parse(before.time)) / 1000
    const rise = count(now) - count(before)
    return rise < 0 || seconds <= 0 ? null : (rise * per) / seconds
  })

/** The mean of what was measured between two looks, in ms; null: nothing was. */
const mean = (taken: Taken, of: (figures: FiguresNow) => Duration): readonly (number | null)[] =>
  taken.map((now, at) => {
    const before = taken[at - 1]
    if (!before) return null
    const [one, other] = [of(before), of(now)]
    const count = other.count - one.count
    return count <= 0 ? null : ((other.sum - one.sum) * 1000) / count
  })

export const since: typeof rates & { readonly mean: typeof mean } = Object.assign(rates, { mean })
