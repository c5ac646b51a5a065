import { type Profile, SAML } from '@node-saml/node-saml'
import { getVerifiedXml } from '@node-saml/node-saml/lib/xml.js'
import { Refused } from './protocol.ts'

export { type SamlConfig as LibraryOptions, ValidateInResponseTo } from '@node-saml/node-saml'

/** The one file that knows the SAML library. */
export class Library extends SAML {
  /** Reads an assertion whose signature was checked, and checks its validity and audience. */
  async read(signedAssertion: string): Promise<Profile> {
    return (await this.processValidlySignedAssertionAsync(signedAssertion, '', null)).profile
  }
}

/**
 * Verifies the signature of an element: exactly one signature, by one of the certificates, with one reference to exactly
 * that element.
 * @returns the content that the signature was made over; null where none of the certificates made it
 */
export const verifiedContent = (
  xml: string,
  element: Element,
  certificates: readonly string[],
): string | null => getVerifiedXml(xml, element, [...certificates])

/** The library's messages that may be logged: beginnings that quote nothing of the SAML message. */
const speakable =
  /^(Invalid signature|Too many signatures|SAML assertion (not yet valid|expired|has no AudienceRestriction|AudienceRestriction has no|audience mismatch)|Unable to process multiple conditions)[^.:(\n]*/

/** Turns any error of a library into a refusal of the message. */
export async function understood<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refused) throw error
    const message = error instanceof Error ? error.message : ''
    throw new Refused(speakable.exec(message)?.[0] ?? 'it cannot be read or decrypted')
  }
}
