/**
 * Whether a password is among the 49,000 most common ones, in upper or lower case. The list takes 4 MB of memory, so it is
 * loaded when the first password is set; most workers never need it.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return dictionary['passwords-common'].includes(password.toLowerCase())
}
