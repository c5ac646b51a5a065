import { constants, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { ExclusiveCanonicalization } from 'xml-crypto'
import { decrypt } from 'xml-encryption'
import { Refused } from './protocol.ts'
import { verifiedContent } from './saml-library.ts'
import { all, children, namespaces, parse, refuseUnsound, serialize } from './saml-xml.ts'

export interface Keys {
  /** The provider's certificates, in PEM; one of them must have signed. */
  readonly certificates: readonly string[]
  /** Carrel's own private key, in PEM. */
  readonly privateKey: string | null
}

/**
 * Finds the one assertion in a Response that the provider has signed, by itself or as part of the whole.
 * Returns the content that the signature was verified over, never the content at the same place in the
 * document, on which signature wrapping relies.
 *
 * The library's own decryption doesn't know today's key transports (RSA-OAEP with SHA-256) and checks nothing
 * inside an encrypted assertion. Only its verification of signatures is used.
 * @param xml checked by `readHead`
 * @throws Refused, or any error of the libraries
 */
export async function openResponse(xml: string, keys: Keys): Promise<string> {
  const root = parse(xml)
  const whole = signedContent(xml, root, keys)
  const trusted = whole === undefined ? root : parse(whole)
  const plain = children(trusted, namespaces.assertion, 'Assertion')
  const encrypted = children(trusted, namespaces.assertion, 'EncryptedAssertion')
  const [assertion, ...more] = [...plain, ...encrypted]
  if (!assertion) throw new Refused('no assertion')
  if (more.length > 0) throw new Refused('several assertions')
  if (assertion.localName === 'Assertion')
    return withSecrets(whole === undefined ? mustBeSigned(xml, assertion, keys) : serialize(assertion), keys)

  const opened = await decryptIn(assertion, keys, whole !== undefined)
  const inside = parse(opened)
  if (inside.localName !== 'Assertion' || inside.namespaceURI !== namespaces.assertion)
    throw new Refused('the encrypted content is not an assertion')
  return withSecrets(whole === undefined ? mustBeSigned(opened, inside, keys) : opened, keys)
}

/** Maximum number of encrypted attributes: decrypting each takes an operation with the private key. */
const maxEncrypted = 50

/**
 * Decrypts the subject's name and attributes in place (SAML Core §2.2.4, §2.7.3.2): the library wouldn't see them.
 * @param assertion whose signature was verified, so that it covers the encrypted parts
 */
async function withSecrets(assertion: string, keys: Keys): Promise<string> {
  const root = parse(assertion)
  const inside = (parent: string, name: string) =>
    children(root, namespaces.assertion, parent).flatMap(one => children(one, namespaces.assertion, name))
  const names = inside('Subject', 'EncryptedID')
  const attributes = inside('AttributeStatement', 'EncryptedAttribute')
  if (names.length + attributes.length === 0) return assertion
  if (names.length > 1) throw new Refused('several encrypted names of the subject')
  if (attributes.length > maxEncrypted) throw new Refused(`more than ${maxEncrypted} encrypted attributes`)
  for (const [secrets, name] of [
    [names, 'NameID'],
    [attributes, 'Attribute'],
  ] as const)
    for (const one of secrets) one.parentNode?.replaceChild(await secretIn(one, name, keys), one)
  return serialize(root)
}

/** @returns the content of an encrypted element that a signature covers @throws Refused if it has another name */
export async function secretIn(encrypted: Element, name: string, keys: Keys): Promise<Element> {
  const secret = parse(await decryptIn(encrypted, keys, true))
  if (secret.localName !== name || secret.namespaceURI !== namespaces.assertion)
    throw new Refused(`what is in its ${encrypted.localName} is no ${name}`)
  return secret
}

/**
 * @returns the signed content; undefined if the element has no signature of its own @throws Refused if the
 *   signature is wrong
 */
function signedContent(xml: string, element: Element, { certificates }: Keys): string | undefined {
  const [signature] = children(element, namespaces.signature, 'Signature')
  if (!signature) return undefined
  const signers = signersOf(signature, certificates)
  const content = signers.length === 0 ? null : verifiedContent(xml, element, signers)
  if (content === null) throw new Refused('the signature matches none of the provider’s certificates')
  return content
}

/** @returns the content that the element's own signature covers @throws Refused if there is none */
export function mustBeSigned(xml: string, element: Element, keys: Keys): string {
  const content = signedContent(xml, element, keys)
  if (content === undefined) throw new Refused('no signature')
  return content
}

const decryptWith = promisify(decrypt)

/**
 * Returns the content of an EncryptedAssertion or EncryptedID.
 * @param isSigned true if the signature of an element around it covers it
 * @throws Refused, or the library's error
 */
async function decryptIn(encrypted: Element, { privateKey }: Keys, isSigned: boolean): Promise<string> {
  if (privateKey === null) throw new Refused('it is encrypted, and saml.privateKey is not set')
  // Without integrity, blocks can be changed unnoticed, and Carrel's responses would reveal their content to
  // an attacker.
  const byBlocks = all(encrypted, '*', 'EncryptionMethod').some(one =>
    one.getAttribute('Algorithm')?.endsWith('-cbc'),
  )
  if (byBlocks && !isSigned) throw new Refused('CBC encryption in a message that is not signed as a whole')
  const opened = await decryptWith(serialize(encrypted), {
    key: privateKey,
    // The algorithms were checked above, and by `refuseUnsound` for the whole message.
    disallowDecryptionWithInsecureAlgorithm: !byBlocks,
    warnInsecureAlgorithm: false,
  })
  refuseUnsound(opened)
  return opened
}

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
/** Maximum number of elements: a SignedInfo with everything that exclusive canonicalization may need has 12. */
const maxElements = 20

/**
 * Finds the certificates that have signed SignedInfo, which is small. The library begins with the digest of the whole
 * message, once for each certificate: a sender who has signed nothing would make it do most of its work.
 * @returns the certificates with which the rest of the verification is worthwhile
 * @throws Refused for a signature that no certificate can have made
 */
function signersOf(signature: Element, certificates: readonly string[]): readonly string[] {
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
