import { hash, randomBytes } from 'node:crypto'
import { HOTP, Secret, TOTP } from 'otpauth'
import { sameText } from '../lib/hmac.ts'
import { stepLength } from '../model/factors.ts'

/** Codes that are typed: TOTP (RFC 6238) and recovery codes. */

const usual = { algorithm: 'SHA1', digits: 6 } as const

/** 160 bits (RFC 4226 §4, R6). */
export const newTotpSecret = (): Uint8Array => randomBytes(20)

/** What an app takes in: the secret in base 32, and the address that a QR code holds. */
export function totpForApp(bytes: Uint8Array, issuer: string, label: string) {
  const secret = new Secret({ buffer: new Uint8Array(bytes).buffer })
  return {
    secret: secret.base32,
    uri: new TOTP({ ...usual, period: stepLength / 1000, secret, issuer, label }).toString(),
  }
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
  const secret = new Secret({ buffer: new Uint8Array(bytes).buffer })
  const present = Math.floor(now / stepLength)
  return [present, present - 1, present + 1].filter(counter =>
    sameText(HOTP.generate({ ...usual, secret, counter }), code),
  )[0]
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
