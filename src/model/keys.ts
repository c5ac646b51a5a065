import { type Mac, macWith } from '../lib/hmac.ts'

/** The secrets of the service: newest first, made with the first, accepted with any (T7). */
export type Keyring = () => readonly Uint8Array[]

export type Purpose = 'csrf' | 'sign-on' | `${'acting/' | ''}${TokenPurpose}/${string}`

/** What a token opens: the API, one request, or one content for some minutes (F3). */
export type TokenPurpose = 'login' | 'short-lived' | `lease/${string}`

/**
 * Keys for different purposes are different (T5): HMAC-SHA256 as a key derivation function (NIST SP 800-108 in one
 * step), so that what was made for one purpose can't pass for another.
 * @param material what else the key depends on, such as the session key of an eperson
 */
export const deriveKey = (secret: Uint8Array, purpose: Purpose, material: Uint8Array): Mac =>
  macWith(macWith(secret)(Buffer.concat([Buffer.from(`carrel/1/${purpose}/`), material])))
