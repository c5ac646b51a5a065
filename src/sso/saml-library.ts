import { type Profile, SAML } from '@node-saml/node-saml'
import { getVerifiedXml, signXml } from '@node-saml/node-saml/lib/xml.js'
import { Refused } from './protocol.ts'

/** The one file that knows the SAML library. */
export {
  SAML as Library,
  type SamlConfig as LibraryOptions,
  ValidateInResponseTo,
} from '@node-saml/node-saml'

class Reader extends SAML {
  async read(signedAssertion: string): Promise<Profile> {
    return (await this.processValidlySignedAssertionAsync(signedAssertion, '', null)).profile
  }
}

/** The content of an assertion, as data that can go to another thread. */
export interface ReadAssertion {
  readonly profile: {
    readonly nameID?: string | undefined
    readonly nameIDFormat?: string | undefined
    readonly nameQualifier?: string | undefined
    readonly spNameQualifier?: string | undefined
    readonly sessionIndex?: string | undefined
  }
  /** The elements of the assertion. */
  readonly assertion: unknown
}

/** Reads an assertion whose signature was checked, and checks its audience; `confirm` checks its time. */
export async function readAssertion(
  signedAssertion: string,
  certificates: readonly string[],
  audience: string,
): Promise<ReadAssertion> {
  const reader = new Reader({
    idpCert: [...certificates],
    issuer: audience,
    audience,
    callbackUrl: audience,
    acceptedClockSkewMs: -1,
  })
  const { nameID, nameIDFormat, nameQualifier, spNameQualifier, sessionIndex, ...more } =
    await reader.read(signedAssertion)
  return {
    profile: { nameID, nameIDFormat, nameQualifier, spNameQualifier, sessionIndex },
    assertion: more.getAssertion?.().Assertion,
  }
}

/** @returns the message with a signature of its outermost element, after its issuer (SAML Core §5.4) */
export const signedMessage = (xml: string, privateKey: string): string =>
  signXml(
    xml,
    '/*',
    { reference: "/*/*[local-name(.)='Issuer']", action: 'after' },
    { privateKey, signatureAlgorithm: 'sha256', digestAlgorithm: 'sha256' },
  )

/**
 * Verifies the signature of an element: exactly one signature, by one of the certificates, with one reference
 * to exactly that element.
 * @returns the content that was signed; null if none of the certificates signed it
 */
export const verifiedContent = (
  xml: string,
  element: Element,
  certificates: readonly string[],
): string | null => getVerifiedXml(xml, element, [...certificates])

/** Beginnings of the library's messages that may be logged: they quote nothing of the SAML message. */
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
