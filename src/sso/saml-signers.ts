import { constants, verify } from 'node:crypto'
import { ExclusiveCanonicalization } from 'xml-crypto'
import { Refused } from './protocol.ts'
import { all, children, namespaces } from './saml-xml.ts'

/** A signature algorithm in the terms of `crypto.verify`. */
interface Algorithm {
  readonly digest: string
  readonly padding: number
}

const algorithms: Readonly<Record<string, Algorithm>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': {
    digest: 'sha256',
    padding: constants.RSA_PKCS1_PADDING,
  },
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': {
    digest: 'sha512',
    padding: constants.RSA_PKCS1_PADDING,
  },
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1': {
    digest: 'sha256',
    padding: constants.RSA_PKCS1_PSS_PADDING,
  },
}
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'
/**
 * Maximum number of elements: a SignedInfo with everything that exclusive canonicalization may need has 12.
 */
const maxElements = 20

/**
 * Finds the certificates that have signed SignedInfo, which is small. The library begins with the digest of
 * the whole message, once for each certificate: a sender who has signed nothing would make it do most of its
 * work.
 * @returns the certificates with which the rest of the verification is worthwhile
 * @throws Refused for a signature that no certificate can have made
 */
export function signersOf(signature: Element, certificates: readonly string[]): readonly string[] {
  const [signedInfo, ...more] = children(signature, namespaces.signature, 'SignedInfo')
  const [value] = children(signature, namespaces.signature, 'SignatureValue')
  if (!signedInfo || more.length > 0 || !value) throw new Refused('the signature is not well-formed')
  if (all(signedInfo, '*', '*').length > maxElements) throw new Refused('the signature has too many elements')
  const used = (name: string) =>
    children(signedInfo, namespaces.signature, name)[0]?.getAttribute('Algorithm') ?? ''
  if (used('CanonicalizationMethod') !== exclusive)
    throw new Refused('the signature does not use exclusive canonicalisation')
  const method = used('SignatureMethod')
  const algorithm = Object.hasOwn(algorithms, method) ? algorithms[method] : undefined
  if (!algorithm) throw new Refused('the algorithm of the signature is not accepted')
  const octets = Buffer.from(new ExclusiveCanonicalization().process(signedInfo, {}))
  const given = Buffer.from(value.textContent ?? '', 'base64')
  const { digest, padding } = algorithm
  return certificates.filter(key =>
    verify(digest, octets, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }, given),
  )
}
