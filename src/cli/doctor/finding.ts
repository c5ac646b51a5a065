import type { Config } from '../../config/config.ts'
import { quantity } from '../../lib/quantities.ts'
import type { StoreFacts } from '../../storage/inspection.ts'
import type { FolderFacts } from './folder-facts.ts'

/** The result of a check of one subject. It never holds a secret. */
export interface Finding {
  /**
   * `ok`: looked at and right. `note`: may be meant so. `warning`: works, and is a risk. `error`: something
   * that Carrel promises doesn't hold.
   */
  readonly level: (typeof levels)[number]
  /** The subject, in a word or two: `proxy`, `secret`, a provider's id. */
  readonly about: string
  readonly what: string
  /** Advice on what to do; null if there is nothing to do. */
  readonly advice: string | null
}

/** Levels from the best to the worst. */
export const levels = ['ok', 'note', 'warning', 'error'] as const

/** Makes the findings about one subject. */
export const findingsAbout = (about: string) => ({
  ok: (what: string): Finding => ({ level: 'ok', about, what, advice: null }),
  note: (what: string, advice: string | null = null): Finding => ({ level: 'note', about, what, advice }),
  warning: (what: string, advice: string): Finding => ({ level: 'warning', about, what, advice }),
  error: (what: string, advice: string): Finding => ({ level: 'error', about, what, advice }),
})

/** True if an operator should act soon; the exit code of `carrel doctor` says so. */
export const isTrouble = ({ level }: Finding): boolean => level === 'warning' || level === 'error'

/** Everything that checks look at. It is gathered first, so that a check is a pure function. */
export interface Facts {
  readonly config: Config
  readonly machine: {
    readonly processors: number
    /** Bytes that the process may use. */
    readonly memory: number
  }
  /** Time in ms since 1970. */
  readonly now: number
  /**
   * The path that CARREL_CONFIG names and whether every user of the machine may write to it; null if it names
   * none.
   */
  readonly configFile: { readonly path: string; readonly isWritable: boolean } | null
  /** The folders that exist. */
  readonly folders: readonly FolderFacts[]
  /** Facts of the store; null if it can't be read, which is a finding by itself. */
  readonly store: StoreFacts | null
}

/** Checks one subject. It makes at least the finding that all is right, or none if it doesn't apply. */
export type Check = (facts: Facts) => Iterable<Finding>

/** Length of a day in ms. */
export const day = 24 * 3_600_000

/**
 * Writes a duration such as `12 hours`, `1.5 hours`, `90 seconds`: in the largest unit of which there are at
 * least two, or in seconds.
 */
export function duration(seconds: number): string {
  const units = [
    [24 * 3_600, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const
  const [size, unit] = units.find(([one]) => seconds >= 2 * one) ?? [1, 'second']
  return quantity(Number((seconds / size).toFixed(1)), unit)
}

/** Writes the time since an event. @param age in ms; below 0 counts as now */
export function ago(age: number): string {
  const days = Math.floor(age / day)
  return `${days < 1 ? 'less than a day' : quantity(days, 'day')} ago`
}
