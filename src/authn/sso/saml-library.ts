import { type Profile, SAML } from '@node-saml/node-saml'
import { getVerifiedXml } from '@node-saml/node-saml/lib/xml.js'

export { type SamlConfig as LibraryOptions, ValidateInResponseTo } from '@node-saml/node-saml'

/** The one file that knows the SAML library. */
export class Library extends SAML {
  /** Reads an assertion whose signature was checked, and checks its validity and audience. */
  async read(signedAssertion: string): Promise<Profile> {
    return (await this.processValidlySignedAssertionAsync(signedAssertion, '', null)).profile
  }
}

/**
 * Checks the signature that an element has on itself: one reference, to that element and to no other, one signature, by
 * one of the certificates.
 * @returns the content that the signature was made over; null where none of the certificates made it
 */
export const verifiedContent = (
  xml: string,
  element: Element,
  certificates: readonly string[],
): string | null => getVerifiedXml(xml, element, [...certificates])
