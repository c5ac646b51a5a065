/** What engines since 2023 have, and TypeScript's library doesn't know yet (ECMAScript 2026, JSON.parse source text access). */
interface ExactJSON {
  rawJSON?: (text: string) => unknown
}

const { rawJSON } = JSON as ExactJSON

/** Whether integers can be read and written that a number doesn't hold. */
export const canBeExact: boolean = rawJSON !== undefined

/** JSON with each BigInt as the integer that it is. @throws TypeError for one where the engine can't */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_name, one: unknown) =>
    typeof one === 'bigint' && rawJSON ? rawJSON(String(one)) : one,
  )

/** The same backwards: integers beyond Number.MAX_SAFE_INTEGER are BigInt, and all other numbers are numbers. */
export const exactly = (text: string): unknown =>
  // Most texts have no such number, and are read several times faster without a function for each value.
  /\d{16}/.test(text)
    ? JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) =>
        typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
          ? BigInt(context?.source ?? 0)
          : value,
      )
    : JSON.parse(text)
