import { createHmac, timingSafeEqual } from 'node:crypto'

/** The secrets of the service: newest first, made with the first, accepted with any (T7). */
export type Keyring = () => readonly Uint8Array[]

export type Purpose = 'csrf' | `login/${string}` | `short-lived/${string}`

/**
 * Keys for different purposes are different (T5): HMAC-SHA256 as a key derivation function (NIST SP 800-108 in one
 * step), so that what was made for one purpose can't pass for another.
 * @param material what else the key depends on, such as the session key of an eperson
 */
export const deriveKey = (secret: Uint8Array, purpose: Purpose, material: Uint8Array): Buffer =>
  createHmac('sha256', secret).update(`carrel/1/${purpose}/`).update(material).digest()

/** Compares in a time that doesn't depend on where two texts differ. */
export function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
