/** The form of a uuid in lower case (RFC 9562 §4), for patterns that have one in them. */
export const uuidPattern = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

const whole = new RegExp(`^${uuidPattern}$`)

/** @returns the uuid as stores have it; undefined for a text that is none, with which no store is bothered */
export function readUuid(text: string): string | undefined {
  const uuid = text.toLowerCase()
  return whole.test(uuid) ? uuid : undefined
}
