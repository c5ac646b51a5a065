/** What people type, as part of what is sent to a directory. */

/**
 * Whether this can be somebody's name. A directory ignores cases, spaces at the ends, and what Unicode holds to be the same
 * (RFC 4518); with one spelling only, guesses at an account are counted together (L8). NUL ends a text in some servers.
 */
export const isName = (text: string): boolean =>
  text.length <= longest &&
  text.normalize('NFKC') === text &&
  /^[^\p{C}\p{Z}\uFFFD]+( [^\p{C}\p{Z}\uFFFD]+)*$/u.test(text)

const longest = 256

/** As a value in a filter (RFC 4515 §3). */
export const escapeInFilter = (text: string): string => text.replaceAll(/[\0()*\\]/g, hexPair)

/** As a value in a DN (RFC 4514 §2.4). */
export const escapeInDn = (text: string): string => text.replaceAll(/[\0"#+,;<=>\\]|^ | $/g, hexPair)

const hexPair = (character: string) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`

/**
 * A password as text, as it is sent. RFC 4513 §5.1.2: without one, a server answers everybody that all is well. A server
 * that is written in C may take one that begins with NUL for none.
 * @returns undefined if it can't be right
 */
export function passwordText(password: Uint8Array): string | undefined {
  const text = Buffer.from(password).toString()
  const isText = Buffer.from(text).equals(password)
  return text === '' || text.includes('\0') || !isText ? undefined : text
}
