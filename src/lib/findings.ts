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
  /** The kind of finding, for programs; `what` and `advice` say it with the values in English. */
  readonly code: string
  /** Values by name. The name of a quantity ends with its unit, as in `freeBytes`. */
  readonly values: Values
}

type Values = Readonly<Record<string, string | number | null | readonly string[]>>

/** Levels from the best to the worst. */
export const levels = ['ok', 'note', 'warning', 'error'] as const

/** Words of a finding: what was found, and what to do if that is not right. */
export type Said = string | readonly [what: string, advice: string]

/** The words of findings by their codes. */
type WordsByCode<Code extends string> = { readonly [C in Code]: (values: never) => Said }

/** Makes findings of codes and values, in the words of a table. A finding that is ok has no advice. */
export const findingsIn =
  <Code extends string, Words extends WordsByCode<Code>>(words: Words & WordsByCode<Code>) =>
  (about: string) => {
    const make =
      (level: Finding['level']) =>
      <C extends keyof Words & string>(code: C, ...[values]: Parameters<Words[C]>): Finding => {
        const said = words[code](values as never)
        const [what, advice] = typeof said === 'string' ? [said, null] : said
        return { level, about, what, advice: level === 'ok' ? null : advice, code, values: values ?? {} }
      }
    return { ok: make('ok'), note: make('note'), warning: make('warning'), error: make('error') }
  }
