/** JSON without loss: what a number of JavaScript can't hold keeps all its digits. */
const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => unknown }

/** Browsers before 2025 can't say how a number was written: there, it is the nearest one. */
export const canBeExact: boolean = rawJSON !== undefined

/** Integers that a number can't hold are BigInt; other numbers that it can't hold stay as they were written, as text. */
export const readExactly = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined || isExact(value, source)) return value
    return /^-?\d+$/.test(source) ? BigInt(source) : source
  })

const isExact = (value: number, source: string) =>
  String(value) === source || (source.length < 16 && !/[eE]/.test(source))

/** The same backwards. */
export const printExactly = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (_name, one: unknown) => (typeof one === 'bigint' && rawJSON ? rawJSON(String(one)) : one),
    indent,
  )
