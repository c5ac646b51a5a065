/** A setting (D3): what it takes, its default, and how it is parsed. */
export interface Setting<T> {
  readonly takes: string
  /** The default, as the documentation shows it; null if the setting has none. */
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
export const decimal = (min: number, max: number) => (text: string) => {
  const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : undefined
}
export const oneOf =
  <const T extends string>(...legal: T[]) =>
  (text: string) =>
    legal.find(one => one === text)
export const list = (text: string) =>
  text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
export const listOf = (legal: (part: string) => boolean) => (text: string) => {
  const parts = list(text)
  return parts.every(legal) ? parts : undefined
}
export const httpUrl = (text: string) => {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) return undefined
  return text.replace(/\/+$/, '')
}
export const isOrigin = (text: string) => URL.parse(text)?.origin === text && /^https?:/.test(text)
export const isMetadataField = (text: string) => /^[\w-]+(\.[\w-]+){1,2}$/.test(text)
export const headerName = (text: string) => (/^[A-Za-z0-9-]{1,64}$/.test(text) ? text : undefined)
export const postgresUrl = (text: string) => {
  const url = URL.parse(text)
  return url && /^postgres(ql)?:$/.test(url.protocol) ? text : undefined
}
export const textOf = (text: string) => text
