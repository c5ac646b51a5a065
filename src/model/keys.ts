import { type Mac, macWith } from '../lib/hmac.ts'

/**
 * Returns the secrets of the service, newest first. New tokens are signed with the first; tokens signed with
 * any of them are accepted (T7).
 */
export type Keyring = () => readonly Uint8Array[]

/**
 * @param configured CARREL_TOKEN_SECRET, newest first
 * @param kept the store's own secrets, used if none is configured
 */
export function keyringOf(configured: readonly string[], kept: Keyring): Keyring {
  const secrets = configured.map(secret => Buffer.from(secret))
  return secrets.length > 0 ? () => secrets : kept
}

type Purpose =
  | 'challenge'
  | 'csrf'
  | 'factor'
  | 'field'
  | 'sign-on'
  | 'snapshot'
  | 'throttle'
  | 'trail'
  | `${'acting/' | ''}${TokenPurpose}/${string}`

/** The use that a token is limited to: the API, one request, or one file for some minutes (F3). */
export type TokenPurpose = 'login' | 'short-lived' | `lease/${string}`

/**
 * Derives a separate key for each purpose (T5), so that a token made for one purpose is never valid for
 * another. It uses HMAC-SHA256 as the key derivation function (NIST SP 800-108, a single step).
 * @param material a further value that the key depends on, such as the session key of an eperson
 */
export const deriveKey = (secret: Uint8Array, purpose: Purpose, material: Uint8Array): Mac =>
  macWith(macWith(secret)(Buffer.concat([Buffer.from(`carrel/1/${purpose}/`), material])))
