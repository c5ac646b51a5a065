/** A setting (D3): what it takes, its default, and how it is parsed. */
export interface Setting<T> {
  readonly takes: string
  /** The default, as the documentation shows it; `null`: not set. */
  readonly fallback: string | null
  readonly read: (text: string) => T | undefined
}

export const setting = <T>(
  takes: string,
  fallback: string | null,
  read: (text: string) => T | undefined,
): Setting<T> => ({ takes, fallback, read })

export const wholeNumber = (min: number, max: number) => (text: string) => {
  const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : undefined
}
