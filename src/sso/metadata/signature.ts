import { createHash, type Hash, verify, X509Certificate } from 'node:crypto'
import { canonicalText, writeCanonical } from '../../lib/canonical-xml.ts'
import {
  attributeOf,
  childrenOf,
  keepNode,
  textOf,
  type XmlElement,
  type XmlHandler,
  type XmlNode,
} from '../../lib/xml-stream.ts'

/**
 * Checks the signature of metadata while it is read (SAML Metadata §3, XML Signature; docs/decisions/0030):
 * `next` gets exactly what is hashed. The signature must be the first element in the root, and refer to the
 * root.
 */
interface VerifiedReading extends XmlHandler {
  /** Call it after the last element. @throws Error if the content isn't what was signed */
  end(): void
}

const dsig = 'http://www.w3.org/2000/09/xmldsig#'
const more = 'http://www.w3.org/2001/04/xmldsig-more#'
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'
const enveloped = `${dsig}enveloped-signature`

/** Accepted digests. SHA-1 isn't one of them: two documents with the same SHA-1 digest can be made. */
const digests: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  [`${more}sha384`]: 'sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
}
const signatures: Readonly<Record<string, { readonly key: 'rsa' | 'ec'; readonly hash: string }>> =
  Object.fromEntries(
    (['rsa', 'ec'] as const).flatMap(key =>
      ['sha256', 'sha384', 'sha512'].map(hash => [
        `${more}${key === 'ec' ? 'ecdsa' : key}-${hash}`,
        { key, hash },
      ]),
    ),
  )

/** Maximum number of texts between the root and the signature, which comments may split. */
const maxBefore = 100

/** @param certificates PEM; one of their keys must have made the signature */
export function verifyWhileReading(certificates: readonly string[], next: XmlHandler): VerifiedReading {
  const keys = certificates.map(pem => new X509Certificate(pem).publicKey)
  let depth = 0
  let root: XmlElement | undefined
  /** Texts before the signature, which wait until its algorithm is known. */
  const before: string[] = []
  let inSignature: XmlHandler | undefined
  let signed: { readonly hash: Hashing; readonly digest: Buffer } | undefined

  function begin(signature: XmlNode, of: XmlElement): void {
    const { algorithm, digest, inclusive } = checkSignedInfo(signature, of, keys)
    const hash = hashing(algorithm, inclusive)
    signed = { hash, digest }
    hash.open(of)
    next.open(of)
    for (const text of before) both('text', text)
  }

  function both(what: 'open' | 'text' | 'close', given?: XmlElement | string): void {
    if (!signed) throw new Error('it is not signed: its root does not begin with a Signature')
    for (const one of [signed.hash, next])
      if (what === 'open') one.open(given as XmlElement)
      else if (what === 'text') one.text(given as string)
      else one.close()
  }

  return {
    open: element => {
      depth++
      if (inSignature) inSignature.open(element)
      else if (depth === 1) root = element
      else if (depth === 2 && element.uri === dsig && element.local === 'Signature') {
        if (signed) throw new Error('it has several signatures')
        inSignature = keepNode(element, node => {
          inSignature = undefined
          if (root) begin(node, root)
        })
      } else both('open', element)
    },
    text: text => {
      if (inSignature) inSignature.text(text)
      else if (signed || before.length === maxBefore) both('text', text)
      else before.push(text)
    },
    close: () => {
      depth--
      if (inSignature) inSignature.close()
      else both('close')
    },
    end: () => {
      if (!signed?.hash.digest().equals(signed.digest))
        throw new Error('it is not what was signed: its digest is another')
    },
  }
}

interface Hashing extends XmlHandler {
  digest(): Buffer
}

/** Number of pieces that are hashed together: many short ones take far longer than one long one. */
const pieces = 4_096

function hashing(algorithm: string, inclusive: readonly string[]): Hashing {
  const hash: Hash = createHash(algorithm)
  let parts: string[] = []
  const flush = () => {
    hash.update(parts.join(''))
    parts = []
  }
  const canonical = writeCanonical(text => {
    parts.push(text)
    if (parts.length >= pieces) flush()
  }, inclusive)
  return {
    ...canonical,
    digest: () => {
      flush()
      return hash.digest()
    },
  }
}

type PublicKey = X509Certificate['publicKey']

/**
 * Verifies the signature over SignedInfo. @returns the way the root was hashed, as one of the keys has signed
 * it
 */
function checkSignedInfo(signature: XmlNode, root: XmlElement, keys: readonly PublicKey[]) {
  const info = only(signature, 'SignedInfo')
  const value = Buffer.from(textOf(only(signature, 'SignatureValue')), 'base64')
  const canonicalization = only(info, 'CanonicalizationMethod')
  if (attributeOf(canonicalization, 'Algorithm') !== exclusive)
    throw new Error('the canonicalisation of its signature is not accepted: only the exclusive one is')
  const method = signatures[attributeOf(only(info, 'SignatureMethod'), 'Algorithm') ?? '']
  if (!method) throw new Error('the algorithm of its signature is not accepted: RSA or ECDSA with SHA-2 is')
  const around = new Map([...root.declared, ...signature.declared])
  const text = Buffer.from(canonicalText(info, prefixesOf(canonicalization), around))
  const isGood = keys.some(
    key =>
      key.asymmetricKeyType === method.key &&
      verify(method.hash, text, { key, dsaEncoding: 'ieee-p1363' }, value),
  )
  if (!isGood) throw new Error('its signature was not made with the key of a configured certificate')

  const reference = only(info, 'Reference')
  const id = attributeOf(root, 'ID') ?? ''
  if (id === '' || attributeOf(reference, 'URI') !== `#${id}`)
    throw new Error('its signature does not refer to its root')
  const [first, second, ...others] = childrenOf(only(reference, 'Transforms'), dsig, 'Transform')
  if (
    !first ||
    !second ||
    others.length > 0 ||
    attributeOf(first, 'Algorithm') !== enveloped ||
    attributeOf(second, 'Algorithm') !== exclusive
  )
    throw new Error(
      'the transforms of its signature are not accepted: enveloped and exclusive are, in this order',
    )
  const algorithm = digests[attributeOf(only(reference, 'DigestMethod'), 'Algorithm') ?? '']
  if (algorithm === undefined) throw new Error('the digest of its signature is not accepted: SHA-2 is')
  const digest = Buffer.from(textOf(only(reference, 'DigestValue')), 'base64')
  return { algorithm, digest, inclusive: prefixesOf(second) }
}

function only(parent: XmlNode, local: string): XmlNode {
  const [one, ...others] = childrenOf(parent, dsig, local)
  if (!one || others.length > 0) throw new Error(`its signature does not have exactly one ${local}`)
  return one
}

/** Exclusive XML Canonicalization §3, parameter InclusiveNamespaces. */
const prefixesOf = (method: XmlNode): string[] =>
  childrenOf(method, exclusive, 'InclusiveNamespaces')
    .flatMap(one => (attributeOf(one, 'PrefixList') ?? '').split(/\s+/))
    .filter(one => one !== '')
    .slice(0, 20)
