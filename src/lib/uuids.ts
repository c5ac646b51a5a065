/** Pattern of a UUID in lower case (RFC 9562 §4), for use inside other patterns. */
export const uuidPattern = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

const whole = new RegExp(`^${uuidPattern}$`)

/**
 * @returns the UUID in lower case, as stores keep it; undefined if `text` is not a UUID, so that
 * the store need not be asked
 */
export function readUuid(text: string): string | undefined {
  const uuid = text.toLowerCase()
  return whole.test(uuid) ? uuid : undefined
}
