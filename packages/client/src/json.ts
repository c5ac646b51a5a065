/**
 * A member of JSON that engines have had since 2023 but TypeScript's library lacks (ECMAScript 2026,
 * JSON.parse source text access).
 */
interface ExactJSON {
  rawJSON?: (text: string) => unknown
}

const { rawJSON } = JSON as ExactJSON

/** True if the engine can read and write integers that a number can't hold. */
export const canBeExact: boolean = rawJSON !== undefined

/** Prints JSON with each BigInt as an integer. @throws TypeError for a BigInt if the engine can't do so */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_name, one: unknown) =>
    typeof one === 'bigint' && rawJSON ? rawJSON(String(one)) : one,
  )

/** Parses JSON. Integers beyond Number.MAX_SAFE_INTEGER become BigInt, all other numbers numbers. */
export const exactly = (text: string): unknown =>
  // Most texts contain no such integer. Without a function called for each value, parsing is several times
  // faster.
  /\d{16}/.test(text)
    ? JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) =>
        typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
          ? BigInt(context?.source ?? 0)
          : value,
      )
    : JSON.parse(text)
