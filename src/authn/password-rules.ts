import { emailKey } from '../model/accounts.ts'
import { isCommonPassword } from './common-passwords.ts'

/**
 * The rules for a new password (L10), whichever way it is set: NIST SP 800-63B, section 3.1.1.2. Kinds of characters are
 * not prescribed. Characters are code points: all scripts are equal.
 */
const minCharacters = 8
const maxCharacters = 4_096
/** As a form, in which a byte takes up to three, it must still fit into the body of a login (L7). */
const maxBytes = 5_000

/**
 * @param email of the eperson whose password it is to be
 * @returns what is wrong with it, as the end of a sentence that begins with `The password`; undefined: nothing
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
