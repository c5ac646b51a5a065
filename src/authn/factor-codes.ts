import { createHmac, hash, randomBytes } from 'node:crypto'
import { sameText } from '../lib/hmac.ts'
import { stepLength } from '../model/factors.ts'

/** Codes that are typed: TOTP (RFC 6238) and recovery codes. */

/** Number of digits of a code. Apps know no other, and no other hash than SHA-1. */
const digits = 6

/** 160 bits (RFC 4226 §4, R6). */
export const newTotpSecret = (): Uint8Array => randomBytes(20)

/** Returns the secret in base 32 (RFC 4648 §6) for typing into an app, and the otpauth URI for a QR code. */
export function totpForApp(bytes: Uint8Array, issuer: string, label: string) {
  const secret = base32(bytes)
  const parameters = Object.entries({
    issuer,
    secret,
    algorithm: 'SHA1',
    digits,
    period: stepLength / 1000,
  }).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return {
    secret,
    uri: `otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(label)}?${parameters.join('&')}`,
  }
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function base32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, byte => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map(five => letters[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

/** The code of a time step (RFC 4226 §5.3). */
function codeAt(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const truncated = mac.readUInt32BE((mac.at(-1) ?? 0) & 0xf) & 0x7fffffff
  return String(truncated % 10 ** digits).padStart(digits, '0')
}

/**
 * Returns a code as it was shown, whatever stands between its letters and digits: people type spaces, hyphens, capitals and
 * wide digits, and apps copy what they show.
 */
const plain = (typed: string): string =>
  typed
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')

/**
 * Finds the time step of a code, one to either side of the present (RFC 6238 §5.2). All three are computed and compared in
 * any case.
 * @param now milliseconds since 1970
 */
export function stepOf(bytes: Uint8Array, typed: string, now: number): number | undefined {
  const code = plain(typed)
  const present = Math.floor(now / stepLength)
  return [present, present - 1, present + 1].filter(counter => sameText(codeAt(bytes, counter), code))[0]
}

/** Letters and digits of recovery codes, without those that are easily misread. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz023456789'
const codeLength = 16
const numberOfCodes = 10

/**
 * Recovery codes of 80 bits: too many to guess, here or from the hashes in a stolen store, so a fast hash is enough. Earlier
 * ones have 120 bits.
 */
export function newRecoveryCodes(eperson: string) {
  const codes = Array.from({ length: numberOfCodes }, () =>
    Array.from(randomBytes(codeLength), byte => alphabet[byte % alphabet.length]).join(''),
  )
  return {
    shown: codes.map(code => code.replaceAll(/(.{4})(?=.)/g, '$1-')),
    hashes: codes.map(code => hashOfRecoveryCode(eperson, code)),
  }
}

/** The hash under which a code is stored. @param typed with O for 0, too */
export const hashOfRecoveryCode = (eperson: string, typed: string): string =>
  hash('sha256', `${eperson}\n${plain(typed).replaceAll('o', '0')}`, 'base64url')
