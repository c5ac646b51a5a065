import { emailKey } from '../model/accounts.ts'

/**
 * The rules for a new password (L10), however it is set: NIST SP 800-63B, section 3.1.1.2. Kinds of
 * characters are not prescribed. Characters are code points, so that all scripts are equal.
 */
const minCharacters = 8
const maxCharacters = 4_096
/**
 * Maximum length in bytes. In a form, a byte takes up to three, and a login's body must still hold the
 * password (L7).
 */
const maxBytes = 5_000

/**
 * Checks a new password against the rules.
 * @param email the email address of the password's owner
 * @returns the fault, as the end of a sentence that begins with `The password`; undefined if there is none
 */
export async function passwordFault(password: Uint8Array, email: string): Promise<string | undefined> {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(password)
  const { length } = [...text]
  if (length < minCharacters) return `must have at least ${minCharacters} characters`
  if (length > maxCharacters || password.length > maxBytes)
    return `must have at most ${maxCharacters.toLocaleString('en')} characters, and ${maxBytes.toLocaleString('en')} bytes in UTF-8`
  const [name] = emailKey(email).split(/@(?=[^@]*$)/)
  if ([emailKey(email), name].includes(text.toLowerCase()))
    return 'must not be the email address, or the part of it before the @'
  if (await isCommonPassword(text)) return 'is one of the most common ones, which are guessed first'
  return undefined
}

/**
 * True if a password is among the 49,000 most common ones, in upper or lower case. The list takes 4 MB of
 * memory, so it is loaded when the first password is set; most workers never need it.
 */
async function isCommonPassword(password: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return dictionary['passwords-common'].includes(password.toLowerCase())
}
