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
